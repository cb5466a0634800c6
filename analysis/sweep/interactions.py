"""How two varied fields work together: cell means of every pair, and whether the effect of one depends on the other.

A main effect averages over the other fields. Where 8 rounds instead of 2 add 0 points with a short memory and 2.5 with a whole
one, their mean, 1.3, is the effect of neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from parley.analysis.bootstrap import Floats, mean_interval, why_no_interval
from parley.analysis.metrics._cells import KEYS
from parley.analysis.sweep.tables import CellMeasurement, gather_cells, values_of
from parley.model.sweep.design import SweepCell

ALPHA = 0.05
FIELDS = ["field", "value", "other", "other_value"]
COLUMNS = [*FIELDS, *KEYS, "seeds", "change", "change_low", "change_high", "change_sd"]
TESTED = ["field", "other", *KEYS, "seeds", "largest", "p", "depends", "reason"]


def pair_means(cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]) -> pd.DataFrame:
    """Return a row a pair of fields, their values, topic, group and party: mean change over seeds with its 95% interval.

    Averaged over the remaining fields within a seed first, over the seeds that have all of these cells (`seeds`). change_sd: over
    seeds. Empty with fewer than two varied fields.
    """
    rows = []
    for keys, wide, plan in gather_cells(cells, changes):
        for one, other in _couples(cells):
            for values in product(values_of(cells, one), values_of(cells, other)):
                known = _mean(wide, plan, dict(zip((one, other), values, strict=True)))
                ends = mean_interval(known)
                sd = float(known.std(ddof=1)) if len(known) > 1 else math.nan
                told = (float(known.mean()) if len(known) else math.nan, *ends, sd)
                rows.append([one, values[0], other, values[1], *keys, len(known), *told])
    return pd.DataFrame(rows, columns=COLUMNS)


def interactions(cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]) -> pd.DataFrame:
    """Return a row a pair of fields, topic, group and party: whether the effect of the one depends on the other.

    A contrast is the effect of a value of the one (less that of its first value) at a value of the other, less the same at the
    other's first value, seed by seed. largest: that farthest from 0 (points). p: the smallest of all contrasts, each Student's t,
    corrected by Holm. depends: p below .05; NaN with a reason below 5 seeds.
    """
    rows = []
    for keys, wide, plan in gather_cells(cells, changes):
        for one, other in _couples(cells):
            rows.append([one, other, *keys, *_tested(list(_contrasts(cells, wide, plan, one, other)))])
    found = pd.DataFrame(rows, columns=TESTED)
    return found.astype({"largest": "float64", "p": "float64", "depends": "boolean"})


def _couples(cells: Sequence[SweepCell]) -> Iterator[tuple[str, str]]:
    return combinations([key for key, _ in cells[0].values], 2)


def _mean(wide: pd.DataFrame, plan: pd.DataFrame, values: Mapping[str, str]) -> Floats:
    known: Floats = _by_seed(wide, plan, values).dropna().to_numpy(dtype=float)
    return known


def _by_seed(wide: pd.DataFrame, plan: pd.DataFrame, values: Mapping[str, str]) -> pd.Series:
    """The change of each seed, averaged over the combinations with these values; NaN where one of them is missing."""
    there = np.all([plan[field] == value for field, value in values.items()], axis=0)
    names = plan.loc[there, "combination"]
    return wide.reindex(columns=names).mean(axis=1, skipna=False) if len(names) else wide.iloc[:, 0] * math.nan


def _contrasts(
    cells: Sequence[SweepCell], wide: pd.DataFrame, plan: pd.DataFrame, one: str, other: str
) -> Iterator[Floats]:
    firsts, seconds = values_of(cells, one), values_of(cells, other)
    at = {pair: _by_seed(wide, plan, {one: pair[0], other: pair[1]}) for pair in product(firsts, seconds)}
    for value, beside in product(firsts[1:], seconds[1:]):
        effect = at[value, beside] - at[firsts[0], beside]
        yield (effect - (at[value, seconds[0]] - at[firsts[0], seconds[0]])).dropna().to_numpy(dtype=float)


def _tested(contrasts: Sequence[Floats]) -> list[Any]:
    """seeds, largest, p, depends, reason."""
    known = [values for values in contrasts if len(values)]
    seeds = max(map(len, known), default=0)
    if not known:
        return [0, math.nan, math.nan, pd.NA, "no seed has all of the cells"]
    largest = max((float(values.mean()) for values in known), key=abs)
    sure = [values for values in known if not why_no_interval(values, "seed")]
    if not sure:
        return [seeds, largest, math.nan, pd.NA, why_no_interval(known[0], "seed")]
    p = float(min(multipletests([ttest_1samp(values, 0).pvalue for values in sure], method="holm")[1]))
    return [seeds, largest, p, p < ALPHA, ""]
