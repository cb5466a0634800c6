"""One number a run, though some of its agents or statements have no score; and which runs are of the same people.

A run's mean over whichever agents have scores is not comparable: where a model refuses to speak for one party, the mean moves
to the other's side and looks like an effect. So every score is compared with the average of its agent and statement first
(`aside`), each condition counting the same; a run's number is what its scores are off, on average.

The unit of a comparison is a cast: the people of a run, by party and name, whether they are there as men or as women. Runs that
share a person are one unit. Where conditions have the same texts, a run is a unit too, for these people alone.
"""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.nan_statistics import nanmean
from parley.analysis.scores.table import HIGH, LOW

MANY = 0.05
"""Share of scores missing from which a difference has bounds."""
PEOPLE = ["condition", "run", "agent", "party", "person", "text"]
"""Columns of a table of people, one row an agent of a run: `person` is a name, `text` the persona as it was given."""
Of = Callable[[Floats, Floats], Floats]
"""What is taken of lines of scores: (lines, statements) and the statements' numbers to (lines,)."""


def mean_of(lines: Floats, _: Floats) -> Floats:
    """Return the mean of each line's scores."""
    return nanmean(lines, -1)


def by_run(scores: pd.DataFrame, of: Of = mean_of) -> pd.DataFrame:
    """Return one row a run: condition, run, value (NaN where it has no score).

    scores: of one topic, and of the conditions and agents that are compared. The value is `of` an agent's scores, averaged over
    agents. Without missing scores it is that of the scores as they are.
    """
    usual = scores.groupby(["agent", "statement", "condition"], sort=False)["score"].mean()
    level = usual.groupby(level=["agent", "statement"], sort=False).mean().rename("usual")
    known = scores.join(level, on=["agent", "statement"])
    known = known.assign(aside=known["score"] - known["usual"])
    wide = known.pivot(index=["condition", "run", "agent"], columns="statement", values="aside")
    at = wide.columns.to_numpy(dtype=float)
    agents = pd.Series(of(wide.to_numpy(dtype=float), at), index=wide.index)
    runs = agents.groupby(level=["condition", "run"], sort=False).mean().rename("value").reset_index()
    centre = nanmean(of(level.unstack("statement").reindex(columns=wide.columns).to_numpy(dtype=float), at))
    order = scores[["condition", "run"]].drop_duplicates()
    return order.merge(runs, on=["condition", "run"]).assign(value=lambda found: found["value"] + float(centre))


def values(runs: pd.DataFrame) -> dict[str, Floats]:
    """Return the numbers of the runs by condition."""
    return {str(name): part["value"].to_numpy(dtype=float) for name, part in runs.groupby("condition", sort=False)}


def missing(scores: pd.DataFrame) -> float:
    """Return the share of scores that are missing in the condition that lacks most."""
    return float(scores["score"].isna().groupby(scores["condition"]).mean().max())


def bounds(scores: pd.DataFrame, one: str, other: str) -> tuple[float, float]:
    """Return between what the difference (other less one) would lie, whatever the missing scores had been.

    The ends: all that is missing in one condition is 1 and in the other 7, and the reverse.
    """

    def mean(condition: str, filled: int) -> float:
        part = scores[scores["condition"] == condition]
        return float(part["score"].fillna(filled).groupby(part["agent"]).mean().mean())

    return mean(other, LOW) - mean(one, HIGH), mean(other, HIGH) - mean(one, LOW)


def same_texts(people: pd.DataFrame) -> bool:
    """Return whether all conditions have the same texts, of the parties that sit in all of them."""
    parts = _shared(people).groupby("condition")
    return len({frozenset(zip(part["party"], part["text"], strict=True)) for _, part in parts}) < 2


def casts(people: pd.DataFrame) -> pd.Series:
    """Return the unit of each run: a number by (condition, run). Runs that share a person have the same one."""
    seated = _shared(people)
    graph = nx.Graph()
    for row in seated.itertuples():
        graph.add_edge(("run", row.condition, row.run), ("person", row.party, row.person))
    units = {
        node[1:]: number
        for number, part in enumerate(nx.connected_components(graph))
        for node in part
        if node[0] == "run"
    }
    index = pd.MultiIndex.from_tuples(list(units), names=["condition", "run"])
    return pd.Series(list(units.values()), index=index, dtype="int64", name="unit")


def _shared(people: pd.DataFrame) -> pd.DataFrame:
    """Those of the parties that sit in all conditions."""
    conditions = people.groupby("party")["condition"].nunique()
    return people[people["party"].isin(conditions[conditions == people["condition"].nunique()].index)]
