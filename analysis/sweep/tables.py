"""The tables of a sweep: every cell, and the effect of each varied field with intervals over seeds.

What is measured of one cell, from its record.

How two varied fields work together: cell means of every pair, and whether the effect of one depends on the other.

A main effect averages over the other fields. Where 8 rounds instead of 2 add 0 points with a short memory and 2.5 with a whole
one, their mean, 1.3, is the effect of neither.
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
from parley.analysis.bootstrap import Floats, mean_interval, why_no_interval
from parley.analysis.formatting import count_table, group_title, join_phrases
from parley.analysis.metrics._cells import KEYS, NO_AGENT, Cell, cells, direction
from parley.analysis.tables import Tables, load
from parley.model.events import Header
from parley.model.scenario import Scenario
from parley.model.sweep.design import SweepCell

ENDS = ("", "_low", "_high", "_sd")
MANY = "*"
COUNTS = ("round", "rooms", "ratings", "missing")
NO_RATINGS = "no ratings to measure it by"
SHOWN = ("change", "toward", "difference")
COLUMNS = ["field", "value", *KEYS, "seeds", "left_out", *(f"{name}{end}" for name in SHOWN for end in ENDS), "reason"]
NO_SEED = "no seed has all of its cells"


def key_cells(
    cells: Sequence[SweepCell], frames: Mapping[int, pd.DataFrame], stopped: Mapping[int, str]
) -> pd.DataFrame:
    """The frames of the cells under each other, the varied fields, the seed and the folder in front.

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
    return whole.assign(**{key: _typed(whole[key]) for key, _ in cells[0].values})


def _typed(values: pd.Series) -> pd.Series:
    """Numbers, where all of them are."""
    numbers = pd.to_numeric(values, errors="coerce")
    return values if numbers.isna().any() else numbers


def field_effects(cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]) -> pd.DataFrame:
    """One row a varied field, value, topic, group and party: the main effect, averaged over the other fields within a seed first.

    change: mean over seeds of the change of attitude from the first survey to the last (points). toward: the same, positive
    toward the Default's level. difference: change less that at the first value of the field, seed by seed. Each with its
    95% interval over seeds and its standard deviation (`_sd`). left_out: seeds that lack the cell, or its ratings, of any
    combination with the value in which these people debate this. reason: why there is no change, or no difference.
    """
    seeds = len({cell.seed for cell in cells})
    table, expected = _together(cells, changes)
    if table.empty:
        return pd.DataFrame(columns=COLUMNS)
    fields = [key for key, _ in cells[0].values] or ["all"]
    rows = [
        row | {"left_out": seeds - row["seeds"]}
        for line, part in table.groupby(list(KEYS), sort=False)
        for field in fields
        for row in _line(line, part, expected[line], field, values_of(cells, field))
    ]
    found = pd.DataFrame(rows, columns=COLUMNS)
    numbers = [name for name in COLUMNS if name.startswith(SHOWN)]
    order = {field: place for place, field in enumerate(fields)}
    return found.astype(dict.fromkeys(numbers, "float64") | {"reason": "object"}).sort_values(
        "field", key=lambda name: name.map(order), kind="stable"
    )


def gather_cells(
    cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]
) -> Iterator[tuple[tuple[str, ...], pd.DataFrame, pd.DataFrame]]:
    """For each topic, group and party: its keys, its change by seed (rows) and combination (columns), and its combinations."""
    table, expected = _together(cells, changes)
    for keys, part in table.groupby(list(KEYS), sort=False):
        yield keys, part.pivot(index="seed", columns="combination", values="change"), expected[keys]


def _together(
    cells: Sequence[SweepCell], changes: Mapping[int, CellMeasurement]
) -> tuple[pd.DataFrame, dict[Any, pd.DataFrame]]:
    """The changes of all cells with seed and combination, and the combinations planned for each topic, group and party."""
    parts = [
        found.changes.assign(seed=cells[place].seed, combination=cells[place].combination)
        for place, found in changes.items()
    ]
    if not parts:
        return pd.DataFrame(columns=[*KEYS]), {}
    table, plan = pd.concat(parts, ignore_index=True), _planned(cells)
    called = dict(zip(plan["group"], same_settings(plan), strict=True))
    table["group"], plan["group"] = table["group"].map(called), plan["group"].map(called)
    return table, dict(iter(plan.groupby(list(KEYS))))


def _planned(cells: Sequence[SweepCell]) -> pd.DataFrame:
    """One row a combination, topic, group and party that sits there, finished or not, with the values of the fields."""
    combinations = {cell.combination: cell for cell in cells}
    rows = [
        {"all": "all", **dict(cell.values), "combination": name, **dict(zip(KEYS, line, strict=True))}
        for name, cell in combinations.items()
        for line in _lines(cell.combined)
    ]
    return pd.DataFrame(rows)


def _lines(scenario: Scenario) -> Iterator[tuple[str, str, str]]:
    for topic, group in product(scenario.subject.all_topics, scenario.groups):
        for party in dict.fromkeys(map(party_of, group.seats)):
            yield topic.slug, group.name, party


def same_settings(table: pd.DataFrame) -> pd.Series:
    """Groups by who sits there, where cells have other groups: a varied size gives `republican*+default` for any number of them.

    As they are, where all combinations have the same groups, or one cell would have two groups alike.
    """
    each = table.groupby("combination")["group"].agg(frozenset)
    seats = {group: group.split("+") for group in table["group"].unique()}
    many = {seat for found in seats.values() for seat in found if found.count(seat) > 1}
    kinds = {
        group: "+".join(f"{seat}{MANY * (seat in many)}" for seat in dict.fromkeys(found))
        for group, found in seats.items()
    }
    if each.nunique() == 1 or any(len({kinds[group] for group in groups}) < len(groups) for groups in each):
        return table["group"]
    return table["group"].map(kinds)


def title_cells(group: str) -> str:
    """`republican*+default` -> `Any number of Republicans and a Default`."""
    seats = [f"any number of {seat.removesuffix(MANY).title()}s" for seat in group.split("+") if seat.endswith(MANY)]
    rest = "+".join(seat for seat in group.split("+") if not seat.endswith(MANY))
    if not seats:
        return group_title(group)
    text = join_phrases([*seats, *([group_title(rest)[:1].lower() + group_title(rest)[1:]] if rest else [])])
    return text[0].upper() + text[1:]


def values_of(cells: Sequence[SweepCell], field: str) -> list[str]:
    """The values of a field, in the order given."""
    return list(dict.fromkeys(dict(cell.values).get(field, "all") for cell in cells))


def _line(
    line: Any, part: pd.DataFrame, plan: pd.DataFrame, field: str, values: Sequence[str]
) -> Iterator[dict[str, Any]]:
    side, wide = _side(part), part.pivot(index="seed", columns="combination", values="change")
    asked = {value: plan.loc[plan[field] == value, "combination"] for value in values}
    means = {value: wide.reindex(columns=names).dropna().mean(axis=1) for value, names in asked.items()}
    first = values[0]
    for value in [value for value in values if len(asked[value])]:
        keys, mine = (field, value, *line), means[value]
        row = {**dict(zip(("field", "value", *KEYS), keys, strict=True)), "seeds": len(mine)}
        row |= {**_told("change", mine), "reason": None if len(mine) else NO_SEED}
        if side:
            row |= _told("toward", side * mine)
        if value != first and len(mine):
            apart = (mine - means[first]).dropna()
            row |= _told("difference", apart)
            row["reason"] = None if len(apart) else f"difference: no seed has all cells of {field}={first} too"
        yield row


def _side(part: pd.DataFrame) -> float | None:
    """1 when moving up is moving toward the Default for this line in all of the sweep; None when the gaps do not tell."""
    gaps = part.groupby("seed")["gap"].mean().dropna().to_numpy(dtype=float)
    return direction(gaps)


def _told(name: str, values: pd.Series) -> dict[str, float]:
    if values.empty:
        return {}
    numbers = values.to_numpy(dtype=float)
    sd = float(numbers.std(ddof=1)) if len(numbers) > 1 else math.nan
    return dict(zip((f"{name}{end}" for end in ENDS), (numbers.mean(), *mean_interval(numbers), sd), strict=True))


BY = [*KEYS, "round"]


class CellMeasurement(NamedTuple):
    """A cell: its header, its attitudes by topic, group, party and round, and its changes by topic, group and party."""

    header: Header
    attitudes: pd.DataFrame
    changes: pd.DataFrame


def measure_cell(run: Path) -> CellMeasurement:
    """Measure a finished run folder."""
    tables = load(run)
    own = tables.attitudes["probe"] == tables.header.scenario["probe"]  # private deliberations rate statements too
    tables = replace(tables, attitudes=tables.attitudes[own])
    return CellMeasurement(tables.header, cell_attitudes(tables), cell_changes(tables))


def cell_attitudes(tables: Tables) -> pd.DataFrame:
    """One row a topic, group, party and round: rooms (rated), ratings, missing, attitude, sd, reason.

    attitude: mean over rooms (0-10), agents of a room averaged first; sd: between rooms; reason: why ratings are missing.
    """
    ratings = tables.attitudes
    by = ratings.groupby(BY, sort=False)
    rooms = ratings.groupby([*BY, "room"], sort=False)["attitude"].mean().groupby(level=BY, sort=False)
    found = rooms.agg(rooms="count", attitude="mean", sd="std")
    found["ratings"], found["missing"] = by.size(), by.size() - by["attitude"].count()
    reasons = ratings[ratings["attitude"].isna()].groupby(BY, sort=False)["reason"].agg(count_table)
    found["reason"] = reasons.reindex(found.index).astype("object") if len(reasons) else None
    return found.reset_index()[[*BY, "rooms", "ratings", "missing", "attitude", "sd", "reason"]]


def cell_changes(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and party: measure (`expected` or `rating`), rooms, missing (agents left out), start,
    end, change, sd (of the change, between rooms), default, gap, reason.

    Over the agents rated first and last (0-10); default: the Default's level before the debates; gap: default less start.
    """
    rows = [_change(cell) for cell in cells(tables)] if len(tables.attitudes) else []
    kinds = {
        "measure": "object",
        "rooms": "int64",
        "missing": "int64",
        **dict.fromkeys(NUMBERS, "float64"),
        "reason": "object",
    }
    return pd.DataFrame(rows, columns=[*KEYS, *kinds]).astype(dict.fromkeys(KEYS, "object") | kinds)


NUMBERS = ("start", "end", "change", "sd", "default", "gap")


def _change(cell: Cell) -> dict[str, Any]:
    rooms, missing = cell.complete()
    row: dict[str, Any] = {
        **cell.keys,
        "measure": cell.measure,
        "rooms": len(rooms),
        "missing": missing,
        "default": cell.default,
    }
    if rooms.empty:
        return row | {"reason": NO_AGENT}
    sd = float((rooms.iloc[:, -1] - rooms.iloc[:, 0]).std(ddof=1))
    start, end = float(rooms.iloc[:, 0].mean()), float(rooms.iloc[:, -1].mean())
    gap = None if cell.default is None else cell.default - start
    return row | {"start": start, "end": end, "change": end - start, "sd": sd, "gap": gap, "reason": cell.lacks}


ALPHA = 0.05
FIELDS = ["field", "value", "other", "other_value"]
INTERACTION_COLUMNS = [*FIELDS, *KEYS, "seeds", "change", "change_low", "change_high", "change_sd"]
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
    return pd.DataFrame(rows, columns=INTERACTION_COLUMNS)


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
