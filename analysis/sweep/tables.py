"""The tables of a sweep: every cell, and the effect of each varied field with intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import mean_interval
from analysis.metrics._cells import KEYS
from analysis.sweep.measure import Measured
from analysis.wording import group_title, listed
from model.sweep.cells import Cell

ENDS = ("", "_low", "_high")
MANY = "*"
COUNTS = ("round", "rooms", "ratings", "missing")
NO_RATINGS = "no ratings to measure it by"
SHOWN = ("change", "toward", "difference")
COLUMNS = ["field", "value", *KEYS, "seeds", "left_out", *(f"{name}{end}" for name in SHOWN for end in ENDS)]


def keyed(cells: Sequence[Cell], frames: Mapping[int, pd.DataFrame], stopped: Mapping[int, str]) -> pd.DataFrame:
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


def effects(cells: Sequence[Cell], changes: Mapping[int, Measured]) -> pd.DataFrame:
    """One row a varied field, value, topic, group and party: the main effect, averaged over the other fields within a seed first.

    change: mean over seeds of the change of attitude from the first survey to the last (points). toward: the same, positive
    toward the Default's level. difference: change less that at the first value of the field, seed by seed. Each with its
    95% bootstrap interval over seeds. left_out: seeds that lack a cell or its ratings.
    """
    parts = [
        found.changes.assign(seed=cells[place].seed, combination=cells[place].combination, **dict(cells[place].values))
        for place, found in changes.items()
    ]
    if not parts:
        return pd.DataFrame(columns=COLUMNS)
    table, seeds = pd.concat(parts, ignore_index=True), len({cell.seed for cell in cells})
    table["group"] = alike(table)
    fields = [key for key, _ in cells[0].values] or ["all"]
    table["all"] = "all"
    rows = [
        row for line, part in table.groupby(list(KEYS), sort=False) for row in _line(line, part, fields, cells, seeds)
    ]
    found = pd.DataFrame(rows, columns=COLUMNS)
    numbers = [name for name in COLUMNS if name.startswith(SHOWN)]
    order = {field: place for place, field in enumerate(fields)}
    return found.astype(dict.fromkeys(numbers, "float64")).sort_values(
        "field", key=lambda name: name.map(order), kind="stable"
    )


def alike(table: pd.DataFrame) -> pd.Series:
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


def titled(group: str) -> str:
    """`republican*+default` -> `Any number of Republicans and a Default`."""
    seats = [f"any number of {seat.removesuffix(MANY).title()}s" for seat in group.split("+") if seat.endswith(MANY)]
    rest = "+".join(seat for seat in group.split("+") if not seat.endswith(MANY))
    if not seats:
        return group_title(group)
    text = listed([*seats, *([group_title(rest)[:1].lower() + group_title(rest)[1:]] if rest else [])])
    return text[0].upper() + text[1:]


def values_of(cells: Sequence[Cell], field: str) -> list[str]:
    """The values of a field, in the order given."""
    return list(dict.fromkeys(dict(cell.values).get(field, "all") for cell in cells))


def _line(
    line: Any, part: pd.DataFrame, fields: Sequence[str], cells: Sequence[Cell], seeds: int
) -> Iterator[dict[str, Any]]:
    side = _side(part)
    for field in fields:
        first = None
        for value in values_of(cells, field):
            here = part[part[field] == value]
            if here.empty:
                continue
            means = here.pivot(index="seed", columns="combination", values="change").dropna().mean(axis=1)
            keys = (field, value, *line)
            row = dict(zip(("field", "value", *KEYS), keys, strict=True))
            row |= {"seeds": len(means), "left_out": seeds - len(means), **_told("change", means, keys)}
            if side:
                row |= _told("toward", side * means, keys)
            if first is not None:
                row |= _told("difference", (means - first).dropna(), keys)
            first = means if first is None else first
            yield row


def _side(part: pd.DataFrame) -> float | None:
    """1 when moving up is moving toward the Default for this line in all of the sweep; None when the gaps do not tell."""
    gaps = part.groupby("seed")["gap"].mean().dropna().to_numpy(dtype=float)
    if not len(gaps):
        return None
    low, high = mean_interval(gaps, "gap", *part[list(KEYS)].iloc[0])
    return None if low <= 0 <= high else float(np.sign(gaps.mean()))


def _told(name: str, values: pd.Series, keys: tuple[str, ...]) -> dict[str, float]:
    if values.empty:
        return {}
    numbers = values.to_numpy(dtype=float)
    return dict(
        zip((f"{name}{end}" for end in ENDS), (numbers.mean(), *mean_interval(numbers, name, *keys)), strict=True)
    )
