"""Known margins of a population, such as the shares of women and men, and the raking of a survey to them.

A table of margins has the columns variable (a column of the survey), value (as the survey writes it) and share (part of 1).
Errors are ValueErrors of one line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parley.environments.raking import Codes, Floats, rake
from parley.environments.text_columns import read_columns

COLUMNS = ("variable", "value", "share")
ROUNDING = 0.005
"""The shares of a variable may miss 1 by this, because tables round them; they are then divided by their sum."""

Margins = Mapping[str, Mapping[str, float]]
"""The known share of each value, by variable."""


class Margin(NamedTuple):
    """A known share of a value, and the weighted share among the respondents before and after raking."""

    variable: str
    value: str
    share: float
    before: float
    after: float

    @property
    def miss(self) -> float:
        """How far the raked share is from the known one."""
        return abs(self.after - self.share)


def read_margins(path: str) -> Margins:
    """Return the known shares of a table; those of a variable sum to 1. Errors: OSError, UserError, ValueError."""
    read = read_columns(path, COLUMNS)
    table = read.table
    if any(table[name].null_count for name in COLUMNS):
        raise ValueError(f"{path} has a line without a {next(name for name in COLUMNS if table[name].null_count)}")
    known: dict[str, dict[str, float]] = {}
    shares = read.numbers(table["share"], "share", f"share in {path}").tolist()
    for variable, value, share in zip(table["variable"].to_pylist(), table["value"].to_pylist(), shares, strict=True):
        if not 0 < share <= 1:
            raise ValueError(f"{path}: the share of {variable} {value} must be above 0 and at most 1, not {share:g}")
        if value in known.setdefault(variable, {}):
            raise ValueError(f"{path} has two shares of {variable} {value}: keep one")
        known[variable][value] = share
    if not known:
        raise ValueError(f"{path} has no line below the names of its columns")
    return {variable: _sum_to_one(path, variable, values) for variable, values in known.items()}


def _sum_to_one(path: str, variable: str, shares: Mapping[str, float]) -> dict[str, float]:
    total = sum(shares.values())
    if abs(total - 1) > ROUNDING:
        raise ValueError(f"{path}: the shares of {variable} sum to {total:.4g}, but must sum to 1")
    return {value: share / total for value, share in shares.items()}


def rake_to_margins(weights: Floats, answers: pa.Table, known: Margins) -> tuple[Floats, tuple[Margin, ...]]:
    """Return (n,) raked weights with mean 1, and the margins before and after.

    answers: of all respondents, with a column for each variable. Errors: ValueError where a respondent has a value without
    a known share, a value has no respondent, or no weights meet all margins.
    """
    if not known:
        return weights / weights.mean(), ()
    codes = [_places(answers[variable], variable, list(shares)) for variable, shares in known.items()]
    wanted = [np.array(list(shares.values())) for shares in known.values()]
    raked = rake(weights, codes, wanted)
    margins = []
    for (variable, shares), places in zip(known.items(), codes, strict=True):
        reached = [_shares(one, places, len(shares)) for one in (weights, raked)]
        rows = zip(shares.items(), *reached, strict=True)
        margins += [Margin(variable, value, share, before, after) for (value, share), before, after in rows]
    return raked, tuple(margins)


def _places(texts: pa.ChunkedArray, variable: str, values: list[str]) -> Codes:
    """Return (n,) the place of each respondent's value among those with a known share. Errors: ValueError."""
    found = pc.index_in(texts, value_set=pa.array(values, pa.string()))
    if found.null_count:
        stranger = pc.filter(texts, pc.is_null(found))[0].as_py()
        raise ValueError(
            f"{variable} has the value {stranger!r}, but the margins give no share of it: add its share, "
            f"or leave these respondents out with missing={stranger}"
        )
    places = np.asarray(found.to_numpy(), dtype=np.int64)
    if empty := [
        value for value, number in zip(values, np.bincount(places, minlength=len(values)), strict=True) if not number
    ]:
        raise ValueError(
            f"no respondent has the {variable} {empty[0]!r} of the margins: correct the value, or merge it with another"
        )
    return places


def _shares(weights: Floats, places: Codes, size: int) -> list[float]:
    shares: list[float] = (np.bincount(places, weights, size) / weights.sum()).tolist()
    return shares
