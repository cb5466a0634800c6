"""Labels shuffled over rooms: does it matter which condition a room had? Exact in what it assumes, and it assumes little.

Several conditions with one number a unit (a room's mean): do they differ in level, do they differ in spread, and which ones?

Tests are scipy's, the interval of omega squared is statsmodels'. The groups map a condition's name to its units; NaN units
are left out. Below `FEWEST` units a condition there is no test, and none of spread below `FEWEST_SPREAD`: docs/statistics.md has
how often each test finds what is not there, by the number of units.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit
from scipy.stats import f_oneway, levene, ttest_1samp, ttest_ind, tukey_hsd
from statsmodels.stats.oneway import anova_oneway, confint_effectsize_oneway

from parley.analysis.bootstrap import FEWEST, Floats, is_even
from parley.analysis.statistics.results import LEVEL, Result
from parley.llm.seeding import derive

DRAWS = 9_999


def permutation_test(
    effect: str, rooms: pd.DataFrame, value: str, label: str, strata: Sequence[str] = (), unit: str = "room"
) -> Result:
    """Are the means of `value` by `label` further apart than those of shuffled labels? One row a room.

    Labels are shuffled within strata (a topic's rooms among themselves), whose means are taken out first. The statistic, and
    the estimate, is the share of variance within strata that the labels explain (eta squared). p counts the true labels
    as one of the draws (Phipson and Smyth 2010). Below five rooms a label there is no test: with two and two no draw is rare.
    """
    kept = rooms[[value, label, *strata]].dropna()
    begun = Result(effect, unit, len(kept), "eta squared", "permutation of labels")
    within = kept.groupby(list(strata))[value] if strata else None
    centred = (kept[value] - (within.transform("mean") if within is not None else kept[value].mean())).to_numpy(
        dtype=float
    )
    labels = kept[label].astype("category").cat.codes.to_numpy()
    whole = float(centred @ centred)
    if kept[label].nunique() < 2 or whole == 0:
        return replace(begun, reason="one condition only, or no room differs from another")
    blocks = (
        [np.asarray(places) for places in within.indices.values()] if within is not None else [np.arange(len(kept))]
    )
    if kept[label].value_counts().min() < FEWEST:
        return replace(
            begun, estimate=_between(centred, labels) / whole, reason=f"fewer than {FEWEST} units a condition"
        )
    rng = np.random.default_rng(derive(0, "permutation", effect))
    true = _between(centred, labels)
    as_far = sum(_between(centred, _drawn(labels, blocks, rng)) >= true - 1e-12 * whole for _ in range(DRAWS))
    return replace(begun, estimate=true / whole, statistic=true, p=(as_far + 1) / (DRAWS + 1))


def _between(centred: Floats, labels: np.ndarray) -> float:
    """Sum of squares of the labels' means."""
    sums, counts = np.bincount(labels, centred), np.bincount(labels)
    return float((sums[counts > 0] ** 2 / counts[counts > 0]).sum())


def _drawn(labels: np.ndarray, blocks: Sequence[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    drawn = labels.copy()
    for places in blocks:
        drawn[places] = rng.permutation(labels[places])
    return drawn


Groups = Mapping[str, Floats]
FEWEST_SPREAD = 10
"""Units a condition below which Levene's test by medians finds next to nothing (0.4% false alarms of 5 with five units)."""
TWO = 2
"""Units a condition for the published procedure, which has no such rule."""


def level(effect: str, groups: Groups, unit: str, equal: bool = False) -> Result:
    """Return Welch's one-way ANOVA, or Fisher's (`equal` spreads). The estimate is omega squared, with its 95% interval.

    Omega squared is the share of variance between conditions, less what chance alone would explain; 0 where that would be
    negative. It comes from the sums of squares, whichever test is used, and its interval from noncentral F with all units.
    Source: Hays 1963; Steiger 2004, Psychological Methods 9(2).
    """
    kept, test = _kept(groups), "one-way ANOVA" if equal else "Welch's ANOVA"
    begun = Result(effect, unit, _count(kept), "omega squared", test)
    if reason := _unfit(kept, TWO if equal else FEWEST, each=not equal):
        return replace(begun, reason=reason)
    found = anova_oneway(list(kept.values()), use_var="equal" if equal else "unequal")
    between, within = map(float, found.df)
    estimate, low, high = _explained(kept)
    return replace(
        begun,
        estimate=estimate,
        low=low,
        high=high,
        statistic=float(found.statistic),
        df=between,
        df_within=within,
        p=float(found.pvalue),
    )


def _explained(groups: Groups) -> tuple[float, float, float]:
    """Omega squared and the ends of its interval; no ends where both would be 0, which would look sure."""
    ratio, between, units = float(f_oneway(*groups.values()).statistic), len(groups) - 1, _count(groups)
    with np.errstate(divide="ignore"):  # statsmodels divides by a lower end of 0 on the way to another effect size
        low, high = confint_effectsize_oneway(ratio, (between, units - len(groups)), nobs=units).eta2
    estimate = max(0.0, between * (ratio - 1) / (between * (ratio - 1) + units)) if math.isfinite(ratio) else math.nan
    return (estimate, float(low), float(high)) if high > 0 else (estimate, math.nan, math.nan)


def spread(effect: str, groups: Groups, unit: str, of: str = "", least: int = FEWEST_SPREAD) -> Result:
    """Return Levene's test of equal spread, by medians (Brown and Forsythe's). The estimate is the largest over the smallest SD.

    of: what the units are, where they are no scores: of quartile ranges the test asks whether the ranges differ in spread.
    least: units a condition; with two there is no test, both being as far from their middle.
    """
    kept = _kept(groups)
    measure = f"largest SD / smallest SD{f' of {of}' if of else ''}"
    begun = Result(effect, unit, _count(kept), measure, "Levene (medians)")
    if reason := _unfit(kept, least):
        return replace(begun, reason=reason)
    found = levene(*kept.values(), center="median")
    deviations = [float(np.std(values, ddof=1)) for values in kept.values()]
    return replace(
        begun,
        estimate=max(deviations) / min(deviations) if min(deviations) > 0 else math.inf,
        statistic=float(found.statistic),
        df=len(kept) - 1,
        df_within=_count(kept) - len(kept),
        p=float(found.pvalue),
    )


def pairs(effect: str, groups: Groups, unit: str, equal: bool = False) -> Iterator[Result]:
    """Every two conditions, second minus first, with simultaneous intervals: Games and Howell's, or (`equal`) Tukey's."""
    kept, test = _kept(groups), "Tukey HSD" if equal else "Games-Howell"
    if reason := _unfit(kept, FEWEST, each=not equal):
        yield Result(effect, unit, _count(kept), "difference", test, reason=reason)
        return
    found = tukey_hsd(*kept.values(), equal_var=equal)
    ends, names = found.confidence_interval(), list(kept)
    for one, first in enumerate(names):
        for other in range(one + 1, len(names)):
            values = kept[first], kept[names[other]]
            yield Result(
                f"{effect}: {names[other]} - {first}",
                unit,
                sum(map(len, values)),
                "difference",
                test,
                estimate=float(-found.statistic[one, other]),
                low=float(-ends.high[one, other]),
                high=float(-ends.low[one, other]),
                p=float(found.pvalue[one, other]),
                size=hedges(*values),
                size_name="Hedges' g",
            )


def compare_two(effect: str, first: Floats, second: Floats, unit: str) -> Result:
    """Return second minus first by Welch's t; the difference alone, and why there is no test, with too few units."""
    kept = _kept({"first": first, "second": second})
    one, other = kept["first"], kept["second"]
    difference = float(other.mean() - one.mean()) if len(one) and len(other) else math.nan
    begun = Result(effect, unit, _count(kept), "difference", "Welch's t", difference)
    if reason := _unfit(kept, FEWEST):
        return replace(begun, reason=reason)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)  # one of the two may be all alike
        found = ttest_ind(other, one, equal_var=False)
    ends = found.confidence_interval()
    return replace(
        begun,
        low=float(ends.low),
        high=float(ends.high),
        statistic=float(found.statistic),
        df=1,
        df_within=float(found.df),
        p=float(found.pvalue),
        size=hedges(one, other),
        size_name="Hedges' g",
    )


def compare_paired(effect: str, differences: Floats, unit: str) -> Result:
    """Return the mean of differences within units (the same people in both conditions) by Student's t.

    The difference alone, and why there is no test, with too few units. Size: the mean difference per SD of the differences.
    """
    known = np.asarray(differences, dtype=float)
    known = known[np.isfinite(known)]
    difference = float(known.mean()) if len(known) else math.nan
    begun = Result(effect, unit, len(known), "difference", "paired t", difference)
    if reason := _unfit({"differences": known}, FEWEST, each=True, conditions=1):
        return replace(begun, reason=reason)
    found = ttest_1samp(known, 0.0)
    ends = found.confidence_interval(LEVEL)
    return replace(
        begun,
        low=float(ends.low),
        high=float(ends.high),
        statistic=float(found.statistic),
        df=1,
        df_within=float(found.df),
        p=float(found.pvalue),
        size=difference / float(known.std(ddof=1)),
        size_name="per SD of differences",
    )


def weighted_means(effect: str, groups: Groups, weights: Mapping[str, float], unit: str) -> Result:
    """Return the weighed sum of the means of independent conditions, by t with Satterthwaite's degrees of freedom.

    Source: Satterthwaite 1946, Biometrics Bulletin 2(6).
    """
    kept = _kept(groups)
    estimate = sum(weights[name] * float(values.mean()) if len(values) else math.nan for name, values in kept.items())
    begun = Result(effect, unit, _count(kept), "difference", "Welch's t", estimate)
    if reason := _unfit(kept, FEWEST):
        return replace(begun, reason=reason)
    parts = np.array([weights[name] ** 2 * values.var(ddof=1) / len(values) for name, values in kept.items()])
    error, freedom = math.sqrt(parts.sum()), parts.sum() ** 2 / sum(parts**2 / [len(one) - 1 for one in kept.values()])
    reach = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return replace(
        begun,
        low=estimate - reach,
        high=estimate + reach,
        statistic=estimate / error,
        df=1,
        df_within=float(freedom),
        p=float(2 * stdtr(freedom, -abs(estimate / error))),
    )


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


def _kept(groups: Groups) -> dict[str, Floats]:
    known = {name: np.asarray(values, dtype=float) for name, values in groups.items()}
    return {name: values[np.isfinite(values)] for name, values in known.items()}


def _count(groups: Groups) -> int:
    return sum(map(len, groups.values()))


def _unfit(groups: Groups, least: int, each: bool = False, conditions: int = 2) -> str:
    """Why there is no test; `each`: the test divides by every condition's own spread."""
    if len(groups) < conditions:
        return "one condition only" if groups else "no condition"
    if min(map(len, groups.values())) < least:
        return f"fewer than {least} units a condition"
    alike = [name for name, values in groups.items() if is_even(values)]
    if alike and (each or len(alike) == len(groups)):
        return f"no unit of {', '.join(alike)} differs from another"
    return ""
