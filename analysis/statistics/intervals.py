"""Intervals over rooms, the unit of analysis: one rule for every report. Arithmetic on arrays with missing values (NaN).

One rule for means: **a quantity that has a scale has an interval of that scale.** A difference has Student's interval. A share
or a rating (`bounds` at both ends) has Wilson's form of it: near an end of the scale numbers are skewed, and no share is below 0.
A count, a variance or an error (`POSITIVE`) has no upper end and a long tail there, so its upper end is at least Hall's, who
takes the skewness of the rooms into account. Callers say what they average; the interval follows. Other statistics of
rooms (ratios, correlations) have Student's interval of the values from leaving out one room at a time (Tukey's jackknife).
Rooms that weigh by their rows (`sizes`) count as their effective number
(statistics/clusters.py), less than their number if one has most rows. Below `FEWEST` rooms, effective ones too, and when nothing
varies, there is no interval: both ends are NaN, and nothing can be concluded. docs/statistics.md and docs/exam.md show how often
these intervals miss the truth. Nothing here is random. Missing values are left out; without any value the result is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit
from scipy.stats import skew
from statsmodels.stats.proportion import proportion_confint

from parley.analysis.statistics.clusters import effective_clusters, error_of


def nanmean(values: Floats, axis: int = 0) -> Floats:
    """Return the mean along an axis, without missing values.

    >>> nanmean(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist()
    [2.0, nan]
    """
    is_finite = np.isfinite(values)
    count = is_finite.sum(axis=axis)
    return np.where(count > 0, np.where(is_finite, values, 0.0).sum(axis=axis) / np.maximum(count, 1), np.nan)


def nanmedian(values: Floats, axis: int = 0) -> Floats:
    """Return the median along an axis, without missing values."""
    has_value = np.isfinite(values).any(axis=axis)
    filled = np.where(np.expand_dims(has_value, axis), values, 0.0)
    return np.where(has_value, np.nanmedian(filled, axis=axis), np.nan)


def quartiles(values: Floats) -> tuple[Floats, Floats]:
    """Return the first and third quartile along the first axis of (n, k), without missing values."""
    low, high = pd.DataFrame(values).quantile([0.25, 0.75]).to_numpy(dtype=float)
    return low, high


def slope(values: Floats, at: Floats) -> Floats:
    """Return the least-squares slope along the last axis over `at`, without missing values; NaN for fewer than two.

    >>> float(slope(np.array([1.0, np.nan, 3.0]), np.arange(3)))
    1.0
    """
    is_finite = np.isfinite(values)
    centred = np.where(is_finite, at - nanmean(np.where(is_finite, at, np.nan), -1)[..., None], 0.0)
    squares = (centred**2).sum(axis=-1)
    rise = (np.where(is_finite, values, 0.0) * centred).sum(axis=-1)
    return np.where(squares > 0, rise / np.where(squares > 0, squares, 1.0), np.nan)


DRAWS = 2000
"""Samples with replacement behind the intervals of scores/reversion.py."""
LEVEL = 0.95
FEWEST = 5
"""Below this number of rooms there is no interval and no verdict. For normal data Student's interval holds at two rooms already.
Ratings of whole points are not normal: at 2, 3 and 4 rooms their intervals miss the truth in up to 30% (docs/statistics.md)."""
ROUNDING = 1e-12
"""A spread below this share of the sum of squares is due to rounding: nothing varies."""
ALIKE = 1e-9
"""Values that differ by less than this (or this share of the largest) are the same number but for rounding."""
NONE = (math.nan, math.nan)
NO_VARIATION = "no variation"
ALIKE_OR_UNEVEN = "no variation, or a few of them have most of the rows"
"""Why enough units give no interval, where the sizes of units are not at hand."""
Floats = NDArray[np.float64]
Answer = TypeVar("Answer")
Ends = tuple[float, float]
SHARE, POSITIVE, SCALE, SIGNED = (0.0, 1.0), (0.0, math.inf), (0.0, 10.0), (-1.0, 1.0)
"""Bounds of a share; of a count, a variance or an error; of a rating; and of a correlation or a difference of two shares."""


def mean_interval(values: Floats, sizes: Floats | None = None, bounds: Ends | None = None) -> Ends:
    """Return the 95% interval of the mean of one number a room, by Student's t; (nan, nan) where `why_no_interval`
    has a reason.

    sizes: what each room weighs in these numbers (of a jackknife); None: the same. bounds: those of the quantity, which a
    share (`SHARE`), a count or a variance (`POSITIVE`) and a rating on a scale have, and a difference has not. The interval is
    then `bounded_ends`, and its upper end at least `skewed_end` where there is no bound above.
    """
    if why_no_interval(values, sizes=sizes):
        return NONE
    if bounds is not None:
        return _within(values, sizes, bounds, float(values.mean()))
    reach = _quantile(worth(values, sizes)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - reach, float(values.mean()) + reach


def _within(values: Floats, sizes: Floats | None, bounds: Ends, at: float) -> Ends:
    """Return the interval of a mean that has bounds. at: the estimate, which differs from the mean of a jackknife's values."""
    quantile, mean = _quantile(worth(values, sizes)), min(max(float(values.mean()), bounds[0]), bounds[1])
    low, high = bounded_ends(mean, quantile * float(values.std(ddof=1)) / math.sqrt(len(values)), bounds, at)
    return (low, high) if math.isfinite(bounds[1]) else (low, max(high, skewed_end(values, quantile)))


def bounds_of_difference(bounds: Ends | None) -> Ends | None:
    """Return the bounds of a difference of two means that have these; None of a quantity without a bound above or below.

    >>> bounds_of_difference(SHARE), bounds_of_difference(POSITIVE)
    ((-1.0, 1.0), None)
    """
    width = math.inf if bounds is None else bounds[1] - bounds[0]
    return (-width, width) if math.isfinite(width) else None


def skewed_end(values: Floats, quantile: float) -> float:
    """Return the upper end of the interval of a mean whose numbers may have a long tail above, by Hall's transformation.

    quantile: of Student's t. It has that of the skewness of these values (corrected for few of them), so of symmetric values it
    is Student's end. Where a few units show no tail, the tail of the population may still be there: of exponential numbers
    Student's interval misses in 10% of the sets at 10 units, and this one in 5.7% (docs/exam.md).
    Source: Hall 1992, Journal of the Royal Statistical Society B 54(1).

    >>> round(skewed_end(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 2.776), 2), round(skewed_end(np.array([1.0, 1, 1, 2, 9]), 2.776), 2)
    (4.96, 13.61)
    """
    asymmetry, spread = float(skew(values, bias=False)), float(values.std(ddof=1))
    step = quantile / math.sqrt(len(values))
    if abs(asymmetry) > ALIKE:
        lower = -step - asymmetry / (6 * len(values))
        step = -3 / asymmetry * (float(np.cbrt(1 + asymmetry * lower)) - 1)
    return float(values.mean()) + spread * step


def bounded_ends(value: float, reach: float, bounds: Ends, at: float | None = None) -> Ends:
    """Return the ends of an interval within the bounds of a quantity, and around its value, whatever its error.

    reach: half the width of Student's interval. It is taken to be that of a quantity of `at` (None: of the value), and to
    shrink toward the bounds as that of a share does, or, without an upper bound, as that of a count: its square goes with
    (m - low)(high - m), or with m - low. The ends are the two m from which the value is as far as their reach: Wilson's
    interval, for any quantity and error. (nan, nan) for a value or `at` on a bound, which has no spread to go by, unless
    `at` is inside.

    >>> [round(end, 3) for end in bounded_ends(0.1, 1.96 * 0.0948683, SHARE)]  # Wilson's of 1 in 10
    [0.018, 0.404]
    >>> [round(end, 3) for end in bounded_ends(2.0, 3.0, POSITIVE)]
    [0.5, 8.0]
    """
    low, high = bounds
    width = high - low
    value, place = value - low, (value if at is None else at) - low
    spread = place * (1 - place / width)
    if math.isnan(reach) or spread <= ALIKE:
        return NONE
    step = reach**2 / spread
    both = 2 * value + step + math.sqrt(step * (4 * value * (1 - value / width) + step))
    return low + 2 * value**2 / both, min(high, low + both / (2 * (1 + step / width)))


def worth(values: Floats, sizes: Floats | None) -> float:
    """Return how many equal rooms the rooms of these values are worth. sizes: what each weighs; None: the same."""
    return float(len(values)) if sizes is None else effective_clusters(sizes)


def _quantile(rooms: float) -> float:
    """Return the quantile of Student's t that an interval over so many (effective) rooms reaches."""
    return float(stdtrit(rooms - 1, (1 + LEVEL) / 2))


def prediction_interval(values: Floats) -> Ends:
    """Return where one more value like these lies in 95% of cases, by Student's t; (nan, nan) as for `mean_interval`.

    It says whether a single result is unusual among results without an effect. Source: Hahn 1969, Technometrics 11(4).

    >>> [round(end, 2) for end in prediction_interval(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))]
    [-2.81, 6.81]
    """
    if why_no_interval(values):
        return NONE
    reach = float(stdtrit(len(values) - 1, (1 + LEVEL) / 2) * values.std(ddof=1)) * math.sqrt(1 + 1 / len(values))
    return float(values.mean()) - reach, float(values.mean()) + reach


def p_of_mean(values: Floats, sizes: Floats | None = None) -> float:
    """Return the p of a mean of 0 of one number a room, by Student's t; NaN where `why_no_interval` has a reason.

    sizes: as in `mean_interval`.

    >>> round(p_of_mean(np.array([0.1, 0.4, 0.2, 0.3, 0.6])), 3)
    0.02
    """
    if why_no_interval(values, sizes=sizes):
        return math.nan
    t = -abs(float(values.mean())) * math.sqrt(len(values)) / values.std(ddof=1)
    return 2 * float(stdtr(worth(values, sizes) - 1, t))


def reach_of_mean(error: Floats, units: Floats) -> Floats:
    """Return half the width of the 95% interval of means with these standard errors, over so many (effective) units each.

    NaN below `FEWEST` units and where nothing varies, as in `mean_interval`.

    >>> reach_of_mean(np.array([0.5, 0.5, 0.0]), np.array([10, 4, 10])).round(2).tolist()
    [1.13, nan, nan]
    """
    has_interval = ~is_few(units) & (error > ALIKE)
    return np.where(has_interval, stdtrit(np.where(has_interval, units, FEWEST) - 1, (1 + LEVEL) / 2) * error, np.nan)


def means_interval(groups: Sequence[Floats]) -> Ends:
    """Return the 95% interval of the mean of the means of independent groups of rooms, every group the same weight.

    Degrees of freedom: Welch and Satterthwaite's. (nan, nan) where a group has fewer than `FEWEST` rooms, or nothing varies.
    Source: Satterthwaite 1946, Biometrics Bulletin 2(6).
    """
    if not groups or min(map(len, groups)) < FEWEST or all(map(is_even, groups)):
        return NONE
    errors = np.array([values.var(ddof=1) / len(values) for values in groups])
    freedom = errors.sum() ** 2 / (errors**2 / [len(values) - 1 for values in groups]).sum()
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2) * np.sqrt(errors.sum())) / len(groups)
    centre = float(np.mean([values.mean() for values in groups]))
    return centre - reach, centre + reach


def interval(
    values: Floats, statistic: Callable[[Floats], Floats], sizes: Floats | None, bounds: Ends | None = None
) -> Ends:
    """Return the 95% interval of a statistic over rooms, by the jackknife and Student's t (around the estimate less its bias).

    values: (rooms, k). statistic: maps (draws, rooms, k) to (draws,). sizes: (rooms,), what each room weighs in it, such as its
    rows; None: each the same. bounds: as in `mean_interval`. (nan, nan) with fewer than `FEWEST` rooms, effective ones too, where
    nothing varies, and when the statistic has no value without one of the rooms: then it depends on that room.
    Source: Tukey 1958, Annals of Mathematical Statistics 29; Miller 1974, Biometrika 61(1).
    """
    rooms = len(values)
    if is_few(rooms) or is_few(worth(values, sizes)):
        return NONE
    whole = float(statistic(values[None])[0])
    without = np.array([float(statistic(np.delete(values, room, axis=0)[None])[0]) for room in range(rooms)])
    pseudo = rooms * whole - (rooms - 1) * without
    if not np.isfinite(pseudo).all() or is_even(without):
        return NONE
    if bounds is None or is_even(pseudo):
        return mean_interval(pseudo, sizes)
    return _within(pseudo, sizes, bounds, whole)


def correlation_interval(sums: Floats) -> Ends:
    """Return the 95% interval of Pearson's r of rooms, on Fisher's scale of z, so that it stays between -1 and 1.

    sums: (rooms, 6), as `correlation` takes them; a room weighs by its n.
    """
    return fisher_interval(sums, lambda drawn: correlation(drawn.sum(axis=1)), sums[:, 0])


def fisher_interval(values: Floats, statistic: Callable[[Floats], Floats], sizes: Floats | None) -> Ends:
    """Return `interval` of a coefficient between -1 and 1 (a correlation, kappa, alpha), on Fisher's scale of z.

    values, statistic and sizes as in `interval`. (nan, nan) also for a coefficient of 1, which has no z.
    Source: Fisher 1921, Metron 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # r of 1 is endless on this scale: there is no interval then
        low, high = interval(values, lambda drawn: np.arctanh(np.clip(statistic(drawn), -1, 1)), sizes)
    return math.tanh(low), math.tanh(high)


def why_no_interval(values: Floats, unit: str = "room", sizes: Floats | None = None) -> str:
    """Return why a mean of these values, one a unit, has no interval: `fewer than 5 rooms`, one room has most of the rows,
    `no variation`, or nothing. sizes: as in `mean_interval`.
    """
    return why_few(len(values), unit, sizes) or (NO_VARIATION if is_even(values) else "")


def why_few(count: int, unit: str = "room", sizes: Floats | None = None) -> str:
    """Return why there is no interval over so few units, or units of which few have most rows; nothing if there is one.

    >>> why_few(10, "person", np.array([100.0, *[4.0] * 9]))
    'too unequal: one person of 10 has 74% of the rows, so that all are worth 1.8 equal ones (fewer than 5)'
    """
    if is_few(count):
        return too_few(unit)
    if sizes is None or not is_few(effective_clusters(sizes)):
        return ""
    most = float(np.max(sizes)) / max(float(np.sum(sizes)), ROUNDING)
    return (
        f"too unequal: one {unit} of {count} has {most:.0%} of the rows, so that all are worth "
        f"{effective_clusters(sizes):.1f} equal ones (fewer than {FEWEST})"
    )


def is_few(units: float | Floats) -> Any:
    """Return whether these are fewer than `FEWEST` units; effective numbers to the nearest whole one, so that a single missing
    rating in one of five rooms does not hide an interval.
    """
    return np.rint(units) < FEWEST


def too_few(unit: str = "room") -> str:
    """Return why there is no interval over few units."""
    return f"fewer than {FEWEST} {unit}s"


def is_even(values: Floats) -> bool:
    """Return whether all values are the same but for rounding (also where there are none)."""
    return not len(values) or bool(np.ptp(values) <= ALIKE * max(1.0, float(np.abs(values).max())))


def tail(rooms: int) -> float:
    """Return the share of draws of a bootstrap cut off at each end: 0.025 for many rooms, less for few.

    Plain percentiles are too narrow there. Source: Hesterberg 2015, The American Statistician 69(4), section 3.3 (the expanded
    percentile interval).

    >>> round(tail(10), 4), round(tail(1000), 3)
    (0.0086, 0.025)
    """
    student = float(stdtrit(rooms - 1, (1 + LEVEL) / 2))
    return NormalDist().cdf(-math.sqrt(rooms / (rooms - 1)) * student)


def correlation(sums: Floats) -> Floats:
    """Pearson's r from (..., 6): n and the sums of x, y, xx, yy, xy, which add up over rooms; NaN where x or y does not vary.

    >>> float(correlation(np.array([3.0, 6.0, 6.0, 14.0, 14.0, 14.0])).round(3))
    1.0
    """
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    wide, tall = n * xx - x * x, n * yy - y * y
    varied = (wide > ROUNDING * n * xx) & (tall > ROUNDING * n * yy)
    return np.where(varied, (n * xy - x * y) / np.sqrt(np.where(varied, wide * tall, 1.0)), np.nan)


def with_interval(name: str, value: float, ends: Ends) -> dict[str, float]:
    """Return a number and its interval as columns of a row.

    >>> with_interval("drift", 0.5, (0.25, 0.75))
    {'drift': 0.5, 'drift_low': 0.25, 'drift_high': 0.75}
    """
    return {name: value, f"{name}_low": float(ends[0]), f"{name}_high": float(ends[1])}


def verdict(low: float, high: float, above: Answer, below: Answer, unclear: Answer, at: float = 0.0) -> Answer:
    """Return what an interval says: `above` or `below` where all of it is on that side of `at`, else `unclear`.

    An interval without ends (NaN) is unclear.

    >>> verdict(0.25, 0.75, "more", "less", "not clearly more"), verdict(math.nan, math.nan, 1, -1, 0)
    ('more', 0)
    """
    return above if low > at else below if high < at else unclear


def share_interval(count: int, rooms: int) -> Ends:
    """Return the 95% Wilson score interval of a share of rooms, by statsmodels; (nan, nan) with fewer than `FEWEST`.

    It also serves at 0 and 1, where an interval of the mean has no width. Source: Wilson 1927; recommended by Brown, Cai and
    DasGupta 2001, Statistical Science 16(2).

    >>> [round(end, 3) for end in share_interval(0, 40)]
    [0.0, 0.088]
    """
    if rooms < FEWEST:
        return NONE
    low, high = proportion_confint(count, rooms, alpha=1 - LEVEL, method="wilson")
    return float(low), float(high)


def clustered_share_interval(hits: Floats, sizes: Floats) -> Ends:
    """Return the 95% interval of a share of answers in clusters, such as the answers of one person.

    hits, sizes: (clusters,) answers in which it happened, and all answers. It is Wilson's interval for the effective number of
    answers: all, divided by the design effect (at least 1, from leaving out one cluster at a time), and fewer when few clusters
    (effective_clusters) estimate that effect. When it happened in no answer or in all, nothing estimates the effect, and each
    cluster counts as one answer. (nan, nan) with fewer than `FEWEST` clusters, effective ones too.
    Sources: Kish 1965, Survey Sampling; Korn and Graubard 1998, Survey Methodology 24(2). Coverage: docs/statistics.md.

    >>> [round(end, 3) for end in clustered_share_interval(np.array([9, 5, 10, 8, 3, 10]), np.full(6, 10))]
    [0.407, 0.929]
    >>> [round(end, 3) for end in clustered_share_interval(np.zeros(40), np.full(40, 9))]
    [0.0, 0.088]
    """
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    clusters, answers = effective_clusters(sizes), sizes.sum()
    if is_few(clusters):
        return NONE
    share = hits.sum() / answers
    if (independent := share * (1 - share) / answers) > 0:
        spread = error_of((hits.sum() - hits) / (answers - sizes)) ** 2
        few = NormalDist().inv_cdf((1 + LEVEL) / 2) / _quantile(clusters)
        effective = answers / max(spread / independent, 1.0) * few**2
    else:
        effective = clusters
    low, high = proportion_confint(share * effective, effective, alpha=1 - LEVEL, method="wilson")
    return float(low), float(high)
