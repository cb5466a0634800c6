"""The same split of the variance by a hierarchical Bayesian model, with effects of topics that are pooled in part.

The model: difference = average + one normal effect for each level of each factor + normal residual. The standard deviations have
half-t priors (4 degrees of freedom), the average a normal one. Such a model is conjugate, so a Gibbs sampler of a few lines draws
all effects at once. None of Parley's dependencies has a sampler for it. benchmarks/claims.py calibrates this one by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from parley.analysis.statistics.intervals import LEVEL, Floats
from parley.studies.claims.variance import RESIDUAL, indicators

FREEDOM = 4.0
"""Degrees of freedom of the half-t priors."""
WIDE = 5.0
"""Standard deviation of the prior of the average, in units of the scale."""
WARM, DRAWS = 500, 2000
ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


@dataclass(frozen=True)
class Posterior:
    """Draws: the average; the effects of each factor's levels (draws, levels); the residual variance.

    Levels are in the order of their codes.
    """

    average: Floats
    effects: Mapping[str, Floats]
    residual: Floats

    def mean_beyond(self, factor: str) -> Floats:
        """Return draws of the average effect for levels like those of one factor, over the levels of all others as they are."""
        others = [drawn.mean(axis=1) for name, drawn in self.effects.items() if name != factor]
        return self.average + np.sum(others, axis=0) if others else self.average

    def shares(self) -> dict[str, Floats]:
        """Return draws of each factor's share of the variance: that of the effects of its levels, of these levels.

        Source: Gelman 2005, Annals of Statistics 33(1) (finite-population variances).
        """
        parts = {name: drawn.var(axis=1) for name, drawn in self.effects.items()} | {RESIDUAL: self.residual}
        total = np.sum(list(parts.values()), axis=0)
        return {name: variance / total for name, variance in parts.items()}


def interval_of(draws: Floats) -> tuple[float, float]:
    """Return the central 95% interval of draws."""
    low, high = np.quantile(draws, ENDS)
    return float(low), float(high)


def sample_posterior(
    values: Floats,
    factors: Mapping[str, np.ndarray],
    rng: np.random.Generator,
    scale: float = 0.0,
    draws: int = DRAWS,
    warm: int = WARM,
) -> Posterior:
    """Return draws from the posterior, of differences with these levels of each factor.

    scale: of the half-t priors (0: the standard deviation of the differences). Source of the prior as a mixture: Huang and Wand
    2013, Bayesian Analysis 8(2).
    """
    scale = scale or float(values.std()) or 1.0
    columns = [indicators(codes) for codes in factors.values()]
    sizes = np.array([block.shape[1] for block in columns], dtype=int)
    places = np.repeat(np.arange(len(columns)), sizes)
    design = np.hstack([np.ones((len(values), 1)), *columns])
    gram, target, squares = design.T @ design, design.T @ values, float(values @ values)
    variances, mixing = np.full(len(columns) + 1, scale**2), np.ones(len(columns) + 1)
    counts = np.append(sizes, len(values))
    kept = np.empty((draws, design.shape[1] + 1))
    for step in range(warm + draws):
        prior = np.concatenate([[1 / (WIDE * scale) ** 2], 1 / variances[:-1][places]])
        drawn = _normal(gram / variances[-1] + np.diag(prior), target / variances[-1], rng)
        lost = squares - 2 * float(drawn @ target) + float(drawn @ gram @ drawn)
        # `lost` is a sum of squares, which rounding can carry below 0.
        sums = np.append(np.bincount(places, drawn[1:] ** 2, len(columns)), max(lost, 0.0))
        variances = _inverse_gamma((FREEDOM + counts) / 2, FREEDOM / mixing + sums / 2, rng)
        mixing = _inverse_gamma(np.full(len(mixing), (FREEDOM + 1) / 2), FREEDOM / variances + 1 / scale**2, rng)
        if step >= warm:
            kept[step - warm] = [*drawn, variances[-1]]
    ends = np.cumsum([1, *sizes])
    effects = {name: kept[:, at:end] for name, at, end in zip(factors, ends, ends[1:], strict=False)}
    return Posterior(kept[:, 0], effects, kept[:, -1])


def _normal(precision: Floats, target: Floats, rng: np.random.Generator) -> Floats:
    """Draw from the normal distribution with this precision matrix, and mean precision⁻¹ target."""
    # With precision = L Lᵀ, L⁻ᵀ (L⁻¹ target + z) has this mean, and the covariance L⁻ᵀ L⁻¹ = precision⁻¹.
    lower = cholesky(precision, lower=True, check_finite=False)
    mean = solve_triangular(lower, target, lower=True, check_finite=False)
    drawn: Floats = solve_triangular(lower.T, mean + rng.standard_normal(len(target)), check_finite=False)
    return drawn


def _inverse_gamma(shape: Floats, rate: Floats, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(rate / rng.gamma(shape))


def probability(draws: Floats, above: float) -> float:
    """Return the share of draws above a value; NaN without draws."""
    return float((draws > above).mean()) if len(draws) else math.nan
