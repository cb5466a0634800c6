"""Several conditions with one number a unit (a room's mean): do they differ in level, do they differ in spread, and which ones?

All of scipy and statsmodels. The groups map a condition's name to its units; NaN units are left out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from scipy.stats import levene, ttest_ind, tukey_hsd
from statsmodels.stats.oneway import anova_oneway, confint_effectsize_oneway

from analysis.bootstrap import Floats
from analysis.statistics.results import Result

Groups = Mapping[str, Floats]
TOO_FEW, COUNTS = "fewer than two conditions with {} units each", {2: "two", 3: "three"}


def level(effect: str, groups: Groups, unit: str, equal: bool = False) -> Result:
    """Welch's one-way ANOVA, or Fisher's (`equal` spreads). The estimate is eta squared, its interval from noncentral F."""
    kept, test = _kept(groups), "one-way ANOVA" if equal else "Welch's ANOVA"
    begun = Result(effect, unit, _count(kept), "eta squared", test)
    if reason := _unfit(kept, each=not equal):
        return replace(begun, reason=reason)
    found = anova_oneway(list(kept.values()), use_var="equal" if equal else "unequal")
    statistic, (between, within) = float(found.statistic), map(float, found.df)
    with np.errstate(divide="ignore"):  # statsmodels divides by a lower end of 0 on the way to another effect size
        low, high = confint_effectsize_oneway(statistic, (between, within)).eta2
    explained = statistic * between
    return replace(
        begun,
        estimate=explained / (explained + within),
        low=float(low) if high > 0 else math.nan,  # at F near 0 the ends collapse: the interval would look sure
        high=float(high) if high > 0 else math.nan,
        statistic=statistic,
        df=between,
        df_within=within,
        p=float(found.pvalue),
    )


def spread(effect: str, groups: Groups, unit: str) -> Result:
    """Levene's test of equal spread, by medians (Brown and Forsythe's). The estimate is the largest over the smallest SD.

    With two units a condition there is no test: both are as far from their middle, and any difference would look sure.
    """
    kept = _kept(groups)
    begun = Result(effect, unit, _count(kept), "largest SD / smallest SD", "Levene (medians)")
    if reason := _unfit(kept, 3):
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
    if reason := _unfit(kept, each=not equal):
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


def two(effect: str, first: Floats, second: Floats, unit: str) -> Result:
    """Second minus first by Welch's t."""
    kept = _kept({"first": first, "second": second})
    begun = Result(effect, unit, _count(kept), "difference", "Welch's t")
    if reason := _unfit(kept):
        return replace(begun, reason=reason)
    one, other = kept["first"], kept["second"]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)  # one of the two may be all alike
        found = ttest_ind(other, one, equal_var=False)
    ends = found.confidence_interval()
    return replace(
        begun,
        estimate=float(other.mean() - one.mean()),
        low=float(ends.low),
        high=float(ends.high),
        statistic=float(found.statistic),
        df=1,
        df_within=float(found.df),
        p=float(found.pvalue),
        size=hedges(one, other),
        size_name="Hedges' g",
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


def _unfit(groups: Groups, least: int = 2, each: bool = False) -> str:
    """Why there is no test; `each`: the test divides by every condition's own spread."""
    if len(groups) < 2 or min(map(len, groups.values())) < least:
        return TOO_FEW.format(COUNTS[least])
    alike = [name for name, values in groups.items() if np.ptp(values) < 1e-9]  # more is rounding
    if alike and (each or len(alike) == len(groups)):
        return f"no unit of {', '.join(alike)} differs from another"
    return ""
