"""The study of substitution: representatives write, a mediator revises, a scorer says what it is worth. Journaled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import pandas as pd

from agents.mediators import open_mediator
from agents.representative import known
from analysis.deliberation.autorater import Verdict
from analysis.deliberation.calibration import Calibration, calibrated, rated
from analysis.deliberation.cases import Case, cases, strangers
from analysis.deliberation.episode import Episode, to_line
from analysis.deliberation.payoffs import open_payoff
from analysis.deliberation.payoffs._score import Score
from analysis.deliberation.preferred import compare, pairs, table
from analysis.deliberation.substitute import (
    OWN,
    STRANGER,
    Statements,
    discrepancies,
    profiles,
    resimulated,
    substituted,
)
from analysis.deliberation.substitute_report import Found, report
from analysis.deliberation.writing import Author, Order, write
from analysis.kept import claim, driven
from analysis.wording import cell
from llm.backends import check_spec, essence
from llm.driver import Bar
from llm.errors import UserError
from llm.randomness import derive, digest
from model.session import locked


@dataclass(frozen=True)
class Substitution:
    """Who writes, who mediates, who says what a statement is worth, how often each group is re-simulated."""

    llm: str = "pocket"
    adapter: str = ""
    knows: str = "OC"
    mediator: str = "draft_revise"
    mediator_llm: str = "oracle"
    payoff: str = "judge"
    judge: str = "oracle"
    repetitions: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for spec in (self.llm, self.mediator_llm, self.judge):
            check_spec(spec)
        if self.repetitions < 1:
            raise UserError("--repetitions must be at least 1")
        object.__setattr__(self, "knows", known(self.knows))
        open_mediator(self.mediator)
        open_payoff(self.payoff)


def study(episodes: Sequence[Episode], asked: Substitution, folder: Path, bar: Bar) -> Path:
    """Write payoffs.csv, discrepancies.csv, verdicts.csv, statements.csv and substitute.md; the path of the last.

    Errors: UserError on a folder of another study, and where nobody can be represented.
    """
    found = cases(episodes, written=False)
    if not found.cases:
        raise UserError("nobody can be represented: no participant has both an opinion and a draft")
    groups = [one for one in episodes if one.draft is not None]
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _claim(folder, asked, episodes)
        written, silent = _written(found.cases, asked, folder, bar)
        told = _statements(groups, written, asked, folder, bar)
        payoffs = _payoffs(groups, told, asked, folder, bar)
        verdicts = _verdicts(told, asked, folder, bar)
        calibration = _calibration(episodes, asked, folder, bar)
    gaps = discrepancies(payoffs)
    for name, frame in (("payoffs", payoffs), ("discrepancies", gaps), ("verdicts", verdicts)):
        frame.to_csv(folder / f"{name}.csv", index=False)
    rows = [(one.id, *profile, cell(said.text or ""), said.reason or "") for one, profile, said in told]
    names = ["episode", "regime", "substituted", "number", "statement", "reason"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "statements.csv", index=False)
    results = Found(found.left_out, payoffs, gaps, verdicts, silent, calibration)
    return report(episodes, results, asked, folder / "substitute.md")


def _written(
    found: Sequence[Case], asked: Substitution, folder: Path, bar: Bar
) -> tuple[dict[tuple[str, str, int], str | None], list[str]]:
    """Critiques by case key, own or stranger, and repetition; and why others are silent."""
    others = strangers(found, asked.seed)
    orders = [
        (who, Order(case, told, again))
        for case in found
        for again in range(asked.repetitions)
        for who, told in ((OWN, case), (STRANGER, others.get(case.key)))
        if told
    ]
    author = Author(asked.llm, asked.adapter, asked.knows)
    said = write([order for _, order in orders], author, asked.seed, folder, bar)
    texts = {
        (order.case.key, who, order.number): critique.text for (who, order), critique in zip(orders, said, strict=True)
    }
    return texts, [critique.reason for critique in said if critique.text is None]


def _statements(
    groups: Sequence[Episode],
    written: dict[tuple[str, str, int], str | None],
    asked: Substitution,
    folder: Path,
    bar: Bar,
) -> Statements:
    """What the mediator writes in each re-simulation."""
    mediator = open_mediator(asked.mediator)
    plans = [(one, profile) for one in groups for profile in profiles(one, asked.repetitions)]
    asking = [resimulated(one, profile, written, mediator, asked.seed) for one, profile in plans]
    said = driven(asking, asked.mediator_llm, folder, bar, "statements")
    return [(*plan, statement) for plan, statement in zip(plans, said, strict=True)]


def _payoffs(
    groups: Sequence[Episode],
    told: Statements,
    asked: Substitution,
    folder: Path,
    bar: Bar,
) -> pd.DataFrame:
    """A row a payoff: episode, session, participant, regime, number, value, reason."""
    scorer = open_payoff(asked.payoff)
    texts: dict[str, list[str]] = {one.id: [] for one in groups}
    for one, _, statement in told:
        if statement.text is not None and statement.text not in texts[one.id]:
            texts[one.id].append(statement.text)
    seats = [(one, voice) for one in groups for voice in one.voices]
    asking = [scorer.score(one, voice, texts[one.id], derive(asked.seed, "payoff", one.id)) for one, voice in seats]
    found: list[tuple[Score, ...]] = driven(asking, asked.judge, folder, bar, "payoffs")
    known_ = {
        (one.id, voice.participant, text): score
        for (one, voice), scores in zip(seats, found, strict=True)
        for text, score in zip(texts[one.id], scores, strict=True)
    }
    rows = []
    for one, profile, statement in told:
        missing = Score(None, f"no statement ({statement.reason})")
        for who in substituted(one, profile):
            score = known_[one.id, who, statement.text] if statement.text is not None else missing
            rows.append((one.id, one.session, who, profile.regime, profile.number, score.value, score.reason))
    columns = ["episode", "session", "participant", "regime", "number", "value", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"value": float})


def _verdicts(told: Statements, asked: Substitution, folder: Path, bar: Bar) -> pd.DataFrame:
    """What the judge prefers: the statement with representatives, or that without."""
    both = pairs(told)
    found: list[Verdict] = driven([compare(pair, asked.seed) for pair in both], asked.judge, folder, bar, "verdicts")
    return table(both, found)


def _calibration(episodes: Sequence[Episode], asked: Substitution, folder: Path, bar: Bar) -> Calibration | None:
    """The scorer on the statements that participants rated; None where nobody rated any, and for their own ratings."""
    scorer: ModuleType = open_payoff(asked.payoff)
    by = {(one.id, voice.participant): (one, voice) for one in episodes for voice in one.voices}
    shown: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for episode, participant, statement, rating in rated(episodes):
        shown[episode, participant].append((statement, rating))
    if not shown or asked.payoff == "own":
        return None
    asking = [
        scorer.score(*by[seat], [getattr(by[seat][0], name) for name, _ in told], derive(asked.seed, "payoff", seat[0]))
        for seat, told in shown.items()
    ]
    found: list[tuple[Score, ...]] = driven(asking, asked.judge, folder, bar, "calibration")
    rows = [
        (*seat, name, rating, score.value)
        for (seat, told), scores in zip(shown.items(), found, strict=True)
        for (name, rating), score in zip(told, scores, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["episode", "participant", "statement", "rating", "score"]).astype(
        {"score": float}
    )
    return calibrated(table, same_scale=asked.payoff == "judge")


def _claim(folder: Path, asked: Substitution, episodes: Sequence[Episode]) -> None:
    specs = {name: essence(getattr(asked, name)) for name in ("llm", "mediator_llm", "judge")}
    wanted = {**asdict(asked), **specs, "episodes": digest(*map(to_line, episodes)).hex()}
    claim(folder / "substitute.json", wanted, "study of substitution")
