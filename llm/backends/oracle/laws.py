"""The planted laws of the oracle besides that of attitudes, by name. Each is described in its own file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, NamedTuple

from parley.llm.backends.oracle.act_law import PLANTED, ActLaw
from parley.llm.backends.oracle.attribute_law import USUAL_ATTRIBUTES, AttributeLaw
from parley.llm.backends.oracle.belief_network import BeliefNetwork
from parley.llm.backends.oracle.community_law import USUAL as USUAL_COMMUNITY
from parley.llm.backends.oracle.community_law import CommunityLaw
from parley.llm.backends.oracle.competition_law import RIVALS, CompetitionLaw
from parley.llm.backends.oracle.correction_law import USUAL, CorrectionLaw
from parley.llm.backends.oracle.crowd_law import USUAL as USUAL_CROWD
from parley.llm.backends.oracle.crowd_law import CrowdLaw
from parley.llm.backends.oracle.emotion_law import CALM, EmotionLaw
from parley.llm.backends.oracle.flip_law import STEADFAST
from parley.llm.backends.oracle.game_law import PATIENT, GameLaw
from parley.llm.backends.oracle.guidance_law import UNMOVED, GuidanceLaw
from parley.llm.backends.oracle.mediation_law import USUAL as USUAL_MEDIATION
from parley.llm.backends.oracle.mediation_law import MediationLaw
from parley.llm.backends.oracle.persuasion_law import READER, PersuasionLaw
from parley.llm.backends.oracle.profile_law import INDIFFERENT, ProfileLaw
from parley.llm.backends.oracle.representation_law import USUAL as USUAL_REPRESENTATION
from parley.llm.backends.oracle.representation_law import RepresentationLaw
from parley.llm.backends.oracle.social_learning import BAYESIAN, Person
from parley.llm.backends.oracle.story_law import UNCHANGED, StoryLaw
from parley.llm.backends.oracle.survey_law import PLANTED_SURVEY, SurveyLaw
from parley.llm.backends.oracle.suspicion_law import UNSUSPECTING, SuspicionLaw
from parley.llm.backends.oracle.tact_law import CANDID

EVENTS = 2.0
"""Points by which news moves how the speaker fares, unless another number is planted."""


class Laws(NamedTuple):
    """The planted laws; each has its usual value unless another is planted.

    acts: what it does on a social medium. chooser: how it weighs its signal and others where people choose one after another.
    emotions: how its feelings spread. corrections: how it quotes in replies to false claims. by_trait: how much more influence
    others have on a person for each step of a trait. story: how it changes a story that it passes on. guidance: how statements
    of an official account move it. events: by how many points news moves how it fares. survey: how groups answer closed
    questions. network: with one, the attitude follows from it alone. persuasion: how strong messages are for it. exaggeration:
    how far away it sees another party (1: right). steady: how often it repeats an earlier answer. play: how it plays games of
    points. profiles: how it chooses between two profiles. crowd: how it rates statements. tact: by how many points its lines go
    toward the audience, by frame. attributes: which sentences it writes about people, and how they move its answers. flattery:
    how far the side that it argues follows the judge's. ignored: what it ignores of what it is given.
    competition: how it writes, reads and judges messages of rivals. community: how often its posts break and follow rules.
    representation: what a representative can know of a person.
    flips: how often each cause turns a rating to the other side of the middle. sycophancy: how far answers go to what an
    interviewer says to think. wording: by how many points answers are higher under another wording.
    suspicion: who guesses what a study is about, and goes where it seems to want them.
    """

    acts: ActLaw = PLANTED
    chooser: Person = BAYESIAN
    emotions: EmotionLaw = CALM
    corrections: CorrectionLaw = USUAL
    by_trait: Mapping[str, float] = {}
    story: StoryLaw = UNCHANGED
    guidance: GuidanceLaw = UNMOVED
    events: float = EVENTS
    survey: SurveyLaw = PLANTED_SURVEY
    network: BeliefNetwork | None = None
    persuasion: PersuasionLaw = READER
    exaggeration: float = 1.0
    steady: float = 0.0
    play: GameLaw = PATIENT
    profiles: ProfileLaw = INDIFFERENT
    crowd: CrowdLaw = USUAL_CROWD
    tact: Mapping[str, float] = CANDID
    attributes: AttributeLaw = USUAL_ATTRIBUTES
    flattery: float = 0.0
    ignored: tuple[str, ...] = ()
    competition: CompetitionLaw = RIVALS
    community: CommunityLaw = USUAL_COMMUNITY
    mediation: MediationLaw = USUAL_MEDIATION
    flips: Mapping[str, float] = STEADFAST
    sycophancy: float = 0.0
    wording: float = 0.0
    suspicion: SuspicionLaw = UNSUSPECTING
    representation: RepresentationLaw = USUAL_REPRESENTATION

    def planted(self) -> dict[str, Any]:
        """Return the laws that differ from the usual ones, by name, as data.

        >>> Laws(steady=0.5).planted()
        {'steady': 0.5}
        """
        return {
            name: _plain(law)
            for name, law, usual in zip(self._fields, self, self._field_defaults.values(), strict=True)
            if law != usual
        }


USUAL_LAWS = Laws()


def _plain(law: Any) -> Any:
    if is_dataclass(law) and not isinstance(law, type):
        return asdict(law)
    return law._asdict() if hasattr(law, "_asdict") else law
