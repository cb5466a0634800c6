"""Correlations of measured quantities, corrected for their measurement error by repeated measurements of the same units.

Error makes a correlation smaller: r of the true values is r of the measured means divided by the root of the product of their
reliabilities (Spearman 1904, American Journal of Psychology 15(1), 72-101). A reliability is the share of the variance of the
means of units that is not error; the error comes from the differences between measurements of one unit. Intervals leave out one
unit at a time, or one room of units (`intervals.interval`); that of a reliability is on the scale of the logarithm of the share
of error, so that none ends above 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from parley.analysis.formatting import format_estimate, format_number
from parley.analysis.statistics.intervals import NONE, Ends, Floats, correlation, correlation_interval, interval
from parley.analysis.unknown import clause, unknown_sentence

FEWEST_UNITS, FEWEST_REPEATED, FEWEST_ROOMS = 20, 10, 10
"""Units that the correction needs, units with two or more measurements that a reliability needs, and rooms, if any."""
LEAST = 0.3
"""A quantity of lower reliability is mostly error: the correction would multiply what is left of it by chance."""


@dataclass(frozen=True)
class Reliability:
    """Reliability of the means of a quantity's measurements, with its interval; value 1 where it is taken as exact."""

    value: float
    ends: Ends = NONE
    exact: bool = False


@dataclass(frozen=True)
class Corrected:
    """observed: r of the means of units; value: r corrected for error; both with intervals. reason: why the value is unknown."""

    units: int
    observed: float
    observed_ends: Ends
    reliabilities: tuple[Reliability, Reliability]
    value: float = math.nan
    ends: Ends = NONE
    reason: str = ""


def correct_correlation(first: Floats, second: Floats, rooms: Sequence[object] | None = None) -> Corrected:
    """Return the correlation of two quantities, measured (units, asks) with NaN where a measurement is missing.

    A quantity with one column is taken as exact: only the error of the other is removed. Units without a value of one of the
    two are left out. rooms: the room of each unit, where units of a room are not independent; intervals are then over rooms.
    The corrected value can be above 1.
    """
    both_measured = np.isfinite(first).any(axis=1) & np.isfinite(second).any(axis=1)
    first, second = first[both_measured], second[both_measured]
    terms = _terms(first, second)
    sums = terms if rooms is None else _by_room(terms, [rooms[int(place)] for place in np.flatnonzero(both_measured)])
    r = float(correlation(sums[:, :6].sum(axis=0))) if len(terms) > 1 else math.nan
    blank = (Reliability(math.nan), Reliability(math.nan))
    observed = Corrected(len(terms), r, correlation_interval(sums[:, :6]), blank)
    if reason := _why_unknown(first, second, r) or _why_few_rooms(rooms is not None, len(sums)):
        return Corrected(observed.units, r, observed.observed_ends, blank, reason=reason)
    whole = _estimates(sums[None])[0]
    both = [
        Reliability(1.0, exact=True)
        if measurements.shape[1] == 1
        else Reliability(float(whole[place]), _reliability_interval(place, sums))
        for place, measurements in enumerate((first, second))
    ]
    reliabilities = (both[0], both[1])
    if reason := next((text for text in map(_doubt, reliabilities) if text), ""):
        return Corrected(observed.units, r, observed.observed_ends, reliabilities, reason=reason)
    ends = interval(sums, partial(_estimate, 2), sums[:, 0])
    return Corrected(observed.units, r, observed.observed_ends, reliabilities, float(whole[2]), ends)


def _terms(first: Floats, second: Floats) -> Floats:
    """Return per unit 1, the means x and y, xx, yy, xy, and the error variances of the means of x and y, (units, 8)."""
    (x, x_error), (y, y_error) = _means(first), _means(second)
    return np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y, x_error, y_error])


def _by_room(terms: Floats, rooms: Sequence[object]) -> Floats:
    sums: Floats = pd.DataFrame(terms).groupby(pd.factorize(pd.Series(rooms, dtype=object))[0]).sum().to_numpy(float)
    return sums


def _means(asks: Floats) -> tuple[Floats, Floats]:
    """Return means of units and their error variances, from one variance within units that all units share."""
    counts = np.isfinite(asks).sum(axis=1)
    means = np.where(np.isfinite(asks), asks, 0.0).sum(axis=1) / np.maximum(counts, 1)
    within = np.where(np.isfinite(asks), (asks - means[:, None]) ** 2, 0.0).sum(axis=1)
    repeated = counts > 1
    if not repeated.any():
        return means, np.zeros(len(means))
    common = float(within.sum()) / float(np.sum(counts[repeated] - 1))
    unit_variance = np.where(repeated, within / np.maximum(counts - 1, 1), common)
    return means, unit_variance / np.maximum(counts, 1)


def _reliability_interval(place: int, sums: Floats) -> Ends:
    """Return the interval of a reliability; (nan, nan) for one of 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = interval(sums, lambda drawn: np.log1p(-_estimate(place, drawn)), sums[:, 0])
    return 1 - math.exp(high), 1 - math.exp(low)


def _estimate(place: int, drawn: Floats) -> Floats:
    """Return one of the three of `_estimates`."""
    return _estimates(drawn)[:, place]


def _estimates(drawn: Floats) -> Floats:
    """Return the two reliabilities and the corrected r from the sums of units or rooms: of (draws, units, 8), (draws, 3)."""
    totals = drawn.sum(axis=1)
    size = totals[:, 0]
    x, y, xx, yy, xy, x_error, y_error = (totals[:, 1:] / size[:, None]).T
    scale = size / (size - 1)
    wide, tall, shared = scale * (xx - x * x), scale * (yy - y * y), scale * (xy - x * y)
    true_wide, true_tall = wide - x_error, tall - y_error
    with np.errstate(divide="ignore", invalid="ignore"):
        product = true_wide * true_tall
        positive = (true_wide > 0) & (true_tall > 0)
        value = np.where(positive, shared / np.sqrt(np.where(positive, product, 1.0)), np.sign(shared) * np.inf)
        return np.column_stack(
            [np.where(wide > 0, true_wide / wide, 0), np.where(tall > 0, true_tall / tall, 0), value]
        )


def _why_unknown(first: Floats, second: Floats, r: float) -> str:
    if len(first) < FEWEST_UNITS:
        return f"fewer than {FEWEST_UNITS} units have both"
    if math.isnan(r):
        return "one of the two does not vary"
    if first.shape[1] == second.shape[1] == 1:
        return "nothing was measured twice"
    repeated = [
        (np.isfinite(measurements).sum(axis=1) > 1).sum()
        for measurements in (first, second)
        if measurements.shape[1] > 1
    ]
    return f"fewer than {FEWEST_REPEATED} units were measured twice" if min(repeated) < FEWEST_REPEATED else ""


def _why_few_rooms(in_rooms: bool, rooms: int) -> str:
    return f"fewer than {FEWEST_ROOMS} rooms have both" if in_rooms and rooms < FEWEST_ROOMS else ""


def _doubt(reliability: Reliability) -> str:
    if reliability.exact:
        return ""
    shown = format_estimate(reliability.value, *reliability.ends)
    if reliability.value < LEAST:
        return f"a reliability is {shown}, below {LEAST}"
    return f"the interval of a reliability, {shown}, reaches 0" if reliability.ends[0] <= 0 else ""


def correction_sentence(subject: str, names: tuple[str, str], correction: Corrected) -> str:
    """Return the corrected correlation as a sentence. subject: what correlates, as "outcomes and predictions".

    >>> nothing = Corrected(3, 0.5, NONE, (Reliability(math.nan), Reliability(math.nan)), reason="fewer than 20 units have both")
    >>> correction_sentence("outcomes and predictions", ("outcomes", "predictions"), nothing)
    'The correlation of outcomes and predictions without measurement error is unknown, because fewer than 20 units have both.'
    """
    subject = f"correlation of {subject} without measurement error"
    if correction.reason:
        return unknown_sentence(f"the {subject}", correction.reason)
    parts = [
        f"{name} {'taken as exact' if reliability.exact else format_estimate(reliability.value, *reliability.ends)}"
        for name, reliability in zip(names, correction.reliabilities, strict=True)
    ]
    above = ""
    if abs(correction.value) > 1:
        above = (
            " A correlation cannot be beyond 1: the reliabilities are too low by chance, or the errors of "
            f"{' and '.join(names)} are related."
        )
    measured = format_estimate(correction.observed, *correction.observed_ends)
    return (
        f"The {subject} is {format_estimate(correction.value, *correction.ends)}; measured, it is {measured} "
        f"(reliability: {', '.join(parts)}; {format_number(correction.units, 0)} units).{above}"
    )


FLOOR = 0.7
"""The least reliability or validity of a measurement that is used."""
PASSES, FAILS, UNKNOWN = "passes", "fails", "unknown"


def gate(low: float, high: float) -> str:
    """Return PASSES if the whole interval is at the floor or above, FAILS if it is below, and else UNKNOWN.

    >>> gate(0.71, 0.9), gate(0.3, 0.69), gate(0.6, 0.8), gate(math.nan, math.nan)
    ('passes', 'fails', 'unknown', 'unknown')
    """
    return PASSES if low >= FLOOR else FAILS if high < FLOOR else UNKNOWN


def gate_sentence(subject: str, figure: str, value: float, low: float, high: float, reason: str = "") -> str:
    """Return the outcome as a sentence. reason: why there is no value or no interval.

    >>> gate_sentence("the judge's verdicts", "AC1", 0.5, 0.3, 0.6)
    "**Do not use the judge's verdicts**: AC1 is 0.50 (0.30 to 0.60), below 0.7."
    """
    shown = format_estimate(value, low, high)
    outcome = gate(low, high)
    if outcome == PASSES:
        return f"{subject[0].upper()}{subject[1:]} may be used: {figure} is {shown}, at least {FLOOR}."
    if outcome == FAILS:
        return f"**Do not use {subject}**: {figure} is {shown}, below {FLOOR}."
    if math.isnan(low):
        figure_phrase = "" if math.isnan(value) else f" ({figure} is {format_number(value)})"
        return f"It is unknown whether {subject} may be used, because {clause(reason or 'no interval')}{figure_phrase}."
    return f"It is unknown whether {subject} may be used, because {figure} is {shown}, and the interval holds {FLOOR}."
