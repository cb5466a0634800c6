"""The study of substitution: representatives write, a mediator revises, a scorer says what it is worth.

All replies are journaled in the folder of the study, so a study that was stopped goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.representative import Critique
from parley.analysis.deliberation.episode import Episode, to_line
from parley.analysis.journaled_calls import CallDesk, check_manifest
from parley.analysis.judging import undecided
from parley.analysis.table_export import write_csv
from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.llm.seeding import digest
from parley.model.scenario_run import lock_folder
from parley.studies.representatives import preference_judge, representation, substitution
from parley.studies.representatives.payoff_measures import Calibration, calibrate_payoff, rating_table, score_table
from parley.studies.representatives.payoffs import AGREEMENT, open_payoff
from parley.studies.representatives.preference_judge import statement_pairs
from parley.studies.representatives.resimulation import (
    Substitution,
    check_capacity,
    score_payoffs,
    statements_each,
    write_statements,
)
from parley.studies.representatives.substitution import OWN, STRANGER, Resimulation, named
from parley.studies.representatives.substitution_report import SubstitutionResult, write_substitution


def run_substitution(episodes: Sequence[Episode], settings: Substitution, desk: CallDesk) -> Path:
    """Write payoffs.csv, discrepancies.csv, verdicts.csv, statements.csv and substitute.md; return the path of the
    last.

    Errors: UserError on a folder of another study, if no participant can be represented, if there are more statements
    than can be scored at once, and if the representatives' model does not have the adapter.
    """
    cases = _representable_cases(episodes)
    with_cases = {case.episode for case in cases.cases}
    groups = [episode for episode in episodes if episode.id in with_cases]
    once = [(episode, profile) for episode in groups for profile in _profiles(episode, 1, settings)]
    check_capacity(settings.payoff, statements_each(once), settings.repetitions, "--repetitions")
    opened = {
        name: representation.open_authors(author) for name, author in settings.writers.items() if author.adapter
    }  # refuses a model without the adapter before anything is asked
    desk.folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(desk.folder):
        specs: dict[str, Any] = {
            name: identity_spec(getattr(settings, name)) for name in ("llm", "mediator_llm", "judge")
        }
        specs["others"] = [[other.name, identity_spec(other.spec), other.adapter] for other in settings.others]
        manifest = {**asdict(settings), **specs, "episodes": digest(*map(to_line, episodes)).hex()}
        check_manifest(desk.folder / "substitute.json", manifest, "study of substitution")
        written = _write_critiques(cases.cases, settings, opened, desk)
        plans = [
            (episode, profile) for episode in groups for profile in _profiles(episode, settings.repetitions, settings)
        ]
        resimulations = write_statements(plans, written, settings, desk)
        payoffs = score_payoffs(resimulations, settings, desk)
        verdicts = _judge_statements(resimulations, settings, desk)
        calibration = _calibrate(episodes, settings, desk)
    gaps = substitution.discrepancies(payoffs)
    tables = {
        "payoffs": payoffs, "discrepancies": gaps, "verdicts": verdicts, "statements": _statement_rows(resimulations)
    }  # fmt: skip
    for name, frame in tables.items():
        write_csv(frame, desk.folder / f"{name}.csv")
    silent = [critique.reason for critique in written.values() if critique.text is None]
    result = SubstitutionResult(cases.left_out, payoffs, gaps, verdicts, silent, calibration)
    return write_substitution(groups, result, settings, desk.folder / "substitute.md")


def _statement_rows(resimulations: Sequence[Resimulation]) -> pd.DataFrame:
    """Return a row per re-simulation, with its statement or the reason why it is missing."""
    rows = [
        (episode.id, *profile, statement.text or "", statement.reason or "")
        for episode, profile, statement in resimulations
    ]
    return pd.DataFrame(rows, columns=["episode", "regime", "substituted", "number", "statement", "reason"])


def _representable_cases(episodes: Sequence[Episode]) -> representation.Cases:
    """Return the cases with opinion, draft and critique; if there are none, those with opinion and draft."""
    for written in (True, False):
        if (cases := representation.representation_cases(episodes, written)).cases:
            return cases
    raise UserError(
        "no participant can be represented, because none has both an opinion and a draft: give other episodes"
    )


def _write_critiques(
    cases: Sequence[representation.RepresentationCase],
    settings: Substitution,
    opened: dict[str, Backend],
    desk: CallDesk,
) -> dict[tuple[str, str, int], Critique]:
    """Return critiques by case key, own or stranger (with the model), and repetition.

    opened: models that are open already, by the name of the writer; each is let go after its critiques, so that the
    mediator's has room.
    """
    others = representation.strangers(cases, settings.seed)
    orders = {
        (case.key, who, number): representation.WritingOrder(case, subject, number)
        for case in cases
        for number in range(settings.repetitions)
        for who, subject in ((OWN, case), (STRANGER, others.get(case.key)))
        if subject
    }
    written: dict[tuple[str, str, int], Critique] = {}
    for writer, author in settings.writers.items():
        critiques = representation.write_texts(
            list(orders.values()), author, settings.seed, desk, opened.pop(writer, None)
        )
        keys = [(key, named(who, writer), number) for key, who, number in orders]
        written |= dict(zip(keys, critiques, strict=True))
    return written


def _profiles(episode: Episode, repetitions: int, settings: Substitution) -> Iterator[substitution.Profile]:
    return substitution.profiles(episode, repetitions, list(settings.writers), settings.mute)


def _judge_statements(resimulations: Sequence[Resimulation], settings: Substitution, desk: CallDesk) -> pd.DataFrame:
    """Return what the judge prefers: the statement with representatives, or the one without."""
    pairs = statement_pairs(resimulations)
    asking = [preference_judge.compare_statements(pair, settings.seed) for pair in pairs]
    return preference_judge.statement_table(pairs, desk.ask(asking, settings.judge, "verdicts", undecided))


def _calibrate(episodes: Sequence[Episode], settings: Substitution, desk: CallDesk) -> Calibration | None:
    """Compare the scorer with participants' ratings; None without ratings, and if the payoff is the rating itself."""
    table = rating_table(episodes)
    if table.empty or settings.payoff == "own":
        return None
    scorer = open_payoff(settings.payoff)
    scores = score_table(table, episodes, scorer, settings.judge, settings.seed, desk, "payoffs")
    return calibrate_payoff(table.assign(score=scores), same_scale=scorer.UNIT == AGREEMENT)
