"""Periods of sequential social learning: what the people of a room chose one after another, in the order of choosing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from parley.analysis.run_tables import environment_as
from parley.analysis.tables import Tables

from .environment import Herding
from .law import Outcomes, Person, in_cascade, log_odds, outcomes, updated

FEW_ACTS = "fewer than two readable choices"
VARIES = "the planner varies the precision"


class Choice(NamedTuple):
    """A readable choice: the act, the signal and its precision, and P(A), if the model tells it (else NaN)."""

    act: str
    signal: str
    precision: float
    probability: float


@dataclass(frozen=True)
class Period:
    """One period of one room. choices: those that could be read; missing: how many could not."""

    topic: str
    group: str
    room: str
    state: str
    prior: float
    ties: str
    choices: tuple[Choice, ...]
    missing: int
    table: pd.DataFrame

    @property
    def beliefs(self) -> list[float]:
        """The public belief (log-odds) before each choice, and after the last."""
        beliefs = [log_odds(self.prior)]
        for choice in self.choices:
            beliefs.append(updated(beliefs[-1], choice.act, choice.precision, self.ties))
        return beliefs


def rules(tables: Tables) -> Herding:
    """Return the environment of a run, with its options."""
    return environment_as(Herding, tables.header.scenario["options"])


def periods(tables: Tables) -> Iterator[Period]:
    """Yield every period of every room, in order."""
    if tables.decisions.empty:
        return
    ties = rules(tables).ties
    for keys, rows in tables.decisions.groupby(["topic", "group", "room", "round"], sort=False):
        read = rows[rows["act"].notna()].sort_values("position")
        columns = [read[name] for name in ("act", "signal", "precision", "probability")]
        choices = tuple([Choice(*values) for values in zip(*columns, strict=True)])
        state, prior = str(rows["state"].iloc[0]), float(rows["prior"].iloc[0])
        topic, group, room = map(str, keys[:3])
        yield Period(topic, group, room, state, prior, ties, choices, len(rows) - len(read), rows)


def cascade_start(period: Period) -> tuple[int, str]:
    """Return the place, from 0, of the first choice for which a Bayesian's signal cannot matter, and the option of this cascade.

    The place after the last choice counts, too. Without a cascade it is the place behind that, and "".
    """
    if not (precisions := [choice.precision for choice in period.choices]):
        return 1, ""
    for place, (belief, precision) in enumerate(zip(period.beliefs, [*precisions, *precisions[-1:]], strict=True)):
        if side := in_cascade(belief, precision):
            return place, side
    return len(precisions) + 1, ""


def theory(tables: Tables, person: Person) -> Outcomes | None:
    """Return how periods of the run would end if all people were such a person; None where a planner varies the precision."""
    if tables.decisions.empty or (setting := rules(tables)).planner != "none":
        return None
    return outcomes(setting.prior, setting.precision, setting.ties, setting.size, person)
