"""The table of scores: one row a statement.

One number a run, though some of its agents or statements have no score; and which runs are of the same people.

A run's mean over whichever agents have scores is not comparable: where a model refuses to speak for one party, the mean moves
to the other's side and looks like an effect. So every score is compared with the average of its agent and statement first
(`aside`), each condition counting the same; a run's number is what its scores are off, on average.

The unit of a comparison is a cast: the people of a run, by party and name, whether they are there as men or as women. Runs that
share a person are one unit. Where conditions have the same texts, a run is a unit too, for these people alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pandas as pd

from parley.analysis.bootstrap import Floats, nanmean
from parley.analysis.formatting import count_phrase
from parley.llm.errors import UserError

KEYS = ["topic", "condition", "run", "agent", "statement"]
COLUMNS = [*KEYS, "score"]
LOW, MIDDLE, HIGH = 1, 4, 7
ROUNDING = 1e-9
"""How far off the scale a score may be: sums of thirds come out as 7.000000000000002."""


class ScoreLine(NamedTuple):
    """One agent's scores in a topic and condition: `scores` has a row a run and a column a statement; NaN: none.

    `at` are the statements' numbers, in order.
    """

    topic: str
    condition: str
    agent: str
    scores: Floats
    at: Floats


def read(path: Path) -> pd.DataFrame:
    """A CSV with the columns topic, condition, run, agent, statement, score (1-7; empty: no score could be read).

    Errors: UserError on a file that cannot be read, a column that is missing, a score off the scale, a statement scored twice,
    no score at all.
    """
    try:
        found = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} as a CSV of scores: {error}") from error
    if missing := [name for name in COLUMNS if name not in found]:
        raise UserError(f"{path} lacks the column {', '.join(missing)}; wanted: {', '.join(COLUMNS)}")
    return checked(found[COLUMNS], str(path))


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
    known = scores["score"].dropna()
    if known.empty:
        raise UserError(f"{where} holds no score" + (f" (all {len(scores)} are missing)" if len(scores) else ""))
    if not (fits := known.between(LOW - ROUNDING, HIGH + ROUNDING)).all():
        raise UserError(f"{where}: a score must lie between {LOW} and {HIGH}, not {known[~fits].iloc[0]:.10g}")
    scores = scores.assign(score=scores["score"].clip(LOW, HIGH))
    if scores.duplicated(KEYS).any():
        first = scores.loc[scores.duplicated(KEYS), KEYS].iloc[0]
        raise UserError(
            f"{where} scores a statement twice: {', '.join(f'{name} {value}' for name, value in first.items())}"
        )
    return scores.astype({"statement": "int64", "score": "float64"})


def lines(scores: pd.DataFrame) -> Iterator[ScoreLine]:
    """Every topic, condition and agent, in the order of the table."""
    for (topic, condition, agent), rows in scores.groupby(["topic", "condition", "agent"], sort=False):
        wide = rows.pivot(index="run", columns="statement", values="score").sort_index(axis=1)
        yield ScoreLine(
            str(topic), str(condition), str(agent), wide.to_numpy(dtype=float), wide.columns.to_numpy(dtype=float)
        )


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
