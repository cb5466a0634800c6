"""Debates and judge of an experiment, condition by condition, each in a folder of its own."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from analysis.judge.bench import judged
from analysis.judge.verdicts import Judging
from analysis.load import Tables
from analysis.studies.structured.experiments import Experiment
from analysis.wording import slug
from llm.driver import Bar
from llm.limits import NO_LIMIT, Budget, Ledger
from llm.randomness import derive
from model.events import Header
from model.scenario import Scenario


@dataclass(frozen=True)
class Found:
    """`verdicts` and `attitudes` of all conditions (rooms named after them), `scores` as analysis/scores takes them."""

    verdicts: pd.DataFrame
    attitudes: pd.DataFrame
    scores: pd.DataFrame
    headers: Mapping[str, Header]


def folders(experiment: Experiment, out: Path) -> dict[str, Path]:
    """Where each condition's run is."""
    return {name: out / slug(name) for name in experiment.conditions}


def structured(
    experiment: Experiment,
    base: Scenario,
    out: Path,
    judge: str,
    judging: Judging,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
) -> Generator[Scenario, Tables, Found]:
    """Yields each condition's scenario, wants its record, has its statements judged (within the budget); returns all of it.

    Each condition has a seed of its own: with one seed for all, what does not differ would be word for word the same, and tests
    that take conditions for independent would never find anything.
    """
    verdicts, attitudes, headers = [], [], {}
    for name, folder in folders(experiment, out).items():
        tables = yield base.with_settings({"seed": derive(base.seed, "condition", name), **experiment.conditions[name]})
        headers[name] = tables.header
        verdicts.append(_in(name, judged(tables, folder / "judge", judge, judging, bar, budget, ledger)))
        attitudes.append(_in(name, tables.attitudes))
    both = pd.concat(verdicts, ignore_index=True), pd.concat(attitudes, ignore_index=True)
    return Found(*both, scores(both[0]), headers)


def scores(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores. Agents are named after their party, and numbered where a room has several of one."""
    seats = verdicts[["room", "party", "agent"]].drop_duplicates().sort_values(["room", "agent"])
    seats = seats.assign(number=seats.groupby(["room", "party"]).cumcount() + 1)
    several = seats.groupby(["room", "party"])["agent"].transform("size") > 1
    seats["named"] = seats["party"].where(~several, seats["party"] + " " + seats["number"].astype(str))
    found = verdicts.merge(seats[["room", "agent", "named"]], on=["room", "agent"])
    found = found.drop(columns="agent").rename(columns={"room": "run", "named": "agent"})
    return found[["topic", "condition", "run", "agent", "statement", "score"]]


def _in(condition: str, table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(condition=condition, room=condition + "/" + table["room"])
