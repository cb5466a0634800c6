"""People and predictions of a mixed-subjects design as arrays, read from a CSV with one row per person and from runs.

person     a name, once           outcome    a number; empty if the person was not asked
condition  one of two (optional)  predicted  what a model says for the person in its condition, or predicted_CONDITION for each
cluster    who belongs together, such as the room of a text (optional; empty: on its own)
again_outcome, again_predicted, and more that begin so: repeated measurements of the same (optional)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.statistics.intervals import Floats
from parley.analysis.table_files import read_table
from parley.analysis.tables import load
from parley.llm.errors import UserError, unknown_name

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Arm:
    """One condition. outcome, predicted: of the same people, (n,). others: predictions for people without an outcome, (m,).

    clusters, clusters_of_others: (n,) and (m,), from 0 over all arms: who belongs together (texts of one room); None: no one.
    """

    outcome: Floats
    predicted: Floats
    others: Floats
    clusters: Codes | None = None
    clusters_of_others: Codes | None = None

    def __post_init__(self) -> None:
        if len(self.outcome) != len(self.predicted):
            raise ValueError("every outcome needs a prediction")

    @property
    def people(self) -> int:
        """How many people have an outcome."""
        return len(self.outcome)


@dataclass(frozen=True)
class Sample:
    """The arms of a study: one (a mean is estimated), or control and treated (the effect: treated minus control).

    pairs: (m, 2), predictions for people without an outcome in both conditions, in the order of the arms; None if they are not
    known; clusters_of_pairs: (m,) as in `Arm`. What is estimated is the mean of the arms with `signs` as weights.
    """

    arms: tuple[Arm, ...]
    pairs: Floats | None = None
    clusters_of_pairs: Codes | None = None

    @property
    def signs(self) -> tuple[float, ...]:
        """The weight of each arm: +1 for a single arm; -1 and +1 for control and treated."""
        return (1.0,) if len(self.arms) == 1 else (-1.0, 1.0)

    @property
    def people(self) -> int:
        """How many people have an outcome, in all arms."""
        return sum(arm.people for arm in self.arms)

    @property
    def cluster_sizes(self) -> Floats | None:
        """How many people with an outcome each cluster has; None if each person is independent."""
        codes = [arm.clusters for arm in self.arms if arm.clusters is not None]
        return np.bincount(np.concatenate(codes)).astype(float) if codes else None

    @property
    def fewest(self) -> int:
        """How many people the smallest arm has."""
        return min(arm.people for arm in self.arms)


PERSON, CONDITION, OUTCOME, PREDICTED, CLUSTER = "person", "condition", "outcome", "predicted", "cluster"
AGAIN = "again_"
"""How columns of repeated measurements begin."""
NO_PREDICTION, NO_CONDITION = "no prediction", "no condition"


@dataclass(frozen=True)
class People:
    """One row per person: person, condition (if there are two), outcome, predicted, and perhaps predicted_CONDITION.

    conditions: control first; empty if a mean is estimated. lost: people who are left out, by reason.
    """

    table: pd.DataFrame
    conditions: tuple[str, ...]
    lost: Mapping[str, int]

    def sample(self) -> Sample:
        """Return the data as arrays."""
        table = self._coded()
        if not self.conditions:
            return Sample((_arm(table, PREDICTED),))
        arms = tuple(_arm(table[table[CONDITION] == condition], PREDICTED) for condition in self.conditions)
        both = [f"{PREDICTED}_{condition}" for condition in self.conditions]
        if not set(both) <= set(table.columns):
            return Sample(arms)
        pairs = table.loc[table[OUTCOME].isna()].dropna(subset=both)
        return Sample(arms, pairs[both].to_numpy(dtype=float), _codes(pairs)) if len(pairs) else Sample(arms)

    @property
    def clustered(self) -> bool:
        """Whether the file says who belongs together."""
        return CLUSTER in self.table.columns

    def _coded(self) -> pd.DataFrame:
        """Return the table with numbers for clusters, those with an outcome first; a person without a cluster is one."""
        if not self.clustered:
            return self.table
        table = self.table.sort_values(OUTCOME, na_position="last", kind="stable")
        clusters = table[CLUSTER].fillna("")
        return table.assign(
            **{CLUSTER: clusters.where(clusters != "", "\0" + table[PERSON]).factorize()[0]}
        ).sort_index()


def _codes(table: pd.DataFrame) -> Codes | None:
    return table[CLUSTER].to_numpy(dtype=np.int64) if CLUSTER in table.columns else None


def _arm(table: pd.DataFrame, predicted: str) -> Arm:
    has_outcome = table[OUTCOME].notna()
    values = table[[OUTCOME, predicted]].to_numpy(dtype=float)
    return Arm(
        values[has_outcome, 0],
        values[has_outcome, 1],
        values[~has_outcome, 1],
        _codes(table[has_outcome]),
        _codes(table[~has_outcome]),
    )


def read_people(path: Path, control: str | None = None, runs: Mapping[str, Path] | None = None) -> People:
    """Return the people of a CSV, with predictions from its columns or from `runs` (condition, or empty: folder).

    control: the condition that is subtracted (default: `control` if it is one, else the first in alphabetical order).
    Errors: UserError for a file that cannot be read, a missing column, a person that is there twice, text in the place of a
    number, more than two conditions, an unknown control, no outcome, and no prediction.
    """
    table = _read(path)
    if runs:
        table = _with_runs(table, runs, path)
    conditions = _conditions(table, control, path)
    table, lost = _own_predictions(table, conditions, path)
    if not table[OUTCOME].notna().any():
        raise UserError(f"{path}: no person has both an outcome and a prediction")
    return People(table, conditions, lost)


def _read(path: Path) -> pd.DataFrame:
    table = read_table(
        path, (PERSON, OUTCOME), "studies/mixed_subjects/README.md", filled=(PERSON,), numbers=_is_number
    )
    if twice := list(table[PERSON][table[PERSON].duplicated()]):
        raise UserError(f"{path}: person {twice[0]} has two rows: give every person one row")
    return table.reset_index(drop=True)


def _is_number(name: str) -> bool:
    return name == OUTCOME or name.startswith((PREDICTED, AGAIN))


def _conditions(table: pd.DataFrame, control: str | None, path: Path) -> tuple[str, ...]:
    if CONDITION not in table.columns:
        if control:
            raise UserError(f"{path} has no column condition, so leave --control out")
        return ()
    names = sorted({name for name in table[CONDITION].str.strip() if name})
    if len(names) != 2:
        raise UserError(f"{path}: the column condition needs two different values, not {len(names)}")
    first = control or ("control" if "control" in names else names[0])
    if first not in names:
        raise unknown_name("condition", first, names)
    return (first, *(name for name in names if name != first))


def _with_runs(table: pd.DataFrame, runs: Mapping[str, Path], path: Path) -> pd.DataFrame:
    """Add a column of predictions per run: the mean last rating of the agents with each person's persona.

    Agents whose persona is no person of the file are people without an outcome.
    """
    for condition, folder in runs.items():
        name = f"{PREDICTED}_{condition}" if condition else PREDICTED
        if name in table.columns:
            raise UserError(f"{path} already has a column {name}: leave out this column, or leave out --run")
        ratings = last_ratings(folder).rename(name)
        table = table.merge(ratings, left_on=PERSON, right_index=True, how="outer")
    if CONDITION in table.columns:
        table[CONDITION] = table[CONDITION].fillna("")
    return table.sort_values(PERSON, ignore_index=True)


def last_ratings(folder: Path) -> pd.Series:
    """Return the mean last rating (on the probe's scale) of each persona of a run that has one, over rooms."""
    record = load(folder)
    ratings = record.attitudes.merge(record.agents[["room", "agent", "persona"]], on=["room", "agent"])
    ordered = ratings.dropna(subset=["rating"]).sort_values("round", kind="stable")
    last = ordered.groupby(["persona", "room", "agent"])["rating"].last()
    return last.groupby("persona").mean()


def _own_predictions(
    table: pd.DataFrame, conditions: tuple[str, ...], path: Path
) -> tuple[pd.DataFrame, Mapping[str, int]]:
    """Return the people who can be used, each with the prediction in its own condition, and how many are left out.

    People without an outcome and without a condition have predictions in both conditions: they count as people of no arm.
    """
    lost: Counter[str] = Counter()
    both = [f"{PREDICTED}_{condition}" for condition in conditions]
    if conditions and set(both) <= set(table.columns):
        table[CONDITION] = table[CONDITION].fillna("").str.strip()
        own_predictions = [
            row[f"{PREDICTED}_{row[CONDITION]}"] if row[CONDITION] else np.nan for _, row in table.iterrows()
        ]
        table[PREDICTED] = own_predictions
        paired = table[OUTCOME].isna() & table[both].notna().all(axis=1)
    elif PREDICTED in table.columns:
        paired = pd.Series(False, index=table.index)
    else:
        needed = PREDICTED if not conditions else f"{PREDICTED}, or {' and '.join(both)}"
        raise UserError(f"{path} has no column {needed}: give predictions, or a run with --run")
    unplaced = (table[CONDITION].fillna("") == "") & ~paired if conditions else pd.Series(False, index=table.index)
    lost[NO_CONDITION] = int(unplaced.sum())
    blank = table[PREDICTED].isna() & ~paired & ~unplaced
    lost[NO_PREDICTION] = int(blank.sum())
    return table[~unplaced & ~blank].reset_index(drop=True), {name: count for name, count in lost.items() if count}
