"""oracle: the rule-based speaker with a known bias. `--llm oracle[,kappa=..]`, parameters in oracle/parameters.toml of a society

It answers by the purpose of a request (llm/purposes.py). It reads the transcript in the messages and the facts that the prompt
states, and never depends on the wording of a prompt. It keeps no state about agents, and answers in English from its banks. Its
bias, influence and drift are known, so an analysis can be checked: it must recover what was planted. It is no evidence about
people or about large language models.

    backend.py         the backend, and the function that answers each purpose (any other purpose is the failure `unknown_ask`)
    prompt_parser.py   reads a request: persona, topic, lines heard, own lines, the question
    dynamics.py        the planted truth: the attitude that follows, in a debate and in a deliberation
    phrases.py         its sentences (banks/), and the grade of a sentence heard
    stance.py          where it stands; notes, conclusions, summaries
    speech.py          replies, statements, posts, corrections     surveys.py     ratings, questionnaire, interviews
    judging.py         verdicts on what others said                mediation.py   opinions, critiques, statements, rankings
    writing.py         personas, cases, questions
    act_law.py         the planted law of acts on a social medium          acts.py        acts by that law
    retelling.py       versions of a story, and how far they are from the report, by the law of story_law.py
    self_questions.py  who it is, what it heard, what changed its mind
    belief_network.py  the planted law of a Bayesian hearer, whom appeals move
    emotion_law.py     the planted law by which feelings spread           emotions.py    feelings by that law
    herding.py         choices one after another, by the law of social_learning.py; a planner, by that of steering.py
    corrections.py     replies to posts with false claims, by correction_law.py, and what a judge says of such replies
    circumstances.py   how it fares: money, spirits, leaving home, and what news changes
    steadiness.py      how often a person in a panel repeats its earlier answer
    profiles.py        choices between two profiles, by the law of profile_law.py
    debating.py        the side that a debater chooses before a judge, and who made the better case
    crowd.py           ratings of the truthfulness of statements, by the law of crowd_law.py
    tact_law.py        the planted law by which public lines go toward the audience
    flip_law.py        the planted law by which causes turn ratings to the other side
    sycophancy_law.py  the planted law by which answers go to what an interviewer says to think
    wording_law.py     the planted law by which answers follow the wording of instructions
    suspicion_law.py   the planted law of people who guess what a study is about
    ignored.py         leaves out what the speaker is planted to ignore
    self_facts.py      reads from a persona who a person is
    representing.py    opinions and ballots of representatives, by the law of representation_law.py
    community.py       writes and judges posts of an online community, by the law of community_law.py
    competition.py     writes, chooses and judges messages of rivals, by the law of competition_law.py
    persuasion.py      reads, rates and writes messages with an aim, by the law of persuasion_law.py
    perception.py      what it thinks that people of a party would answer, by a planted law
    game_law.py        the planted law of play in games of points            games.py       moves and expectations by that law
    guidance_law.py    the planted law of guidance by an official account   tone.py        what people feel, by that law
    attribute_law.py   the planted law of attributes of people              attributes.py  sentences by that law, and their judge
    survey_law.py      the planted shares of answers to closed questions    polls.py       answers by that law

Options: kappa, mu, sigma, epsilon, bias set that parameter for every topic (`--llm oracle,kappa=0,mu=0`); pull is the share of
the gap by which a mediator's statement draws a participant (`--llm oracle,pull=0`); herd and homophily are those of acts
(`--llm oracle,herd=1`), and repost and follow are the constants of these two acts (`--llm oracle,repost=-1,follow=1`); contagion
and volatility are those of feelings (`--llm oracle,contagion=.2`). own, public and noise say how it chooses between two options
after others (`--llm oracle,own=2`): the weights of its own signal and of the public belief (1: a Bayesian's), and the noise of
its choice (0: none). quotes and fabricates are the probabilities that a corrector quotes a passage which it is shown, and that it
invents a quotation. tone, empathic_tone, factual_tone, empathic_attitude and factual_attitude say how guidance moves people
(`--llm oracle,tone=4,empathic_tone=-1`). by_trait is how much more influence others have on a person for each step of a trait
(`--llm oracle,by_trait=openness:0.3`; steps from very_low, -2, to very_high, 2). drift is by how many points a story changes with
each retelling (`drift=0.5`, or by dimension, `drift=sentiment:1+certainty:0.5`), and heed how far a line from outside stops that
(retelling.py). events is how many points news moves how it fares (circumstances.py). group_effect is how much naming a group
changes the answers to a survey, and peaked how uneven these answers are (survey_law.py). logos, pathos and ethos make it a
Bayesian hearer with these weights of the three appeals, and report is the noise of what it reports (`--llm
oracle,logos=1,report=0.3`; belief_network.py); then kappa, mu, sigma and epsilon have no effect. taste, place, longer, gain and
advice say which of two messages persuades it, and proof by how much a quotation in a reply does (`--llm oracle,taste=0,place=1`;
persuasion_law.py). exaggeration is how far a
person sees another party from its own, 1 being right (`--llm oracle,exaggeration=2`). steady is how often a person repeats an
earlier answer of which it is reminded (steadiness.py). play, level, differ, stated, endgame, obey, keen and widen say how it
plays games of points, and what it says before (game_law.py; `oracle,play=tit_for_tat,stated=2`). worth, worth_spread and first
say how it chooses between two profiles (`--llm oracle,worth=age/52:0.1+taxes/lower:-0.2`; profile_law.py). distinct and agree
say how a crowd rates statements (crowd_law.py). tact is by how many points its public lines go toward the audience in each
frame (`--llm oracle,tact=reward:2+order:1`; tact_law.py). variety, alike, contradicts and attribute_effect say which sentences
it writes about people, and how far each moves answers to a survey (attribute_law.py). flattery is how far the side that it
argues follows the judge's (debating.py). flips is how often each cause turns a rating to the other side of the middle (`--llm
oracle,flips=conformity:0.3+reasons:0.1`; flip_law.py). sycophancy is the share of the way that answers go to what an
interviewer says to think (sycophancy_law.py). wording is by how many points answers are higher, once a line was heard, under
another wording of the instructions (wording_law.py). suspects is the probability that a person guesses what a study is about, and
complies the points by which it then goes where the study seems to want it (`--llm oracle,suspects=0.5,complies=2`;
suspicion_law.py). ignores names what it ignores of what it is given: party, belief, confirmation_bias, traits (ignored.py).
embellish, craves and misjudges say how it writes, chooses and judges messages of rivals (`--llm oracle,embellish=0.5`;
competition_law.py). breaks, obeys and provokes say how often posts of a community break rules and follow those that members
read (`--llm oracle,obeys=0.5`; community_law.py). apart is how far the candidate statements of a mediator differ, and guesses
how often it only guesses a member's ballot (`--llm oracle,apart=2`; mediation_law.py). leaning is the share of a position that is
the same on all questions of a person, and blind how often a representative acts at random (`--llm oracle,leaning=1`;
representation_law.py). society is whose banks it has, and a run sets it.
how often it only guesses a member's ballot (`--llm oracle,apart=2`; mediation_law.py). majority says how far its drafts go toward
the larger side, and primacy how far toward the opinion that it reads first (`--llm oracle,majority=0.5,primacy=0.3`). society is
whose banks it has, and a run sets it.
"""

from __future__ import annotations

import math

from parley.llm.backends.oracle.act_law import CONSTANTS, HERD, HOMOPHILY, ActLaw
from parley.llm.backends.oracle.attribute_law import VARIANTS, AttributeLaw
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.belief_network import BeliefNetwork
from parley.llm.backends.oracle.community_law import USUAL as USUAL_COMMUNITY
from parley.llm.backends.oracle.community_law import CommunityLaw
from parley.llm.backends.oracle.competition_law import RIVALS, CompetitionLaw
from parley.llm.backends.oracle.correction_law import USUAL, CorrectionLaw
from parley.llm.backends.oracle.crowd_law import CrowdLaw
from parley.llm.backends.oracle.emotion_law import EmotionLaw
from parley.llm.backends.oracle.flip_law import check_flips
from parley.llm.backends.oracle.game_law import PATIENT, GameLaw
from parley.llm.backends.oracle.guidance_law import GuidanceLaw
from parley.llm.backends.oracle.ignored import parse_ignored
from parley.llm.backends.oracle.laws import EVENTS, Laws
from parley.llm.backends.oracle.mediation_law import USUAL as USUAL_MEDIATION
from parley.llm.backends.oracle.mediation_law import MediationLaw
from parley.llm.backends.oracle.persuasion_law import READER, PersuasionLaw
from parley.llm.backends.oracle.phrases import US, banks
from parley.llm.backends.oracle.profile_law import ProfileLaw
from parley.llm.backends.oracle.representation_law import RepresentationLaw
from parley.llm.backends.oracle.social_learning import Person
from parley.llm.backends.oracle.story_law import DIMENSIONS, StoryLaw
from parley.llm.backends.oracle.survey_law import SurveyLaw
from parley.llm.backends.oracle.suspicion_law import UNSUSPECTING, SuspicionLaw
from parley.llm.backends.oracle.sycophancy_law import check_sycophancy
from parley.llm.backends.oracle.tact_law import check_tact
from parley.llm.backends.oracle.wording_law import check_wording
from parley.llm.errors import UserError, unknown_name


def known_topics(model: str, society: str = US) -> tuple[str, ...]:
    """Return the topics and items of news of a society for which parameters are planted."""
    return tuple(banks(society).parameters)


def open_backend(
    model: str,
    kappa: float | None = None,
    mu: float | None = None,
    sigma: float | None = None,
    epsilon: float | None = None,
    bias: float | None = None,
    pull: float | None = None,
    herd: float = HERD,
    homophily: float = HOMOPHILY,
    repost: float = CONSTANTS["repost"],
    follow: float = CONSTANTS["follow"],
    own: float = 1.0,
    public: float = 1.0,
    noise: float = 0.0,
    contagion: float = 0.0,
    volatility: float = 0.0,
    quotes: float = USUAL.quotes,
    fabricates: float = USUAL.fabricates,
    by_trait: str = "",
    drift: str = "",
    heed: float = 1.0,
    tone: float | None = None,
    empathic_tone: float = 0.0,
    factual_tone: float = 0.0,
    empathic_attitude: float = 0.0,
    factual_attitude: float = 0.0,
    events: float = EVENTS,
    group_effect: float = 1.0,
    peaked: float = 1.0,
    logos: float | None = None,
    pathos: float | None = None,
    ethos: float | None = None,
    report: float = 0.0,
    taste: float = READER.taste,
    place: float = READER.place,
    longer: float = READER.longer,
    gain: float = READER.gain,
    advice: float = READER.advice,
    proof: float = READER.proof,
    exaggeration: float = 1.0,
    steady: float = 0.0,
    play: str = PATIENT.play,
    level: float = PATIENT.level,
    differ: float = PATIENT.differ,
    stated: float = PATIENT.stated,
    endgame: int = PATIENT.endgame,
    obey: float = PATIENT.obey,
    keen: float = PATIENT.keen,
    widen: float = PATIENT.widen,
    worth: str = "",
    worth_spread: float = 0.05,
    first: float = 0.0,
    distinct: float = 0.3,
    agree: float = 0.5,
    tact: str = "",
    variety: int = VARIANTS,
    alike: float = 0.0,
    contradicts: float = 0.0,
    attribute_effect: float = 0.0,
    flattery: float = 0.0,
    flips: str = "",
    sycophancy: float = 0.0,
    wording: float = 0.0,
    suspects: float = UNSUSPECTING.suspects,
    complies: float = UNSUSPECTING.complies,
    ignores: str = "",
    embellish: float = RIVALS.embellish,
    craves: float = RIVALS.craves,
    misjudges: float = RIVALS.misjudges,
    breaks: float = USUAL_COMMUNITY.breaks,
    obeys: float = USUAL_COMMUNITY.obeys,
    provokes: float = USUAL_COMMUNITY.provokes,
    apart: float = USUAL_MEDIATION.apart,
    guesses: float = USUAL_MEDIATION.guesses,
    leaning: float = 0.0,
    blind: float = 0.0,
    majority: float | None = USUAL_MEDIATION.majority,
    primacy: float = USUAL_MEDIATION.primacy,
    society: str = US,
) -> Oracle:
    """Open the speaker of a society, with these parameters set for every topic."""
    if model:
        raise UserError(
            f"oracle:{model} names a model, but oracle has only one: write --llm oracle, "
            "and set parameters as in oracle,kappa=0"
        )
    changes = {"kappa": kappa, "mu": mu, "sigma": sigma, "epsilon": epsilon, "bias": bias}
    if not (all(map(math.isfinite, (own, public, events, exaggeration))) and 0 <= noise < math.inf):
        raise UserError(
            "oracle: own, public, events, exaggeration and noise must be finite numbers, and noise at "
            "least 0, as in oracle,own=2,noise=1"
        )
    if not (0 <= quotes <= 1 and 0 <= fabricates <= 1):
        raise UserError("oracle: quotes and fabricates must be from 0 to 1, as in oracle,quotes=0")
    if not 0 <= steady <= 1:
        raise UserError("oracle: steady must be from 0 to 1, as in oracle,steady=0.5")
    if not 0 <= flattery <= 1:
        raise UserError("oracle: flattery must be from 0 to 1, as in oracle,flattery=0.5")
    emotions, corrections = EmotionLaw(contagion, volatility), CorrectionLaw(quotes, fabricates)
    emotions.check()
    guidance = GuidanceLaw(tone, empathic_tone, factual_tone, empathic_attitude, factual_attitude)
    guidance.check()
    survey = SurveyLaw(group_effect, peaked)
    survey.check()
    persuasion = PersuasionLaw(taste, place, longer, gain, advice, proof)
    persuasion.check()
    playing = GameLaw(play, level, differ, stated, endgame, obey, keen, widen)
    playing.check()
    planted = {name: value for name, value in changes.items() if value is not None}
    profiles = ProfileLaw(_shares("worth", worth), worth_spread, first)
    profiles.check()
    crowd = CrowdLaw(distinct, agree)
    crowd.check()
    tactful = _shares("tact", tact)
    check_tact(tactful)
    turns = _shares("flips", flips)
    check_flips(turns)
    check_sycophancy(sycophancy)
    check_wording(wording)
    suspicion = SuspicionLaw(suspects, complies)
    suspicion.check()
    attributes = AttributeLaw(variety, alike, contradicts, attribute_effect)
    attributes.check()
    competition = CompetitionLaw(embellish, craves, misjudges)
    competition.check()
    community = CommunityLaw(breaks, obeys, provokes)
    community.check()
    mediation = MediationLaw(apart, guesses, majority, primacy)
    mediation.check()
    representation = RepresentationLaw(leaning, blind)
    representation.check()
    acts = ActLaw(homophily, herd, CONSTANTS | {"repost": repost, "follow": follow})
    traits, person = _shares("by_trait", by_trait), Person(own, public, noise)
    laws = Laws(
        acts=acts,
        chooser=person,
        emotions=emotions,
        corrections=corrections,
        by_trait=traits,
        story=_story_law(drift, heed),
        guidance=guidance,
        events=events,
        survey=survey,
        network=_network(logos, pathos, ethos, report),
        persuasion=persuasion,
        exaggeration=exaggeration,
        steady=steady,
        play=playing,
        profiles=profiles,
        crowd=crowd,
        tact=tactful,
        attributes=attributes,
        flattery=flattery,
        ignored=parse_ignored(ignores),
        competition=competition,
        community=community,
        mediation=mediation,
        representation=representation,
        flips=turns,
        sycophancy=sycophancy,
        wording=wording,
        suspicion=suspicion,
    )
    return Oracle(planted, pull, society, laws)


check_options = open_backend
"""Opening costs a millisecond, so values are refused before a run begins (level=99)."""


def _network(logos: float | None, pathos: float | None, ethos: float | None, report: float) -> BeliefNetwork | None:
    """Return the network if an appeal has a weight; the others weigh 0. Errors: UserError."""
    if (logos, pathos, ethos) == (None, None, None):
        if report:
            raise UserError("oracle: report is the noise of a Bayesian hearer: write oracle,logos=1,report=0.3")
        return None
    network = BeliefNetwork(logos or 0.0, pathos or 0.0, ethos or 0.0, report)
    network.check()
    return network


def _story_law(drift: str, heed: float) -> StoryLaw:
    """Read `0.5` (every dimension) or `sentiment:1+certainty:0.5`. Errors: UserError."""
    if not 0 <= heed <= 1:
        raise UserError("oracle: heed must be from 0 to 1, as in oracle,drift=0.5,heed=0")
    every = _shares("drift", drift if ":" in drift or not drift else "+".join(f"{name}:{drift}" for name in DIMENSIONS))
    for name, value in every.items():
        if name not in DIMENSIONS:
            raise unknown_name("dimension of oracle,drift", name, DIMENSIONS)
        if not 0 <= value <= 10:
            raise UserError(f"oracle: drift must be from 0 to 10 points a retelling, not {value:g}")
    return StoryLaw({name: value for name, value in every.items() if value}, heed)


def _shares(option: str, text: str) -> dict[str, float]:
    """Read `openness:0.3+neuroticism:-0.2`. Errors: UserError."""
    shares: dict[str, float] = {}
    for part in filter(None, text.split("+")):
        name, _, value = part.partition(":")
        try:
            shares[name] = float(value)
        except ValueError:
            raise UserError(f"oracle: write {option}=NAME:NUMBER, joined by +, not {option}={text}") from None
    return shares
