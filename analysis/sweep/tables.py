"""The tables of a sweep: every cell, the effect of each varied field, and how two fields work together, over seeds.

A main effect is averaged over the other fields. Therefore it can describe no actual value of the other field. Example: 8 rounds
instead of 2 add 0 points with a short memory and 2.5 with a full one; the main effect is 1.3. `interactions` tests for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests

from parley.agents.persona import party_of
from parley.agents.society import NO_NAMES, PartyNames
from parley.analysis.formatting import count_table
from parley.analysis.metrics import _cells
from parley.analysis.metrics._cells import KEYS, Cell, direction
from parley.analysis.statistics.intervals import Floats, mean_interval, why_no_interval
from parley.analysis.tables import Tables, load
from parley.model.events import Header
from parley.model.sweep.design import SweepCell
from parley.model.titles import group_title, join_phrases

ENDS = ("", "_low", "_high", "_sd")
MANY = "*"
COUNTS = ("round", "rooms", "ratings", "missing")
NO_RATINGS = "no ratings to measure it by"
SHOWN = ("change", "toward", "difference")
COLUMNS = ["field", "value", *KEYS, "seeds", "left_out", *(f"{name}{end}" for name in SHOWN for end in ENDS), "reason"]
NO_SEED = "no seed has all of its cells"
BY = [*KEYS, "round"]
CHANGES = {
    "measure": "object",
    "rooms": "int64",
    "missing": "int64",
    **dict.fromkeys(("start", "end", "change", "sd", "default", "gap"), "float64"),
    "reason": "object",
}
ALPHA = 0.05
PAIRS = ["field", "value", "other", "other_value", *KEYS, "seeds", *(f"change{end}" for end in ENDS)]
TESTED = ["field", "other", *KEYS, "seeds", "largest", "p", "depends", "reason"]


class CellMeasurement(NamedTuple):
    """A cell: its header, its attitudes by topic, group, party and round, and its changes by topic, group and party."""

    header: Header
    attitudes: pd.DataFrame
    changes: pd.DataFrame


def measure_cell(run: Path) -> CellMeasurement:
    """Measure a finished run folder."""
    tables = load(run)
    # private deliberations rate statements too
    main_question = tables.attitudes["probe"] == tables.header.scenario["probe"]
    tables = replace(tables, attitudes=tables.attitudes[main_question])
    return CellMeasurement(tables.header, cell_attitudes(tables), cell_changes(tables))


def cell_attitudes(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group, party and round: rooms (rated), ratings, missing, attitude, sd, reason.

    attitude: mean over rooms (0-10), agents of a room averaged first; sd: between rooms; reason: why ratings are missing.
    """
    ratings = tables.attitudes
    by = ratings.groupby(BY, sort=False)
    rooms = ratings.groupby([*BY, "room"], sort=False)["attitude"].mean().groupby(level=BY, sort=False)
    table = rooms.agg(rooms="count", attitude="mean", sd="std")
    table["ratings"], table["missing"] = by.size(), by.size() - by["attitude"].count()
    reasons = ratings[ratings["attitude"].isna()].groupby(BY, sort=False)["reason"].agg(count_table)
    table["reason"] = reasons.reindex(table.index).astype("object") if len(reasons) else None
    return table.reset_index()[[*BY, "rooms", "ratings", "missing", "attitude", "sd", "reason"]]


def cell_changes(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and party: measure (`expected` or `rating`), rooms, missing (agents left out), start,
    end, change, sd (of the change, between rooms), default, gap, reason.

    Over the agents rated first and last (0-10); default: the Default's first rating; gap: default less start.
    """
    rows = [_change(cell) for cell in _cells.cells(tables)] if len(tables.attitudes) else []
    return _cells.frame(rows, **CHANGES)


def _change(cell: Cell) -> dict[str, Any]:
    rooms, missing = cell.complete()
    row: dict[str, Any] = {
        **cell.keys, "measure": cell.measure, "rooms": len(rooms), "missing": missing, "default": cell.default,
    }  # fmt: skip
    if rooms.empty:
        return row | {"reason": _cells.NO_AGENT}
    sd = float((rooms.iloc[:, -1] - rooms.iloc[:, 0]).std(ddof=1))
    start, end = float(rooms.iloc[:, 0].mean()), float(rooms.iloc[:, -1].mean())
    gap = None if cell.default is None else cell.default - start
    return row | {"start": start, "end": end, "change": end - start, "sd": sd, "gap": gap, "reason": cell.lacks}


def key_cells(
    cells: Sequence[SweepCell], frames: Mapping[int, pd.DataFrame], stopped: Mapping[int, str]
) -> pd.DataFrame:
    """Return the frames of the cells in one table, with the varied fields, the seed and the folder in front.

    A cell without a frame is one row that says why (`reason`), its numbers missing.
    """
    shape = next(iter(frames.values())).iloc[:0] if frames else pd.DataFrame(columns=["reason"])
    parts = []
    for place, cell in enumerate(cells):
        frame = frames.get(place, shape)
        if frame.empty:
            frame = shape.reindex([0])
            frame["reason"] = stopped.get(place, NO_RATINGS)
        named = {**dict(cell.values), "seed": cell.seed, "folder": cell.folder}
        parts.append(pd.DataFrame({**dict.fromkeys(named), **frame}).assign(**named))
    whole = pd.concat(parts, ignore_index=True).astype({name: "Int64" for name in COUNTS if name in shape})
    for key, _ in cells[0].values:
        numbers = pd.to_numeric(whole[key], errors="coerce")
        whole[key] = whole[key] if numbers.isna().any() else numbers
    return whole


def field_effects(cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]) -> pd.DataFrame:
    """Return a row per varied field, value, topic, group and party: the main effect.

    Each value is averaged over the other fields within a seed first. change: mean over seeds of the change of attitude from the
    first survey to the last (points). toward: the same, positive toward the Default. difference: change minus that at
    the first value of the field, seed by seed. Each with its 95% interval over seeds and its standard deviation (`_sd`).
    left_out: seeds that lack a cell with the value in which these people debate, or its ratings. reason: why there is no change,
    or no difference.
    """
    seeds = len({cell.seed for cell in cells})
    fields = [key for key, _ in cells[0].values] or ["all"]
    lines = list(_lines(cells, changes))
    rows = [
        row | {"left_out": seeds - row["seeds"]}
        for field in fields
        for line in lines
        for row in _effect_rows(line, field, values_of(cells, field))
    ]
    numbers = [name for name in COLUMNS if name.startswith(SHOWN)]
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.astype(dict.fromkeys(numbers, "float64") | {"reason": "object"}) if rows else table


class _Line(NamedTuple):
    """One topic, group and party: its change by seed (rows) and combination (columns), and its planned combinations."""

    keys: tuple[str, ...]
    changes: pd.DataFrame
    plan: pd.DataFrame
    toward: float | None
    """1 when moving up is moving toward the Default in all of the sweep, -1 when down is; None when that is not certain."""

    def by_seed(self, values: Mapping[str, str]) -> pd.Series:
        """Return the change of each seed, averaged over the combinations with these values; NaN where one is missing."""
        names = self.plan.loc[
            np.all([self.plan[field] == value for field, value in values.items()], axis=0), "combination"
        ]
        if len(names):
            return self.changes.reindex(columns=names).mean(axis=1, skipna=False)
        return self.changes.iloc[:, 0] * math.nan


def _lines(cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]) -> Iterator[_Line]:
    parts = [
        measured.changes.assign(seed=cells[place].seed, combination=cells[place].combination)
        for place, measured in changes.items()
    ]
    if not parts:
        return
    table, plan = pd.concat(parts, ignore_index=True), _planned(cells)
    groups = dict(zip(plan["group"], same_settings(plan), strict=True))
    table["group"], plan["group"] = table["group"].map(groups), plan["group"].map(groups)
    plans = dict(iter(plan.groupby(list(KEYS))))
    for keys, group_changes in table.groupby(list(KEYS), sort=False):
        toward = direction(group_changes.groupby("seed")["gap"].mean().dropna().to_numpy(dtype=float))
        yield _Line(
            keys, group_changes.pivot(index="seed", columns="combination", values="change"), plans[keys], toward
        )


def _planned(cells: Sequence[SweepCell]) -> pd.DataFrame:
    """Return a row per combination, topic, group and party with a seat, finished or not, with the values of the fields."""
    combined = {cell.combination: cell for cell in cells}
    rows = [
        {
            "all": "all",
            **dict(cell.values),
            "combination": name,
            "topic": topic.slug,
            "group": group.name,
            "party": party,
        }
        for name, cell in combined.items()
        for topic, group in product(cell.combined.subject.all_topics, cell.combined.groups)
        for party in dict.fromkeys(map(party_of, group.seats))
    ]
    return pd.DataFrame(rows)


def same_settings(table: pd.DataFrame) -> pd.Series:
    """Return groups named by who sits there, when cells have different groups: `labour*+default` for a varied size.

    The names stay when all combinations have the same groups, or when two groups of a cell would get the same name.
    """
    each = table.groupby("combination")["group"].agg(frozenset)
    seats = {group: group.split("+") for group in table["group"].unique()}
    many = {seat for group in seats.values() for seat in group if group.count(seat) > 1}
    kinds = {
        group: "+".join(f"{seat}{MANY * (seat in many)}" for seat in dict.fromkeys(members))
        for group, members in seats.items()
    }
    if each.nunique() == 1 or any(len({kinds[group] for group in groups}) < len(groups) for groups in each):
        return table["group"]
    return table["group"].map(kinds)


def title_cells(group: str, names: PartyNames = NO_NAMES) -> str:
    """`labour*+default` -> `Any number of Labours and a Default`. names: of parties."""
    several = [seat.removesuffix(MANY) for seat in group.split("+") if seat.endswith(MANY)]
    if not several:
        return group_title(group, names)
    seats = [f"any number of {group_title(f'2 {seat}', names).partition(' ')[2]}" for seat in several]
    if rest := "+".join(seat for seat in group.split("+") if not seat.endswith(MANY)):
        title = group_title(rest, names)
        seats.append(title[:1].lower() + title[1:])
    text = join_phrases(seats)
    return text[0].upper() + text[1:]


def values_of(cells: Sequence[SweepCell], field: str) -> list[str]:
    """Return the values of a field, in the order given."""
    return list(dict.fromkeys(dict(cell.values).get(field, "all") for cell in cells))


def _effect_rows(line: _Line, field: str, values: Sequence[str]) -> Iterator[dict[str, Any]]:
    means = {value: line.by_seed({field: value}).dropna() for value in values}
    first = values[0]
    for value in values:
        if value not in set(line.plan[field]):
            continue
        mine = means[value]
        row: dict[str, Any] = dict(zip(("field", "value", *KEYS), (field, value, *line.keys), strict=True))
        row |= {"seeds": len(mine), **_statistics("change", mine), "reason": None if len(mine) else NO_SEED}
        if line.toward:
            row |= _statistics("toward", line.toward * mine)
        if value != first and len(mine):
            differences = (mine - means[first]).dropna()
            row |= _statistics("difference", differences)
            row["reason"] = None if len(differences) else f"difference: no seed has all cells of {field}={first} too"
        yield row


def _statistics(name: str, values: pd.Series) -> dict[str, float]:
    """Return mean, low, high and standard deviation under their column names; nothing without values."""
    if values.empty:
        return {}
    numbers = values.to_numpy(dtype=float)
    sd = float(numbers.std(ddof=1)) if len(numbers) > 1 else math.nan
    return dict(zip((f"{name}{end}" for end in ENDS), (numbers.mean(), *mean_interval(numbers), sd), strict=True))


def pair_means(cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]) -> pd.DataFrame:
    """Return a row per pair of fields, their values, topic, group and party: mean change over seeds with its 95% interval.

    Averaged over the remaining fields within a seed first, over the seeds that have all of these cells (`seeds`). change_sd: over
    seeds. Empty with fewer than two varied fields.
    """
    rows = []
    for line in _lines(cells, changes):
        for field, other in _pairs(cells):
            for value, other_value in product(values_of(cells, field), values_of(cells, other)):
                means = line.by_seed({field: value, other: other_value}).dropna()
                keys = (field, value, other, other_value, *line.keys, len(means))
                rows.append(dict(zip(PAIRS, keys, strict=False)) | _statistics("change", means))
    return pd.DataFrame(rows, columns=PAIRS)


def interactions(cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]) -> pd.DataFrame:
    """Return a row per pair of fields, topic, group and party: whether the effect of one field depends on the other.

    A contrast is the effect of a value of one field (minus that of its first value) at a value of the other, minus the same at
    the other's first value, seed by seed. largest: the contrast farthest from 0 (points). p: the smallest of all contrasts, each
    Student's t, corrected by Holm. depends: p below .05; NaN with a reason below 5 seeds.
    """
    rows = [
        [*pair, *line.keys, *_test_contrasts(list(_contrasts(cells, line, *pair)))]
        for line in _lines(cells, changes)
        for pair in _pairs(cells)
    ]
    table = pd.DataFrame(rows, columns=TESTED)
    return table.astype({"largest": "float64", "p": "float64", "depends": "boolean"})


def _pairs(cells: Sequence[SweepCell]) -> Iterator[tuple[str, str]]:
    return combinations([key for key, _ in cells[0].values], 2)


def _contrasts(cells: Sequence[SweepCell], line: _Line, field: str, other: str) -> Iterator[Floats]:
    (first, *values), (other_first, *other_values) = values_of(cells, field), values_of(cells, other)
    for value, other_value in product(values, other_values):
        at = {pair: line.by_seed(dict(zip((field, other), pair, strict=True)))
              for pair in product((first, value), (other_first, other_value))}  # fmt: skip
        effect = at[value, other_value] - at[first, other_value]
        yield (effect - (at[value, other_first] - at[first, other_first])).dropna().to_numpy(dtype=float)


def _test_contrasts(contrasts: Sequence[Floats]) -> list[Any]:
    """Return seeds, largest, p, depends, reason."""
    with_seeds = [values for values in contrasts if len(values)]
    if not with_seeds:
        return [0, math.nan, math.nan, pd.NA, "no seed has all of the cells"]
    seeds, largest = max(map(len, with_seeds)), max((float(values.mean()) for values in with_seeds), key=abs)
    varied = [values for values in with_seeds if not why_no_interval(values, "seed")]
    if not varied:
        return [seeds, largest, math.nan, pd.NA, why_no_interval(with_seeds[0], "seed")]
    p = float(min(multipletests([ttest_1samp(values, 0).pvalue for values in varied], method="holm")[1]))
    return [seeds, largest, p, p < ALPHA, ""]
