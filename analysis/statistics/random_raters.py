"""The mean and the agreement of raters in general, of whom the raters are a sample.

A score is a mean, plus the value of the item, plus the severity of the rater, plus an error; items and raters are both drawn at
random (two-way random effects; Shrout and Fleiss 1979, ICC(2,1) and ICC(2,k)). Intervals are generalised ones: the mean squares
of items, raters and errors divided by draws of their distributions (Weerahandi 1993, Journal of the American Statistical
Association 88; Burdick, Borror and Montgomery 2005). They hold with three raters, where intervals by Satterthwaite do not. The
items' degrees of freedom are fewer where their values are far from normal, by a jackknife.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from parley.analysis.statistics.intervals import Ends, Floats
from parley.llm.seeding import derive

FEWEST_RATERS, FEWEST_ITEMS, DRAWS = 3, 20, 10_000
"""Raters, and items with a score of every rater, that a claim about raters in general needs; draws of an interval."""


@dataclass(frozen=True)
class Component:
    """A value with its 95% interval over items and raters."""

    value: float
    ends: Ends


@dataclass(frozen=True)
class RandomRaters:
    """What holds for raters in general.

    items: those that every rater scored. mean: of all items by all raters. severity: the SD of raters' severities. agreement:
    ICC(2,1), of the score of one rater. agreement_of_means: ICC(2,k), of the mean of as many raters as the file has.
    """

    items: int
    raters: int
    mean: Component
    severity: Component
    agreement: Component
    agreement_of_means: Component


def why_no_sample(scores: Floats) -> str:
    """Return why nothing can be said of raters in general from scores (items, raters; NaN: none), or nothing."""
    whole = scores[np.isfinite(scores).all(axis=1)]
    if scores.shape[1] < FEWEST_RATERS:
        return f"it needs {FEWEST_RATERS} raters"
    if len(whole) < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items have a score of every rater"
    return "the items do not differ" if np.ptp(whole.mean(axis=1)) == 0 else ""


def fit_random_raters(scores: Floats) -> RandomRaters:
    """Return the fit to the items that every rater scored; `why_no_sample` says when there is none."""
    whole = scores[np.isfinite(scores).all(axis=1)]
    items, raters = whole.shape
    squares, freedom = _mean_squares(whole)
    rng = np.random.default_rng(derive(0, "raters in general"))
    drawn = squares * freedom / rng.chisquare(freedom, (DRAWS, 3))
    centre = whole.mean() - rng.standard_normal(DRAWS) * _error_of_mean(drawn, items, raters)
    values, draws = _components(squares[None], items, raters)[0], _components(drawn, items, raters)
    parts = [
        Component(float(value), _ends(component_draws)) for value, component_draws in zip(values, draws.T, strict=True)
    ]
    return RandomRaters(items, raters, Component(float(whole.mean()), _ends(centre)), *parts)


def _mean_squares(scores: Floats) -> tuple[Floats, Floats]:
    """Return the mean squares of items, raters and errors, and their degrees of freedom, (3,) each."""
    items, raters = scores.shape
    rows, columns = scores.mean(axis=1), scores.mean(axis=0)
    rest = scores - rows[:, None] - columns + scores.mean()
    free = np.array([items - 1.0, raters - 1.0, (items - 1.0) * (raters - 1.0)])
    sums = np.array([raters * items * rows.var(), items * raters * columns.var(), (rest**2).sum()])
    return sums / free, np.array([min(free[0], _freedom(rows)), free[1], free[2]])


def _freedom(values: Floats) -> float:
    """Return the degrees of freedom of a variance, from the jackknife of its logarithm (normal values: about n - 1)."""
    n = len(values)
    values = values - values.mean()
    left = ((values**2).sum() - values**2 - values**2 / (n - 1)) / (n - 2)
    if left.min() <= 0:
        return 1.0
    logs = np.log(left)
    spread = float((n - 1) * logs.var())
    return max(1.0, 2 / spread) if spread > 0 else n - 1.0


def _components(squares: Floats, items: int, raters: int) -> Floats:
    """Return the SD of severities, ICC(2,1) and ICC(2,k) of mean squares (draws, 3), (draws, 3)."""
    of_items, of_raters, error = squares.T
    true = np.maximum((of_items - error) / raters, 0)
    severity = np.maximum((of_raters - error) / items, 0)
    both = [true / (true + severity + error), true / (true + (severity + error) / raters)]
    return np.column_stack([np.sqrt(severity), *both])


def _error_of_mean(squares: Floats, items: int, raters: int) -> Floats:
    """Return the standard error of the mean of all scores, of mean squares (draws, 3)."""
    of_items, of_raters, error = squares.T
    inside = np.maximum(of_items, error) + np.maximum(of_raters, error) - error
    root: Floats = np.sqrt(inside / (items * raters))
    return root


def _ends(draws: Floats) -> Ends:
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(low), float(high)
