"""Pull, bias and noise of a measured response curve: the most likely values, their intervals, and draws for predictions.

A curve is fitted twice: without coin tosses (noise 0), which places it on the map, and with them, which estimates the
noise and predicts groups. A shallow curve can be a gentle one without noise, or a steep one with much: then the fit
with noise leaves all three open.

The data are answers for a claim by the mean answer that people were told of the others. The likelihood of the curve of
theory.py is computed on a grid, so nothing can fail to converge, and an interval that the data leave open is open. The
interval of a parameter holds the values whose best likelihood, over the other two, is close enough to the highest.
Close enough is the squared quantile of Student's t for the number of people, times the design effect: the variance
over people (sandwich) divided by that of independent answers. Sources: Pawitan 2001, In All Likelihood, section 3.5
(profile likelihood); Liang and Zeger 1986, Biometrika 73 (sandwich); Rotnitzky and Jewell 1990, Biometrika 77 (the
adjusted likelihood ratio).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy
from scipy.stats import t as student

from parley.analysis.statistics.intervals import FEWEST, LEVEL, NONE, Ends, Floats

from .theory import Curve, mean_answer

PARAMETERS = Curve._fields
WIDEST = ((-4.0, 5.0), (-3.0, 3.0), (0.0, 0.8))
"""The values of pull, bias and noise that are considered."""
Spans = tuple[Ends, Ends, Ends]
NO_NOISE: Spans = (*WIDEST[:2], (0.0, 0.0))
COARSE, FINE = (81, 65, 10), (91, 161, 19)
"""Points of the two grids: the second is as wide as the likely part of the first."""
TINY = 1e-9
SMALLEST_EFFECT = 0.2
"""The least design effect: answers that are exactly alike for all people say less than their variance does."""


class Answers(NamedTuple):
    """Answers by person and by what was told: told (levels,) mean answers of the others; hits and sizes (people, levels)."""

    told: Floats
    hits: Floats
    sizes: Floats


class Fit(NamedTuple):
    """The most likely curve, the 95% interval of each parameter, and `draws` (number, 3) from the likelihood.

    An end of an interval is infinite where the data leave it open; all are NaN with fewer than five people.
    """

    curve: Curve
    ends: tuple[Ends, Ends, Ends]
    draws: Floats
    people: int


def fit(answers: Answers, rng: np.random.Generator, spans: Spans = WIDEST, draws: int = 400) -> Fit | None:
    """Return the fit; None without answers at two levels. spans: the values that are considered, such as NO_NOISE."""
    hits, sizes = answers.hits.sum(axis=0), answers.sizes.sum(axis=0)
    if (sizes > 0).sum() < 2:
        return None
    people = int((answers.sizes.sum(axis=1) > 0).sum())
    coarse = _axes(spans, COARSE)
    likely = _likelihood(coarse, answers.told, hits, sizes)
    effects = design_effects(answers, _best(coarse, likely))
    cut = float(student.ppf((1 + LEVEL) / 2, max(people, FEWEST) - 1)) ** 2 / 2
    axes = _axes(_likely_part(coarse, likely, 2 * cut * max(effects) + 2), FINE)
    likely = _likelihood(axes, answers.told, hits, sizes)
    cuts = [cut * effect for effect in (*effects, max(effects))]
    ends = [_profile(axes[place], likely, place, cuts[place]) for place in range(3)]
    drawn = _draw(axes, likely / max(effects), rng, draws)
    closed = ends if people >= FEWEST else [NONE] * 3
    return Fit(_best(axes, likely), (closed[0], closed[1], closed[2]), drawn, people)


def _axes(spans: tuple[Ends, ...], points: tuple[int, ...]) -> list[Floats]:
    return [np.linspace(*span, count if span[0] < span[1] else 1) for span, count in zip(spans, points, strict=True)]


def _likelihood(axes: list[Floats], told: Floats, hits: Floats, sizes: Floats) -> Floats:
    """Return the log-likelihood at each point of the grid, (pull, bias, noise)."""
    pull, bias, noise = np.meshgrid(*axes, indexing="ij", sparse=True)
    total = np.zeros(np.broadcast_shapes(pull.shape, bias.shape, noise.shape))
    for level, hit, size in zip(told, hits, sizes, strict=True):
        if size:
            share = np.clip((1 + mean_answer(level, pull, bias, noise)) / 2, TINY, 1 - TINY)
            total += xlogy(hit, share) + xlog1py(size - hit, -share)
    return total


def _best(axes: list[Floats], likely: Floats) -> Curve:
    """Return the most likely curve; of equally likely ones that with the least noise."""
    close = likely >= np.max(likely) - TINY
    place = min(zip(*np.nonzero(close), strict=True), key=lambda at: (at[2], abs(axes[0][at[0]]), abs(axes[1][at[1]])))
    return Curve(*(float(axis[at]) for axis, at in zip(axes, place, strict=True)))


def _likely_part(axes: list[Floats], likely: Floats, reach: float) -> tuple[Ends, ...]:
    """Return the span of each parameter within this reach of the highest log-likelihood, with one step more."""
    inside, spans = likely >= np.max(likely) - reach, []
    for place, axis in enumerate(axes):
        held = np.flatnonzero(inside.any(axis=tuple(other for other in range(3) if other != place)))
        spans.append((float(axis[max(held[0] - 1, 0)]), float(axis[min(held[-1] + 1, len(axis) - 1)])))
    return tuple(spans)


def _profile(axis: Floats, likely: Floats, place: int, cut: float) -> Ends:
    """Return the interval of one parameter; an end is infinite at the end of what is considered."""
    if len(axis) == 1:
        return NONE
    best = likely.max(axis=tuple(other for other in range(3) if other != place))
    gap = best - (np.max(best) - cut)
    held = np.flatnonzero(gap >= 0)
    low, high = _crossing(axis, gap, held[0], -1), _crossing(axis, gap, held[-1], 1)
    first, last = WIDEST[place]
    return (
        low if low > first + TINY else 0.0 if PARAMETERS[place] == "noise" else -np.inf,
        high if high < last - TINY else 1.0 if PARAMETERS[place] == "noise" else np.inf,
    )


def _crossing(axis: Floats, gap: Floats, inside: int, step: int) -> float:
    """Return where the profile crosses the cut between a point inside and the next one outside, by interpolation."""
    outside = inside + step
    if not 0 <= outside < len(axis):
        return float(axis[inside])
    weight = gap[inside] / (gap[inside] - gap[outside])
    return float(axis[inside] + weight * (axis[outside] - axis[inside]))


def design_effects(answers: Answers, curve: Curve) -> tuple[float, float]:
    """Return the variance over people of pull and of bias, each divided by that of independent answers, at this noise."""
    kept, told = 1 - curve.noise, answers.told
    slope = kept * (1 - np.tanh(curve.pull * told / kept + curve.bias) ** 2) / 2
    gradient = np.column_stack([slope * told / kept, slope])
    share = np.clip(curve.share(told), TINY, 1 - TINY)
    weight = 1 / (share * (1 - share))
    sizes = answers.sizes.sum(axis=0)
    information = (gradient * (sizes * weight)[:, None]).T @ gradient
    scores = ((answers.hits - answers.sizes * share) * weight) @ gradient
    people = int((answers.sizes.sum(axis=1) > 0).sum())
    if people < 2 or np.linalg.cond(information) > 1 / TINY:
        return 1.0, 1.0
    inverse = np.linalg.inv(information)
    spread = inverse @ (scores.T @ scores * people / (people - 1)) @ inverse
    effects = np.maximum(np.diag(spread) / np.diag(inverse), SMALLEST_EFFECT)
    return float(effects[0]), float(effects[1])


def _draw(axes: list[Floats], likely: Floats, rng: np.random.Generator, count: int) -> Floats:
    """Return (count, 3) parameters drawn with probabilities in proportion to the likelihood, evenly within a cell of the grid."""
    weights = np.exp(likely - np.max(likely)).ravel()
    cells = np.unravel_index(rng.choice(len(weights), count, p=weights / weights.sum()), likely.shape)
    drawn = []
    for axis, cell, span in zip(axes, cells, WIDEST, strict=True):
        step = axis[1] - axis[0] if len(axis) > 1 else 0.0
        drawn.append(np.clip(axis[cell] + step * rng.uniform(-0.5, 0.5, count), *span))
    return np.column_stack(drawn)
