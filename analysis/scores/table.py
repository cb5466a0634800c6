"""The table of scores: a row per statement, a number per run, and which runs share people.

A run's mean over those agents that have scores is not comparable: if a model refuses to speak for one party, the mean moves
toward the other side and looks like an effect. Therefore every score is first compared with the average of its agent and
statement (`offset`), to which each condition contributes equally. A run's number is the average of these offsets.

The unit of a comparison is a cast: the people of a run, by party and name, whether they appear as men or as women. Runs that
share a person are one unit. If all conditions have the same texts, a run may be a unit too, for these people alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pandas as pd

from parley.analysis.formatting import count_phrase
from parley.analysis.statistics.intervals import Floats, nanmean
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

KEYS = ["topic", "condition", "run", "agent", "statement"]
COLUMNS = [*KEYS, "score"]
LOW, MIDDLE, HIGH = 1, 4, 7
ROUNDING = 1e-9
"""How far off the scale a score may be: sums of thirds come out as 7.000000000000002."""
MANY = 0.05
"""The share of missing scores from which a difference gets bounds."""
PEOPLE = ["condition", "run", "agent", "party", "person", "text"]
"""Columns of a table of people, one row per agent of a run: `person` is a name, `text` the persona's text."""
Of = Callable[[Floats, Floats], Floats]
"""A statistic of lines of scores: from (lines, statements) and the statements' numbers to (lines,)."""


class ScoreLine(NamedTuple):
    """The scores of one agent in a topic and condition: one row per run, one column per statement; NaN: missing.

    at: the statements' numbers, in order. runs: the name of each run.
    """

    topic: str
    condition: str
    agent: str
    scores: Floats
    at: Floats
    runs: tuple[Hashable, ...]


def read(path: Path) -> pd.DataFrame:
    """A CSV with the columns topic, condition, run, agent, statement, score (1-7; empty: no score could be read).

    Errors: UserError on a file that cannot be read, a missing column, a score off the scale, a statement scored twice, no score
    at all.
    """
    scores = read_table(path, COLUMNS, "docs/statistics.md", filled=KEYS[:-1], numbers=("statement", "score"))
    return checked(scores[COLUMNS].reset_index(drop=True), str(path))


def checked(scores: pd.DataFrame, where: str) -> pd.DataFrame:
    """The table with its types. Errors: UserError."""
    for name in ("topic", "condition", "run", "agent"):
        if scores[name].isna().any():
            raise UserError(f"{where}: {count_phrase(int(scores[name].isna().sum()), 'row')} without {name}")
    for name in ("statement", "score"):
        numbers = pd.to_numeric(scores[name], errors="coerce")
        if (numbers.isna() & scores[name].notna()).any() or (name == "statement" and numbers.isna().any()):
            raise UserError(f"{where}: {name} must be a number")
        if name == "statement" and not (numbers % 1 == 0).all():
            raise UserError(f"{where}: statement must be a whole number (1, 2, 3, ...)")
        scores = scores.assign(**{name: numbers})
    present = scores["score"].dropna()
    if present.empty:
        raise UserError(f"{where} has no score" + (f" (all {len(scores)} are missing)" if len(scores) else ""))
    if not (fits := present.between(LOW - ROUNDING, HIGH + ROUNDING)).all():
        raise UserError(f"{where}: a score must lie between {LOW} and {HIGH}, not {present[~fits].iloc[0]:.10g}")
    if (again := scores.duplicated(KEYS)).any():
        first = ", ".join(f"{name} {value}" for name, value in scores.loc[again, KEYS].iloc[0].items())
        raise UserError(f"{where} scores a statement twice: {first}")
    scores = scores.assign(score=scores["score"].clip(LOW, HIGH))
    return scores.astype({"statement": "int64", "score": "float64"})


def lines(scores: pd.DataFrame) -> Iterator[ScoreLine]:
    """Every topic, condition and agent, in the order of the table."""
    for (topic, condition, agent), rows in scores.groupby(["topic", "condition", "agent"], sort=False):
        wide = rows.pivot(index="run", columns="statement", values="score").sort_index(axis=1)
        numbers, at = wide.to_numpy(dtype=float), wide.columns.to_numpy(dtype=float)
        yield ScoreLine(str(topic), str(condition), str(agent), numbers, at, tuple(wide.index))


def mean_of(lines: Floats, _: Floats) -> Floats:
    """Return the mean of each line's scores."""
    return nanmean(lines, -1)


def by_run(scores: pd.DataFrame, of: Of = mean_of) -> pd.DataFrame:
    """Return one row per run: condition, run, value (NaN if it has no score).

    scores: of one topic, and of the conditions and agents that are compared. The value is `of` an agent's scores, averaged over
    agents. If no score is missing, it is that of the scores as they are.
    """
    usual = scores.groupby(["agent", "statement", "condition"], sort=False)["score"].mean()
    level = usual.groupby(level=["agent", "statement"], sort=False).mean().rename("usual")
    with_usual = scores.join(level, on=["agent", "statement"])
    with_usual = with_usual.assign(offset=with_usual["score"] - with_usual["usual"])
    wide = with_usual.pivot(index=["condition", "run", "agent"], columns="statement", values="offset")
    at = wide.columns.to_numpy(dtype=float)
    agents = pd.Series(of(wide.to_numpy(dtype=float), at), index=wide.index)
    runs = agents.groupby(level=["condition", "run"], sort=False).mean().rename("value").reset_index()
    centre = nanmean(of(level.unstack("statement").reindex(columns=wide.columns).to_numpy(dtype=float), at))
    order = scores[["condition", "run"]].drop_duplicates().merge(runs, on=["condition", "run"])
    return order.assign(value=order["value"] + float(centre))


def values(runs: pd.DataFrame) -> dict[str, Floats]:
    """Return the numbers of the runs by condition."""
    return {
        str(name): condition_runs["value"].to_numpy(dtype=float)
        for name, condition_runs in runs.groupby("condition", sort=False)
    }


def missing(scores: pd.DataFrame) -> float:
    """Return the share of missing scores in the condition that lacks most."""
    return float(scores["score"].isna().groupby(scores["condition"]).mean().max())


def bounds(scores: pd.DataFrame, first: str, other: str) -> tuple[float, float]:
    """Return the lowest and highest difference (other minus first) that any values of the missing scores could give.

    At the ends, all missing scores of one condition are 1 and those of the other 7, or the reverse.
    """

    def mean(condition: str, filled: int) -> float:
        condition_scores = scores[scores["condition"] == condition]
        return float(condition_scores["score"].fillna(filled).groupby(condition_scores["agent"]).mean().mean())

    return mean(other, LOW) - mean(first, HIGH), mean(other, HIGH) - mean(first, LOW)


def same_texts(people: pd.DataFrame) -> bool:
    """Return whether all conditions have the same texts, of the parties that sit in all of them."""
    parts = _shared(people).groupby("condition")
    return len({frozenset(zip(seated["party"], seated["text"], strict=True)) for _, seated in parts}) < 2


def casts(people: pd.DataFrame) -> pd.Series:
    """Return the unit of each run: a number by (condition, run). Runs that share a person have the same number."""
    graph = nx.Graph()
    for row in _shared(people).itertuples():
        graph.add_edge(("run", row.condition, row.run), ("person", row.party, row.person))
    parts = enumerate(nx.connected_components(graph))
    units = {node[1:]: number for number, component in parts for node in component if node[0] == "run"}
    index = pd.MultiIndex.from_tuples(list(units), names=["condition", "run"])
    return pd.Series(list(units.values()), index=index, dtype="int64", name="unit")


def _shared(people: pd.DataFrame) -> pd.DataFrame:
    """The rows of the parties that sit in all conditions."""
    conditions = people.groupby("party")["condition"].nunique()
    return people[people["party"].isin(conditions[conditions == people["condition"].nunique()].index)]
