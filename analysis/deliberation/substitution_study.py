"""The study of substitution: representatives write, a mediator revises, a scorer says what it is worth. Journaled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType

import pandas as pd

from parley.agents.mediators import open_mediator
from parley.agents.mediators.base import Statement
from parley.agents.representative import Critique, parse_knowledge
from parley.analysis.deliberation.episode import Episode, to_line
from parley.analysis.deliberation.payoffs import open_payoff
from parley.analysis.deliberation.preference_judge import compare_statements, statement_pairs, statement_table
from parley.analysis.deliberation.representation import (
    Author,
    Cases,
    RepresentationCase,
    WritingOrder,
    open_authors,
    representation_cases,
    strangers,
    write_texts,
)
from parley.analysis.deliberation.substitution import (
    OWN,
    SILENT,
    STRANGER,
    Calibration,
    Statements,
    Texts,
    calibrate_payoff,
    discrepancies,
    profiles,
    rated_statements,
    represented,
    resimulated,
    substituted,
)
from parley.analysis.deliberation.substitution_report import SubstitutionResult, report
from parley.analysis.formatting import cell
from parley.analysis.journaled_calls import CallDesk, check_manifest
from parley.analysis.judging import UNASKED, Verdict, missing, undecided
from parley.llm.backends import check_spec, identity_spec
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.llm.seeding import derive, digest
from parley.model.scenario_run import lock_folder


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
        object.__setattr__(self, "knows", parse_knowledge(self.knows))
        if not open_mediator(self.mediator).calls(1):
            raise UserError(
                f"mediator {self.mediator} heeds no critique, and says the same of all: take draft_revise or habermas"
            )
        open_payoff(self.payoff)


def run_substitution(episodes: Sequence[Episode], asked: Substitution, desk: CallDesk) -> Path:
    """Write payoffs.csv, discrepancies.csv, verdicts.csv, statements.csv and substitute.md; the path of the last.

    Errors: UserError on a folder of another study, where nobody can be represented, where there are more statements than can be
    scored at once, and on an adapter that the representatives' model does not have.
    """
    found = _seats(episodes)
    seated = {case.episode for case in found.cases}
    groups = [one for one in episodes if one.id in seated]
    _fit(groups, asked)
    author = Author(asked.llm, asked.adapter, asked.knows)
    backend = open_authors(author)
    folder = desk.folder
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        _claim(folder, asked, episodes)
        written = _written(found.cases, asked, author, backend, desk)
        del backend  # a large model makes room for the mediator's
        told = _statements(groups, written, asked, desk)
        payoffs = _payoffs(groups, told, asked, desk)
        verdicts = _verdicts(told, asked, desk)
        calibration = _calibration(episodes, asked, desk)
    gaps = discrepancies(payoffs)
    tables = {"payoffs": payoffs, "discrepancies": gaps, "verdicts": verdicts, "statements": _told(told)}
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    silent = [critique.reason for critique in written.values() if critique.text is None]
    results = SubstitutionResult(found.left_out, payoffs, gaps, verdicts, silent, calibration)
    return report(groups, results, asked, folder / "substitute.md")


def _told(told: Statements) -> pd.DataFrame:
    """A row a re-simulation, with its statement or why there is none."""
    rows = [(one.id, *profile, cell(said.text or ""), said.reason or "") for one, profile, said in told]
    return pd.DataFrame(rows, columns=["episode", "regime", "substituted", "number", "statement", "reason"])


def _seats(episodes: Sequence[Episode]) -> Cases:
    """Who is represented: with an opinion, a draft and a critique; where nobody wrote one, with the other two."""
    found = representation_cases(episodes)
    found = found if found.cases else representation_cases(episodes, written=False)
    if not found.cases:
        raise UserError("nobody can be represented: no participant has both an opinion and a draft")
    return found


def _fit(groups: Sequence[Episode], asked: Substitution) -> None:
    """Errors: UserError where a group gets more statements than the scorer takes at once, with how many repetitions fit."""
    most, each = open_payoff(asked.payoff).MOST, max(len(list(profiles(one, 1))) for one in groups)
    if most is not None and each * asked.repetitions > most:
        fits = f"--repetitions {most // each} at most" if each <= most else "take another --payoff"
        raise UserError(
            f"payoff {asked.payoff} takes {most} statements of a group at once, not {each * asked.repetitions} ({each} a "
            f"repetition): {fits}"
        )


def _written(
    found: Sequence[RepresentationCase], asked: Substitution, author: Author, backend: Backend, desk: CallDesk
) -> dict[tuple[str, str, int], Critique]:
    """Critiques by case key, own or stranger, and repetition."""
    others = strangers(found, asked.seed)
    orders = [
        (who, WritingOrder(case, told, again))
        for case in found
        for again in range(asked.repetitions)
        for who, told in ((OWN, case), (STRANGER, others.get(case.key)))
        if told
    ]
    said = write_texts([order for _, order in orders], author, asked.seed, desk, backend)
    return {(order.case.key, who, order.number): one for (who, order), one in zip(orders, said, strict=True)}


def _statements(groups: Sequence[Episode], written: Texts, asked: Substitution, desk: CallDesk) -> Statements:
    """What the mediator writes in each re-simulation."""
    mediator = open_mediator(asked.mediator)
    plans = [(one, profile) for one in groups for profile in profiles(one, asked.repetitions)]
    asking = [resimulated(one, profile, written, mediator, asked.seed) for one, profile in plans]
    said = desk.ask(asking, asked.mediator_llm, "statements", _unsaid)
    return [(*plan, statement) for plan, statement in zip(plans, said, strict=True)]


def _payoffs(groups: Sequence[Episode], told: Statements, asked: Substitution, desk: CallDesk) -> pd.DataFrame:
    """A row a payoff: episode, session, participant, regime, number, value, reason."""
    scorer = open_payoff(asked.payoff)
    texts: dict[str, list[str]] = {one.id: [] for one in groups}
    for one, _, statement in told:
        if statement.text is not None and statement.text not in texts[one.id]:
            texts[one.id].append(statement.text)
    seats = [(one, voice) for one in groups for voice in one.voices if voice.participant in represented(one)]
    asking = [scorer.score(one, voice, texts[one.id], derive(asked.seed, "payoff", one.id)) for one, voice in seats]
    found: list[tuple[Verdict, ...]] = desk.ask(asking, asked.judge, "payoffs", _unscored)
    known_ = {
        (one.id, voice.participant, text): score
        for (one, voice), scores in zip(seats, found, strict=True)
        for text, score in zip(texts[one.id], scores, strict=True)
    }
    rows = []
    for one, profile, statement in told:
        silent = missing(f"no statement ({statement.reason})")
        for who in substituted(one, profile):
            score = known_[one.id, who, statement.text] if statement.text is not None else silent
            rows.append((one.id, one.session, who, profile.regime, profile.number, score.value, score.reason))
    columns = ["episode", "session", "participant", "regime", "number", "value", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"value": float})


def _verdicts(told: Statements, asked: Substitution, desk: CallDesk) -> pd.DataFrame:
    """What the judge prefers: the statement with representatives, or that without."""
    both = statement_pairs(told)
    found: list[Verdict] = desk.ask(
        [compare_statements(pair, asked.seed) for pair in both], asked.judge, "verdicts", undecided
    )
    return statement_table(both, found)


def _calibration(episodes: Sequence[Episode], asked: Substitution, desk: CallDesk) -> Calibration | None:
    """The scorer on the statements that participants rated; None where nobody rated any, and for their own ratings."""
    scorer: ModuleType = open_payoff(asked.payoff)
    by = {(one.id, voice.participant): (one, voice) for one in episodes for voice in one.voices}
    shown: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for episode, participant, statement, rating in rated_statements(episodes):
        shown[episode, participant].append((statement, rating))
    if not shown or asked.payoff == "own":
        return None
    asking = [
        scorer.score(*by[seat], [getattr(by[seat][0], name) for name, _ in told], derive(asked.seed, "payoff", seat[0]))
        for seat, told in shown.items()
    ]
    found: list[tuple[Verdict, ...]] = desk.ask(asking, asked.judge, "payoffs", _unscored)
    rows = [
        (*seat, name, rating, score.value)
        for (seat, told), scores in zip(shown.items(), found, strict=True)
        for (name, rating), score in zip(told, scores, strict=True)
    ]
    statement_table = pd.DataFrame(rows, columns=["episode", "participant", "statement", "rating", "score"]).astype(
        {"score": float}
    )
    return calibrate_payoff(statement_table, same_scale=asked.payoff == "judge")


def _unsaid(statement: Statement) -> str | None:
    """Why a mediator that was asked has no statement; None also where it was not asked."""
    reason = statement.reason if statement.text is None else None
    return None if reason and reason.startswith(SILENT) else reason


def _unscored(scores: Sequence[Verdict]) -> str | None:
    """Why none of the statements put to a scorer has a payoff; None also where it was not asked."""
    reasons = [score.reason for score in scores if score.value is None]
    return reasons[0] if reasons and len(reasons) == len(scores) and not reasons[0].startswith(UNASKED) else None


def _claim(folder: Path, asked: Substitution, episodes: Sequence[Episode]) -> None:
    specs = {name: identity_spec(getattr(asked, name)) for name in ("llm", "mediator_llm", "judge")}
    wanted = {**asdict(asked), **specs, "episodes": digest(*map(to_line, episodes)).hex()}
    check_manifest(folder / "substitute.json", wanted, "study of substitution")
