"""The study of substitution: representatives write, a mediator revises, a scorer says what it is worth. Journaled."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import pandas as pd

from agents.mediators import open_mediator
from agents.mediators.base import Statement
from agents.representative import known
from analysis import honesty
from analysis.deliberation.calibration import Calibration, calibrated, rated
from analysis.deliberation.cases import Case, cases, strangers
from analysis.deliberation.clusters import Mean
from analysis.deliberation.episode import HUMAN, Episode, to_line
from analysis.deliberation.payoffs import open_payoff
from analysis.deliberation.payoffs._score import Score
from analysis.deliberation.substitute import (
    AGAIN,
    ALL,
    ONE,
    OWN,
    REGIMES,
    STRANGER,
    Profile,
    discrepancies,
    profiles,
    resimulated,
    substituted,
    summary,
)
from analysis.deliberation.writing import Author, Order, write
from analysis.kept import claim, driven
from analysis.wording import cell, counted, estimate, markdown_table, number, tally
from llm.backends import check_spec, essence, split_spec
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


FEW = 10
HUMANS = (
    "**Opinions of people, the rest by {ours}.** What can be concluded: that real texts run through the whole procedure, and "
    "where it breaks. What cannot: anything about these people, about how well they are represented, or about the statements; "
    "our own speakers do not understand what people wrote."
)
TITLES = {
    AGAIN: "nobody (the same again)",
    ONE: "one, by the own representative",
    STRANGER: "one, by a stranger's",
    ALL: "all, by their own",
}


def study(episodes: Sequence[Episode], asked: Substitution, folder: Path, bar: Bar) -> Path:
    """Write payoffs.csv, discrepancies.csv, statements.csv and substitute.md; the path of the last.

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
        calibration = _calibration(episodes, asked, folder, bar)
    gaps = discrepancies(payoffs)
    payoffs.to_csv(folder / "payoffs.csv", index=False)
    gaps.to_csv(folder / "discrepancies.csv", index=False)
    rows = [(one.id, *profile, cell(said.text or ""), said.reason or "") for one, profile, said in told]
    names = ["episode", "regime", "substituted", "number", "statement", "reason"]
    pd.DataFrame(rows, columns=names).to_csv(folder / "statements.csv", index=False)
    path = folder / "substitute.md"
    parts = _parts(episodes, found.left_out, payoffs, gaps, silent, calibration, asked)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


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
) -> list[tuple[Episode, Profile, Statement]]:
    """What the mediator writes in each re-simulation."""
    mediator = open_mediator(asked.mediator)
    plans = [(one, profile) for one in groups for profile in profiles(one, asked.repetitions)]
    asking = [resimulated(one, profile, written, mediator, asked.seed) for one, profile in plans]
    said = driven(asking, asked.mediator_llm, folder, bar, "statements")
    return [(*plan, statement) for plan, statement in zip(plans, said, strict=True)]


def _payoffs(
    groups: Sequence[Episode],
    told: Sequence[tuple[Episode, Profile, Statement]],
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


def _parts(
    episodes: Sequence[Episode], left_out: dict[str, int], payoffs: pd.DataFrame, gaps: pd.DataFrame, silent: Sequence[str],
    calibration: Calibration | None, asked: Substitution,
) -> Iterator[str]:  # fmt: skip
    unit = open_payoff(asked.payoff).UNIT
    yield "# Representatives in the place of participants"
    groups, who = len({one.session for one in episodes}), f" ({asked.adapter})" if asked.adapter else ""
    yield (
        f"{counted(len(episodes), 'episode')}, {counted(groups, 'group')}. Representatives: {asked.llm}{who}, told "
        f"{asked.knows or 'the base'}; mediator {asked.mediator} on {asked.mediator_llm}; payoff {asked.payoff} ({unit}) by "
        f"{asked.judge}, a scorer of ours and not the study's payoff model; {asked.repetitions} re-simulations of each."
    )
    yield from _limits(episodes, asked)
    yield "## Payoff discrepancy\n\nModel profile minus true profile, mean over those substituted; 95% intervals over groups."
    found = summary(gaps)
    body = [
        [TITLES[regime], _told(found.get((regime, "signed"))), _told(found.get((regime, "absolute"))), str(len(part)),
         str(int(part["missing"].sum()))]
        for regime in REGIMES
        if len(part := gaps[gaps["regime"] == regime])
    ]  # fmt: skip
    yield markdown_table(["substituted", "signed", "absolute", "episodes", "payoffs missing"], body)
    yield "Two re-simulations of the same people differ too (first row): only what is beyond that is the representatives' doing."
    yield f"## Missing\n\n{_missing(left_out, payoffs, silent)}"
    if calibration:
        yield f"## Is the scorer any good?\n\n{_calibrated(calibration)}"


def _limits(episodes: Sequence[Episode], asked: Substitution) -> Iterator[str]:
    """What can and what cannot be concluded."""
    ours = sorted({split_spec(spec)[0] for spec in (asked.llm, asked.mediator_llm, asked.judge)} & set(honesty.LABELS))
    people = [one for one in episodes if one.source == HUMAN]
    if people and ours:
        told = ", ".join(f"{name} ({honesty.LABELS[name]})" for name in ours)
        yield f"> {HUMANS.format(ours=told)}"
    elif note := honesty.ours(asked.llm, asked.mediator_llm, asked.judge):
        yield f"> {note}"
    if people and not any(voice.critique for one in people for voice in one.voices):
        yield (
            "> Nobody here wrote a critique. The true profile is a revision without critiques; what is measured is what adding "
            "those of representatives changes, not how well they stand in for anybody."
        )
    groups = len({one.session for one in episodes})
    if groups < FEW:
        yield f"> Groups: {groups}. That is too few for intervals that mean much."


def _missing(left_out: dict[str, int], payoffs: pd.DataFrame, silent: Sequence[str]) -> str:
    without = payoffs.loc[payoffs["value"].isna(), "reason"]
    told = [f"{why} {count}" for why, count in left_out.items()]
    parts = [f"Not represented: {', '.join(told) or 'nobody'}.", f"Representatives silent: {tally(silent) or 'none'}."]
    return " ".join([*parts, f"Payoffs missing: {tally(without) or 'none'} of {len(payoffs)}."])


def _calibrated(found: Calibration) -> str:
    rows = [
        ["correlation with the final rating", _told(found.r), str(found.r.n)],
        ["prefers the statement that they preferred", _told(found.preferred), str(found.preferred.n)],
        ["score minus rating", _told(found.bias), str(found.bias.n)],
        ["distance", _told(found.error), str(found.error.n)],
    ]
    table = markdown_table(["beside the final ratings", "value", "n"], rows)
    return f"{table}\n\n{number(found.missing)} ratings have no score. 95% intervals over participants."


def _told(one: Mean | None) -> str:
    return estimate(one.value, one.low, one.high) if one and not math.isnan(one.value) else "–"
