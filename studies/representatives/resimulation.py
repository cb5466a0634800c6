"""Groups simulated again: what a mediator writes in each profile, and what a scorer says it is worth to the participants.

All replies are journaled in the folder of the desk, so what was stopped goes on where it ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from parley.agents.mediators import open_mediator
from parley.agents.mediators.base import Statement
from parley.agents.representative import parse_knowledge
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Verdict, missing
from parley.llm.backends import check_spec
from parley.llm.errors import UserError
from parley.llm.seeding import derive
from parley.studies.representatives import representation
from parley.studies.representatives.payoff_measures import score_failure
from parley.studies.representatives.payoffs import open_payoff, own_model
from parley.studies.representatives.substitution import SILENT, Profile, Resimulation, Texts, resimulated, substituted

PREDICTED = "predicted"


@dataclass(frozen=True, kw_only=True)
class Procedure:
    """How a group is simulated again: who mediates, who says what a statement is worth, how often.

    Errors: UserError on an unknown name, and on a mediator that ignores critiques or asks members, who are not there.
    """

    mediator: str = "draft_revise"
    mediator_llm: str = "oracle"
    payoff: str = "judge"
    judge: str = "oracle"
    repetitions: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for spec in (self.mediator_llm, self.judge):
            check_spec(spec)
        if self.repetitions < 1:
            raise UserError("--repetitions must be at least 1")
        if not open_mediator(self.mediator).calls(1):
            raise UserError(
                f"mediator {self.mediator} ignores critiques, so representatives would change nothing: use "
                "--mediator draft_revise or --mediator habermas"
            )
        check_ballots(self.mediator)
        open_payoff(self.payoff)


class Writer(NamedTuple):
    """A further model that writes: its name on the page, its spec, and the name of its adapter ("": none)."""

    name: str
    spec: str
    adapter: str = ""


@dataclass(frozen=True, kw_only=True)
class Substitution(Procedure):
    """Who writes, and how each group is simulated again.

    others: further models that write. mute: whether groups are also simulated without critiques. name: of the first model on the
    page, if there are others (default: its spec).
    """

    llm: str = "pocket"
    adapter: str = ""
    knows: str = "OC"
    others: tuple[Writer, ...] = ()
    mute: bool = False
    name: str = ""

    @property
    def writers(self) -> dict[str, representation.Author]:
        """The models that write, by the name that their regimes carry: "" for the first."""
        first = {"": representation.Author(self.llm, self.adapter, self.knows)}
        return first | {
            other.name: representation.Author(other.spec, other.adapter, self.knows) for other in self.others
        }

    def __post_init__(self) -> None:
        for spec in (self.llm, *(other.spec for other in self.others)):
            check_spec(spec)
        object.__setattr__(self, "knows", parse_knowledge(self.knows))
        super().__post_init__()


def statements_each(plans: Iterable[tuple[Episode, Profile]]) -> int:
    """Return the most statements that count for one participant of one episode."""
    counted = Counter((episode.id, who) for episode, profile in plans for who in substituted(episode, profile))
    return max(counted.values(), default=0)


def check_ballots(mediator: str) -> None:
    """Errors: UserError for a mediator that asks members for ballots: the members of recorded episodes are not there."""
    if getattr(open_mediator(mediator), "ballots", PREDICTED) != PREDICTED:
        raise UserError("members of recorded episodes are not agents, so they cannot vote: set ballots=predicted")


def check_capacity(payoff: str, each: int, times: int, option: str) -> None:
    """Errors: UserError if a scorer cannot take `each` times `times` statements at once, with how many fit by `option`."""
    most = open_payoff(payoff).MOST
    if most is not None and each * times > most:
        advice = f"set {option} {most // each} or less" if each <= most else "choose another --payoff"
        raise UserError(
            f"payoff {payoff} can score at most {most} statements per participant, not {each * times} "
            f"({each} with {option} 1): {advice}"
        )


def write_statements(
    plans: Sequence[tuple[Episode, Profile]], written: Texts, how: Procedure, desk: CallDesk
) -> list[Resimulation]:
    """Return what the mediator writes in each profile of an episode. written: the critiques of representatives."""
    mediator = open_mediator(how.mediator)
    asking = [resimulated(*plan, written, mediator, how.seed) for plan in plans]
    statements: list[Statement] = desk.ask(asking, how.mediator_llm, "statements", _statement_failure)
    return [Resimulation(*plan, statement) for plan, statement in zip(plans, statements, strict=True)]


def score_payoffs(resimulations: Sequence[Resimulation], how: Procedure, desk: CallDesk) -> pd.DataFrame:
    """Return a row per payoff: episode, session, participant, regime, number, value, reason.

    A participant's payoffs are those of the statements that count for the participant (`substituted`), each scored once.
    """
    scorer = open_payoff(how.payoff)
    seats: dict[tuple[str, str], tuple[Episode, Voice]] = {}
    texts: dict[tuple[str, str], dict[str, None]] = {}  # distinct statements in order
    for episode, profile, statement in resimulations:
        for voice in episode.voices:
            if statement.text is not None and voice.participant in substituted(episode, profile):
                seats[episode.id, voice.participant] = episode, voice
                texts.setdefault((episode.id, voice.participant), {})[statement.text] = None
    asking = [
        scorer.score(*seat, list(texts[key]), derive(how.seed, "payoff", seat[0].id)) for key, seat in seats.items()
    ]
    scores: list[tuple[Verdict, ...]] = desk.ask(asking, how.judge, "payoffs", score_failure, own_model(scorer))
    score_of = {
        (*key, text): score
        for key, row in zip(seats, scores, strict=True)
        for text, score in zip(texts[key], row, strict=True)
    }
    rows = []
    for episode, profile, statement in resimulations:
        silent = missing(f"no statement ({statement.reason})")
        for who in substituted(episode, profile):
            score = score_of[episode.id, who, statement.text] if statement.text is not None else silent
            rows.append((episode.id, episode.session, who, profile.regime, profile.number, score.value, score.reason))
    columns = ["episode", "session", "participant", "regime", "number", "value", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"value": float})


def _statement_failure(statement: Statement) -> str | None:
    """Return why a mediator that was asked has no statement; None also where it was not asked."""
    reason = statement.reason if statement.text is None else None
    return None if reason and reason.startswith(SILENT) else reason
