"""How much of the variance between differences is due to settings that mean the same, and to each other source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.linalg import matrix_rank
from scipy.linalg import cholesky, lstsq, solve_triangular
from scipy.optimize import brentq, minimize
from scipy.stats import f as fisher
from scipy.stats import ncf

from parley.analysis.statistics.intervals import ALIKE, FEWEST, LEVEL, Floats
from parley.studies.claims.multiverse import SPECIFICATION

ALPHA = 1 - LEVEL
MOST = 1e7
"""Largest noncentrality that is looked for."""
RESIDUAL = "residual"


@dataclass(frozen=True)
class Share:
    """The share of the variance between single differences that some settings account for, with its 95% interval.

    p: of no effect of these settings. df, df_error: degrees of freedom. reason: why the numbers are missing (NaN).
    """

    share: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    df: int = 0
    df_error: int = 0
    reason: str = ""


def setting_share(
    differences: pd.DataFrame, settings: Sequence[str], others: Sequence[str], strata: Sequence[str]
) -> Share:
    """Return the share of variance due to the main effects of `settings`, with `others` in the model.

    differences: `Multiverse.differences`. settings, others, strata: its columns; strata are the dimensions of the
    population. The mean of each topic and repetition (in a stratum) is subtracted. The specification is the unit of the test: the
    settings are tested against the variance between specifications that no main effect explains. Below `FEWEST` degrees of
    freedom for that there is no share.
    """
    measured = differences.dropna(subset="difference")
    by_unit = measured.groupby(["topic", "repetition", *strata], sort=False)["difference"]
    measured = measured.assign(deviation=measured["difference"] - by_unit.transform("mean"))
    means = measured.groupby(SPECIFICATION)["deviation"].mean()
    rows = measured.drop_duplicates(SPECIFICATION).set_index(SPECIFICATION).loc[means.index]
    nuisance = np.hstack([np.ones((len(rows), 1)), _dummies(rows, others), _cells(rows, strata)])
    full = np.hstack([nuisance, _dummies(rows, settings)])
    df = int(matrix_rank(full) - matrix_rank(nuisance))
    df_error = len(rows) - int(matrix_rank(full))
    if df < 1 or df_error < FEWEST:
        return Share(df=df, df_error=df_error, reason="too few specifications")
    response = means.to_numpy(dtype=float)
    error = _squares(response, full)
    explained = max(_squares(response, nuisance) - error, 0.0)
    total = float(measured["difference"].var(ddof=0))
    if total < ALIKE:
        return Share(df=df, df_error=df_error, reason="all differences are equal")
    if error < ALIKE * total:
        return Share(df=df, df_error=df_error, reason="specifications do not vary beyond these settings")
    return _share(explained, error / df_error, df, df_error, len(rows), total)


def _share(explained: float, noise: float, df: int, df_error: int, size: int, total: float) -> Share:
    """Return the share from a sum of squares, the mean square of its error, and the variance of single differences."""
    statistic = explained / df / noise
    variance = max(explained - df * noise, 0.0) / size
    rest = max(total - variance, noise / size)
    ends = [noncentrality * noise / size for noncentrality in noncentrality_interval(statistic, df, df_error)]
    low, high = (end / (end + rest) for end in ends)
    return Share(variance / (variance + rest), low, high, float(fisher.sf(statistic, df, df_error)), df, df_error)


def noncentrality_interval(statistic: float, df: int, df_error: int) -> tuple[float, float]:
    """Return the 95% interval of the noncentrality of an F statistic, which begins at 0 exactly where p is .05 or more.

    At a noncentrality of 0 all of the 5% is above, and for large ones half of it is on each side, so that the interval is never
    empty and contains the truth in 95% of cases everywhere. Source: Puza and O'Neill 2006, Canadian J. of Statistics 34(2).

    >>> noncentrality_interval(1.0, 3, 40)[0]
    0.0
    """

    def below(size: float) -> float:
        """The share of the 5% that lies below, by the noncentrality."""
        return ALPHA * size / (2 * (size + df))

    def distance(size: float, shift: float) -> float:
        chance = ncf.cdf(statistic, df, df_error, size) if size else fisher.cdf(statistic, df, df_error)
        return float(chance) - shift - below(size)

    low = 0.0 if distance(0, LEVEL) <= 0 else _root(lambda size: distance(size, LEVEL), statistic * df)
    return low, _root(lambda size: distance(size, 0.0), statistic * df + df)


def _root(function: Callable[[float], float], start: float) -> float:
    """Return where a falling function is 0."""
    end = max(start, 1.0)
    while function(end) > 0 and end < MOST:
        end *= 2
    return float(brentq(function, 0.0, end)) if function(0.0) > 0 > function(end) else (0.0 if end < MOST else end)


def _squares(response: Floats, predictors: Floats) -> float:
    """Return the sum of squared residuals of a least-squares fit."""
    fitted = predictors @ lstsq(predictors, response)[0]
    return float(((response - fitted) ** 2).sum())


def _dummies(rows: pd.DataFrame, columns: Sequence[str]) -> Floats:
    parts = [pd.get_dummies(rows[name], drop_first=True).to_numpy(dtype=float) for name in columns]
    return np.hstack(parts) if parts else np.zeros((len(rows), 0))


def _cells(rows: pd.DataFrame, columns: Sequence[str]) -> Floats:
    """Return a column for each combination of levels but the first."""
    if not columns:
        return np.zeros((len(rows), 0))
    return _dummies(rows.assign(cell=rows.groupby(list(columns), sort=False).ngroup()), ["cell"])


def variance_components(values: Floats, factors: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the variance of each crossed random factor, and of the residual, by restricted maximum likelihood.

    values: one per observation. factors: by name, the number of the level that each observation has. A variance can be 0.
    Source: Searle, Casella and McCulloch 1992, Variance Components, 6.6.
    """
    levels = [indicators(codes) for codes in factors.values()]
    scale = float(values.std()) or 1.0
    centred = (values - values.mean()) / scale
    design = np.hstack([np.ones((len(values), 1)), *levels])
    places = np.repeat(np.arange(len(levels)), [block.shape[1] for block in levels])
    sums = design.T @ design, design.T @ centred, float(centred @ centred), len(values)
    start = np.full(len(levels) + 1, 0.3)
    bounds = [(0.0, None)] * len(levels) + [(1e-3, None)]
    fit = minimize(_restricted, start, (places, *sums), method="L-BFGS-B", bounds=bounds)
    return dict(zip([*factors, RESIDUAL], (float(deviation * scale) ** 2 for deviation in fit.x), strict=True))


def indicators(codes: np.ndarray) -> Floats:
    """Return a column of 0 and 1 for each level."""
    columns: Floats = (codes[:, None] == np.unique(codes)).astype(float)
    return columns


def _restricted(
    deviations: Floats, places: np.ndarray, gram: Floats, target: Floats, squares: float, count: int
) -> float:
    """Return minus the restricted log-likelihood (but for a constant), from the sums of Henderson's mixed model equations.

    deviations: the standard deviation of each factor, then of the residual. places: the factor of each column but the first.
    """
    weights = np.append(1.0, deviations[:-1][places])
    noise = float(deviations[-1]) ** 2
    system = gram * np.outer(weights, weights) / noise
    system[np.arange(1, len(system)), np.arange(1, len(system))] += 1.0
    lower = cholesky(system, lower=True, check_finite=False)
    half = solve_triangular(lower, target * weights / noise, lower=True, check_finite=False)
    return float(count * math.log(noise) / 2 + np.log(np.diag(lower)).sum() + (squares / noise - half @ half) / 2)
