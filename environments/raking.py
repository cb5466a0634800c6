"""Rakes the weights of respondents to known margins, and says how much a sample with weights is worth.

Raking (Deming and Stephan 1940) multiplies each weight by one factor per variable, such as one for the sex and one for
the age of a respondent, so that the weighted share of each value is the known one. It is the calibration of Deville and
Särndal 1992 (Journal of the American Statistical Association 87: 376-382) with an exponential factor, so its factors are
the minimum of a convex function, which scipy.optimize finds. Iterative proportional fitting has the same result, but
stops at a wrong one where margins contradict each other; a linear program tells this before.

Known margins of a population, such as the shares of women and men, and the raking of a survey to them.

A table of margins has the columns variable (a column of the survey), value (as the survey writes it) and share (part of 1).
Errors are ValueErrors of one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

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
    margins: dict[str, dict[str, float]] = {}
    shares = read.numbers(table["share"], "share", f"share in {path}").tolist()
    for variable, value, share in zip(table["variable"].to_pylist(), table["value"].to_pylist(), shares, strict=True):
        if not 0 < share <= 1:
            raise ValueError(f"{path}: the share of {variable} {value} is {share:g}, but must be above 0 and at most 1")
        if value in margins.setdefault(variable, {}):
            raise ValueError(f"{path} has two shares of {variable} {value}: keep one")
        margins[variable][value] = share
    if not margins:
        raise ValueError(f"{path} has no rows below its header: add a row for each value of each variable")
    return {variable: _sum_to_one(path, variable, values) for variable, values in margins.items()}


def _sum_to_one(path: str, variable: str, shares: Mapping[str, float]) -> dict[str, float]:
    total = sum(shares.values())
    if abs(total - 1) > ROUNDING:
        raise ValueError(f"{path}: the shares of {variable} add up to {total:.4g}, but must add up to 1")
    return {value: share / total for value, share in shares.items()}


def rake_to_margins(weights: Floats, answers: pa.Table, target_margins: Margins) -> tuple[Floats, tuple[Margin, ...]]:
    """Return (n,) raked weights with mean 1, and the margins before and after.

    answers: of all respondents, with a column for each variable. Errors: ValueError where a respondent has a value without
    a known share, a value has no respondent, or no weights meet all margins.
    """
    if not target_margins:
        return weights / weights.mean(), ()
    codes = [_places(answers[variable], variable, list(shares)) for variable, shares in target_margins.items()]
    wanted = [np.array(list(shares.values())) for shares in target_margins.values()]
    raked = rake(weights, codes, wanted)
    margins = []
    for (variable, shares), places in zip(target_margins.items(), codes, strict=True):
        reached = [_shares(weighting, places, len(shares)) for weighting in (weights, raked)]
        rows = zip(shares.items(), *reached, strict=True)
        margins += [Margin(variable, value, share, before, after) for (value, share), before, after in rows]
    return raked, tuple(margins)


def _places(texts: pa.ChunkedArray, variable: str, values: list[str]) -> Codes:
    """Return (n,) the place of each respondent's value among those with a known share. Errors: ValueError."""
    positions = pc.index_in(texts, value_set=pa.array(values, pa.string()))
    if positions.null_count:
        stranger = pc.filter(texts, pc.is_null(positions))[0].as_py()
        raise ValueError(
            f"{variable} has the value {stranger!r}, but the margins have no share for it: add this share, or "
            f"leave these respondents out with missing={stranger}"
        )
    places = np.asarray(positions.to_numpy(), dtype=np.int64)
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


Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

TOLERANCE = 1e-6
"""The largest difference between a share that is known and the share that is reached."""
LEAST = 1e-6
"""Raking may divide the weight of a group of respondents by at most a million."""


def rake(weights: Floats, codes: Sequence[Codes], shares: Sequence[Floats]) -> Floats:
    """Return (n,) raked weights, with mean 1.

    weights: (n,) above 0. codes: for each variable (n,) the place of each respondent's value. shares: for each variable
    the known share of each value, above 0, with sum 1. Errors: ValueError if no weights above 0 have these margins.

    >>> rake(np.ones(4), [np.array([0, 0, 0, 1])], [np.array([0.5, 0.5])]).round(3)
    array([0.667, 0.667, 0.667, 2.   ])
    """
    groups, members = _group(codes)
    before = np.bincount(members, weights) / weights.sum()
    design, wanted = _design(groups, shares)
    even: Floats = weights / weights.mean()
    if not len(wanted):  # each variable has one value
        return even
    factors = _factors(before, design, wanted) if _is_possible(before, design, wanted) else np.zeros(len(before))
    if np.min(factors) < LEAST:
        raise ValueError(
            "no weights above 0 reach all margins at once, because some combinations of values do not occur among "
            "the respondents: leave out a variable, or merge values"
        )
    if (miss := np.abs(design @ (before * factors) - wanted).max()) > TOLERANCE:
        raise ValueError(f"raking did not converge (a share misses its margin by {miss:.2g}): merge rare values")
    raked: Floats = even * factors[members]
    raked /= raked.mean()
    return raked


def _group(codes: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Return (variables, m) the values of each group of respondents who share all values, and (n,) the group of each."""
    members = np.zeros(len(codes[0]), dtype=np.int64)
    for variable_codes in codes:
        combined = members * (int(np.max(variable_codes)) + 1) + variable_codes
        _, first, members = np.unique(combined, return_index=True, return_inverse=True)
    return np.stack(codes)[:, first], members


def _design(groups: Codes, shares: Sequence[Floats]) -> tuple[sparse.csr_array, Floats]:
    """Return (k, m) which of m groups have each value but the first of its variable, and (k,) the known share of it."""
    rows = [
        groups[number] == value
        for number, variable_shares in enumerate(shares)
        for value in range(1, len(variable_shares))
    ]
    matrix = np.array(rows, dtype=float).reshape(-1, groups.shape[1])
    return sparse.csr_array(matrix), np.concatenate([variable_shares[1:] for variable_shares in shares])


def _is_possible(before: Floats, design: sparse.csr_array, wanted: Floats) -> bool:
    """Return whether some shares of groups, each at least LEAST of the share before, have the wanted margins.

    The program looks for the largest part `least` such that every group keeps at least this part of its share.
    """
    from scipy.optimize import linprog  # here, because it takes half a second, which the first screen of the page lacks

    size = len(before)
    shares = sparse.vstack([design, np.ones((1, size))]).tocsr()
    equal = sparse.hstack([shares, sparse.csr_array((shares.shape[0], 1))])
    keep = sparse.hstack([-sparse.eye_array(size), sparse.csr_array(before[:, None])])
    gain = np.append(np.zeros(size), -1.0)
    solution = linprog(gain, keep, np.zeros(size), equal, np.append(wanted, 1.0), (0, 1), method="highs")
    return bool(solution.status == 0 and -solution.fun > LEAST)


def _factors(before: Floats, design: sparse.csr_array, wanted: Floats) -> Floats:
    """Return (m,) the factor of each group: exp of the sum of the parts of its values, scaled to shares with sum 1."""
    from scipy.optimize import minimize

    def shares(parts: Floats) -> tuple[Floats, float]:
        exponents = design.T @ parts
        top = float(exponents.max())  # taken off, so that no exponential overflows; the logarithm gets it back
        scaled = before * np.exp(exponents - top)
        return scaled / scaled.sum(), top + float(np.log(scaled.sum()))

    def value(parts: Floats) -> float:
        return shares(parts)[1] - float(wanted @ parts)

    def slope(parts: Floats) -> Floats:
        gap: Floats = design @ shares(parts)[0] - wanted
        return gap

    def curvature(parts: Floats) -> Floats:
        now = shares(parts)[0]
        mean, spread = design @ now, (design * now) @ design.T
        curved: Floats = spread.toarray() - np.outer(mean, mean)
        return curved

    start = np.zeros(len(wanted))
    options = {"gtol": 1e-12, "maxiter": 1000}
    solution = minimize(value, start, jac=slope, hess=curvature, method="trust-exact", options=options)
    factors: Floats = shares(solution.x)[0] / before
    return factors


def kish_size(weights: Floats) -> float:
    """Return how many respondents of equal weight the sample is worth (Kish 1965): (sum w)² / sum w².

    >>> kish_size(np.array([1.0, 1.0, 1.0, 3.0]))
    3.0
    """
    return float(weights.sum() ** 2 / (weights**2).sum())
