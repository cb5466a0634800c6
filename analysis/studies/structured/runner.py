"""Debates and judge of an experiment, condition by condition, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from parley.analysis.formatting import slug
from parley.analysis.judge.judging import Judging, judge_run
from parley.analysis.studies.structured.experiments import Experiment
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.seeding import derive
from parley.model.events import Header
from parley.model.scenario import Scenario


@dataclass(frozen=True)
class ExperimentResult:
    """`verdicts` and `attitudes` of all conditions (rooms named after them), `scores` as analysis/scores takes them.

    `people` says who sat where (`PEOPLE` of analysis/scores/run_means.py).
    """

    verdicts: pd.DataFrame
    attitudes: pd.DataFrame
    scores: pd.DataFrame
    people: pd.DataFrame
    headers: Mapping[str, Header]


def condition_folders(experiment: Experiment, out: Path) -> dict[str, Path]:
    """Where each condition's run is."""
    return {name: out / slug(name) for name in experiment.conditions}


def run_experiment(
    experiment: Experiment,
    base: Scenario,
    out: Path,
    judge: str,
    judging: Judging,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
) -> Generator[Scenario, Tables, ExperimentResult]:
    """Yields each condition's scenario, wants its record, has its statements judged (within the budget); returns all of it.

    Each condition has a seed of its own: with one seed for all, what does not differ would be word for word the same, and tests
    that take conditions for independent would never find anything. The people of a repetition are the same in all of them
    where the cast does not go by the seed (listed, fixed).
    """
    verdicts, attitudes, agents, headers = [], [], [], {}
    for name, folder in condition_folders(experiment, out).items():
        tables = yield base.with_settings({"seed": derive(base.seed, "condition", name), **experiment.conditions[name]})
        headers[name] = tables.header
        verdicts.append(_in(name, judge_run(tables, folder / "judge", judge, judging, bar, budget, ledger)))
        attitudes.append(_in(name, tables.attitudes))
        agents.append(_in(name, tables.agents))
    whole = [pd.concat(parts, ignore_index=True) for parts in (verdicts, attitudes, agents)]
    return ExperimentResult(whole[0], whole[1], scores(whole[0]), people(whole[2]), headers)


def scores(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores. Agents are named after their party, and numbered where a room has several of one."""
    found = verdicts.merge(_named(verdicts), on=["room", "agent"])
    found = found.drop(columns="agent").rename(columns={"room": "run", "named": "agent"})
    return found[["topic", "condition", "run", "agent", "statement", "score"]]


def people(agents: pd.DataFrame) -> pd.DataFrame:
    """Return who sat where: a row an agent of a run, with its party, its name (person) and its persona (text)."""
    found = agents.merge(_named(agents), on=["room", "agent"]).drop(columns="agent")
    names = {"room": "run", "named": "agent", "name": "person", "persona": "text"}
    return found.rename(columns=names)[["condition", "run", "agent", "party", "person", "text"]]


def _named(seated: pd.DataFrame) -> pd.DataFrame:
    """The name of each agent of a room: its party, and a number where the room has several of it."""
    seats = seated[["room", "party", "agent"]].drop_duplicates().sort_values(["room", "agent"])
    seats = seats.assign(number=seats.groupby(["room", "party"]).cumcount() + 1)
    several = seats.groupby(["room", "party"])["agent"].transform("size") > 1
    seats["named"] = seats["party"].where(~several, seats["party"] + " " + seats["number"].astype(str))
    return seats[["room", "agent", "named"]]


def _in(condition: str, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(condition=condition, room=condition + "/" + table["room"])
