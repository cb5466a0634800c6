"""Do several conditions differ, in level or in spread? One number per unit (a room's mean), one row per test.

Tests are scipy's, the interval of omega squared is statsmodels'. `groups` maps the name of a condition to the numbers of its
units; NaN units are left out. There is no test with fewer than `FEWEST` units per condition, and none of spread with fewer than
`FEWEST_SPREAD`. docs/statistics.md shows how often each test finds what is not there, by the number of units.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit
from scipy.stats import chi2, levene, ncf, ttest_1samp, ttest_ind
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

from parley.analysis.statistics.intervals import FEWEST, NONE, Floats, is_even
from parley.llm.seeding import derive

LEVEL = 0.95
LARGE = 1e6
"""An F above which the limit of its noncentral distribution is used."""
NAN = math.nan


@dataclass(frozen=True)
class Result:
    """A test or estimate.

    unit: what was counted (rooms, agents, statement means); n: how many. estimate, low, high: of `measure` (a difference, eta
    squared, a ratio of spreads), with its 95% interval. size: a standardised effect (`size_name`) if the estimate is none.
    reason: why a number is missing (NaN).
    """

    effect: str
    unit: str
    n: int
    measure: str
    test: str
    estimate: float = NAN
    low: float = NAN
    high: float = NAN
    statistic: float = NAN
    df: float = NAN
    df_within: float = NAN
    p: float = NAN
    size: float = NAN
    size_name: str = ""
    reason: str = ""

    def with_test(self, ends: tuple[float, float], statistic: float, df: tuple[float, float], p: float) -> Result:
        """The result with the ends of its interval, a test statistic, its two degrees of freedom and p."""
        return replace(self, low=ends[0], high=ends[1], statistic=statistic, df=df[0], df_within=df[1], p=p)


COLUMNS = tuple(field.name for field in fields(Result))


def table(results: Iterable[Result]) -> pd.DataFrame:
    """One row per result, with `p_holm`: Holm's correction over all results that have a p."""
    rows = pd.DataFrame([asdict(result) for result in results], columns=list(COLUMNS))
    rows.insert(COLUMNS.index("p") + 1, "p_holm", holm(rows["p"].to_numpy(dtype=float)))
    return rows


def holm(p: np.ndarray) -> np.ndarray:
    """Corrected p, in the same order; NaN stays NaN and is not counted.

    >>> holm(np.array([0.01, 0.04, math.nan, 0.03])).round(3).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    corrected = np.full(len(p), NAN)
    finite = np.isfinite(p)
    if finite.any():
        corrected[finite] = multipletests(p[finite], method="holm")[1]
    return corrected


DRAWS = 9_999
Groups = Mapping[str, Floats]
FEWEST_SPREAD = 10
"""Units per condition below which Levene's test by medians finds next to nothing (0.4% false alarms of 5 with five units)."""
TWO = 2
"""Units per condition for the published procedure, which has no such rule."""


def permutation_test(
    effect: str, rooms: pd.DataFrame, value: str, label: str, strata: Sequence[str] = (), unit: str = "room"
) -> Result:
    """Are the means of `value` by `label` further apart than with shuffled labels? rooms: one row per room.

    Labels are shuffled within strata (the rooms of a topic among themselves), whose means are subtracted first. The estimate is
    the share of variance within strata that the labels explain (eta squared). The statistic weighs each mean by its own error
    (Welch's), so that labels with other spreads and numbers of rooms are not taken for other means (Janssen 1997, Statistics and
    Probability Letters 36; Pauly, Brunner and Konietschke 2015). p counts the true labels as one of the draws (Phipson and Smyth
    2010). With fewer than five rooms per label there is no test: with two and two, no draw is rare.
    """
    kept = rooms[[value, label, *strata]].dropna()
    row = Result(effect, unit, len(kept), "eta squared", "permutation of labels")
    stratum = kept.groupby(list(strata))[value] if strata else None
    mean = stratum.transform("mean") if stratum is not None else kept[value].mean()
    centred = (kept[value] - mean).to_numpy(dtype=float)
    labels = kept[label].astype("category").cat.codes.to_numpy()
    whole = float(centred @ centred)
    if kept[label].nunique() < 2 or is_even(centred):
        return replace(row, reason="one condition only, or no room differs from another")
    estimate = _explained(centred, labels) / whole
    if kept[label].value_counts().min() < FEWEST:
        return replace(row, estimate=estimate, reason=f"fewer than {FEWEST} units in a condition")
    rng = np.random.default_rng(derive(0, "permutation", effect))
    places = list(stratum.indices.values()) if stratum is not None else [np.arange(len(kept))]
    shuffled = np.array([_shuffled(labels, places, rng) for _ in range(DRAWS)])
    true = float(_apart(centred, labels[None])[0])
    as_far = int((_apart(centred, shuffled) >= true * (1 - 1e-9)).sum())
    return replace(row, estimate=estimate, statistic=true, p=(as_far + 1) / (DRAWS + 1))


def _explained(centred: Floats, labels: np.ndarray) -> float:
    """The sum of squares of the labels' means."""
    sums, counts = np.bincount(labels, centred), np.bincount(labels)
    return float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())


def _apart(centred: Floats, labels: np.ndarray) -> Floats:
    """How far means of labels (draws, rooms) are apart, each weighed by its squared standard error: (draws,)."""
    of = [labels == code for code in range(int(labels.max()) + 1)]
    counts = np.array([members.sum(axis=1) for members in of], dtype=float)
    means = np.array([members @ centred for members in of]) / counts
    squares = np.array([members @ centred**2 for members in of]) / counts - means**2
    # without a floor a label whose rooms are all alike would weigh infinitely much
    floor = 1e-9 * float(centred @ centred) / len(centred)
    weights = (counts - 1) / np.maximum(squares, floor)
    centre = (weights * means).sum(axis=0) / weights.sum(axis=0)
    return np.asarray((weights * (means - centre) ** 2).sum(axis=0))


def _shuffled(labels: np.ndarray, places: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    shuffled = labels.copy()
    for stratum in places:
        shuffled[stratum] = rng.permutation(labels[stratum])
    return shuffled


def level(effect: str, groups: Groups, unit: str, equal: bool = False) -> Result:
    """Return Welch's one-way ANOVA, or Fisher's (`equal` spreads). The estimate is omega squared, with its 95% interval.

    Omega squared is the share of variance between conditions minus what chance alone would explain; 0 where that is negative.
    It comes from the F of the test, and its interval from noncentral F with the degrees of freedom of the test: so unequal
    spreads do not widen it, and its lower end is above 0 where p is below .025.
    Source: Hays 1963; Steiger 2004, Psychological Methods 9(2).
    """
    finite_groups = _finite(groups)
    row = Result(effect, unit, _count(finite_groups), "omega squared", "one-way ANOVA" if equal else "Welch's ANOVA")
    if reason := _why_no_test(finite_groups, TWO if equal else FEWEST, each=not equal):
        means = {name: float(values.mean()) for name, values in finite_groups.items() if len(values)}
        if (
            len(finite_groups) < 2
            or not all(map(is_even, finite_groups.values()))
            or is_even(np.array(list(means.values())))
        ):
            return replace(row, reason=reason)
        return replace(row, reason=f"{reason}: {', '.join(f'{name} {mean:.2f}' for name, mean in means.items())}")
    test = anova_oneway(list(finite_groups.values()), use_var="equal" if equal else "unequal")
    between, within = map(float, test.df)
    estimate, low, high = _omega_squared(float(test.statistic), (between, within), _count(finite_groups))
    row = replace(row, estimate=estimate)
    return row.with_test((low, high), float(test.statistic), (between, within), float(test.pvalue))


def _omega_squared(ratio: float, freedom: tuple[float, float], units: int) -> tuple[float, float, float]:
    """Omega squared of an F and the ends of its interval; NaN ends where both would be 0, which would look certain."""
    excess = freedom[0] * (ratio - 1)
    estimate = max(0.0, excess / (excess + units)) if math.isfinite(ratio) else math.nan
    low, high = (end / (end + units) for end in (_noncentrality(ratio, freedom, level) for level in (0.975, 0.025)))
    return (estimate, low, high) if high > 0 else (estimate, math.nan, math.nan)


def _noncentrality(ratio: float, freedom: tuple[float, float], level: float) -> float:
    """The noncentrality at which an F of at most `ratio` has the probability `level`; 0 where none is that likely.

    scipy's own inverse (ncfdtrinc) ends at 10,000, so that the interval of a large effect did not reach its estimate.
    """

    def excess(noncentrality: float) -> float:
        return float(ncf.cdf(ratio, *freedom, noncentrality)) - level

    if (
        ratio > LARGE
    ):  # only the error's chi-squared still matters, and the distribution function is NaN from about 1e10 on
        return float(freedom[0] * ratio * chi2.ppf(1 - level, freedom[1]) / freedom[1]) if math.isfinite(ratio) else 0.0
    if not math.isfinite(ratio) or excess(0.0) <= 0:
        return 0.0
    most = 2 * freedom[0] * ratio + 1
    while excess(most) > 0:
        most *= 2
    return float(brentq(excess, 0.0, most))


def spread(effect: str, groups: Groups, unit: str, of: str = "", least: int = FEWEST_SPREAD) -> Result:
    """Return Levene's test of equal spread, by medians (Brown and Forsythe's). The estimate is the largest SD over the smallest.

    of: what the units are, if they are not scores: for quartile ranges the test asks whether the ranges differ in spread.
    least: units per condition; with two there is no test, because both are equally far from their middle.
    """
    finite_groups = _finite(groups)
    measure = f"largest SD / smallest SD{f' of {of}' if of else ''}"
    row = Result(effect, unit, _count(finite_groups), measure, "Levene (medians)")
    if reason := _why_no_test(finite_groups, least):
        return replace(row, reason=reason)
    test = levene(*finite_groups.values(), center="median")
    deviations = [float(np.std(values, ddof=1)) for values in finite_groups.values()]
    estimate = max(deviations) / min(deviations) if min(deviations) > 0 else math.inf
    df = len(finite_groups) - 1, _count(finite_groups) - len(finite_groups)
    return replace(row, estimate=estimate).with_test(NONE, float(test.statistic), df, float(test.pvalue))


def compare_two(effect: str, first: Floats, second: Floats, unit: str) -> Result:
    """Return second minus first by Welch's t; with too few units only the difference, and why there is no test."""
    finite_groups = _finite({"first": first, "second": second})
    first_values, other = finite_groups["first"], finite_groups["second"]
    difference = float(other.mean() - first_values.mean()) if len(first_values) and len(other) else math.nan
    row = Result(effect, unit, _count(finite_groups), "difference", "Welch's t", difference)
    if reason := _why_no_test(finite_groups, FEWEST):
        return replace(row, reason=reason)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)  # all values of one group may be alike
        test = ttest_ind(other, first_values, equal_var=False)
    return _t_row(replace(row, size=hedges(first_values, other), size_name="Hedges' g"), test)


def compare_paired(effect: str, differences: Floats, unit: str) -> Result:
    """Return the mean of differences within units (the same people in both conditions) by Student's t.

    With too few units only the difference, and why there is no test. Size: the mean difference per SD of the differences.
    """
    finite = _finite({"differences": differences})["differences"]
    difference = float(finite.mean()) if len(finite) else math.nan
    row = Result(effect, unit, len(finite), "difference", "paired t", difference)
    if reason := _why_no_test({"differences": finite}, FEWEST, each=True, conditions=1):
        return replace(row, reason=reason)
    size = difference / float(finite.std(ddof=1))
    return _t_row(replace(row, size=size, size_name="per SD of differences"), ttest_1samp(finite, 0.0))


def _t_row(row: Result, test: object) -> Result:
    """The row with the numbers of one of scipy's t-tests."""
    ends = test.confidence_interval(LEVEL)  # type: ignore[attr-defined]
    df, statistic, p = 1, float(test.statistic), float(test.pvalue)  # type: ignore[attr-defined]
    return row.with_test((float(ends.low), float(ends.high)), statistic, (df, float(test.df)), p)  # type: ignore[attr-defined]


def weighted_means(effect: str, groups: Groups, weights: Mapping[str, float], unit: str) -> Result:
    """Return the weighted sum of the means of independent conditions, by t with Satterthwaite's degrees of freedom.

    Source: Satterthwaite 1946, Biometrics Bulletin 2(6).
    """
    finite_groups = _finite(groups)
    estimate = sum(
        weights[name] * float(values.mean()) if len(values) else math.nan for name, values in finite_groups.items()
    )
    row = Result(effect, unit, _count(finite_groups), "difference", "Welch's t", estimate)
    if reason := _why_no_test(finite_groups, FEWEST):
        return replace(row, reason=reason)
    parts = np.array([weights[name] ** 2 * values.var(ddof=1) / len(values) for name, values in finite_groups.items()])
    error, df = (
        math.sqrt(parts.sum()),
        parts.sum() ** 2 / sum(parts**2 / [len(each) - 1 for each in finite_groups.values()]),
    )
    reach = float(stdtrit(df, (1 + LEVEL) / 2)) * error
    p = float(2 * stdtr(df, -abs(estimate / error)))
    return row.with_test((estimate - reach, estimate + reach), estimate / error, (1, float(df)), p)


def hedges(first: Floats, second: Floats) -> float:
    """The difference (second minus first) in pooled standard deviations, corrected for small samples.

    Source: Hedges 1981, Journal of Educational Statistics 6(2).

    >>> round(hedges(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])), 3)
    0.8
    """
    within = len(first) + len(second) - 2
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    pooled = math.sqrt(squares / within)
    return float(second.mean() - first.mean()) / pooled * (1 - 3 / (4 * within - 1)) if pooled > 0 else math.nan


def _finite(groups: Groups) -> dict[str, Floats]:
    arrays = {name: np.asarray(values, dtype=float) for name, values in groups.items()}
    return {name: values[np.isfinite(values)] for name, values in arrays.items()}


def _count(groups: Groups) -> int:
    return sum(map(len, groups.values()))


def _why_no_test(groups: Groups, least: int, each: bool = False, conditions: int = 2) -> str:
    """Why there is no test. each: whether the test divides by the spread of every condition."""
    if len(groups) < conditions:
        return "one condition only" if groups else "no condition"
    if min(map(len, groups.values())) < least:
        return f"fewer than {least} units in a condition"
    alike = [name for name, values in groups.items() if is_even(values)]
    if alike and (each or len(alike) == len(groups)):
        return f"no unit of {', '.join(alike)} differs from another"
    return ""
