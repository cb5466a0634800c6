"""Groups compared with what theory predicts from the measured curve: direction, agreement, and unanimity.

direction   the mean answer of a room after the last round, from -1 to 1
agreement   its size
unanimous   whether all answer alike after the last round
once        whether all answered alike in at least one round

For each set of likely parameters (fit.py), the distribution of the number who are for is computed exactly, and as many rooms are
drawn from it as were run. So the interval of a prediction has the uncertainty of the curve and the chance of so few
rooms. Of a group that begins alone, the probability of the first answer is drawn from its Jeffreys posterior (Brown,
Cai and DasGupta 2001, Statistical Science 16). Theory takes all people to answer alike, by the pooled curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from parley.analysis.statistics.intervals import FEWEST, Floats

from .fit import Fit
from .theory import Curve, after, agreed_by, means

OUTCOMES = ("direction", "agreement", "unanimous", "once")
NO_CURVE, FEW_PEOPLE, FEW_ROOMS = "no curve", "fewer than 5 people in the curve", "fewer than 5 rooms"


class Cell(NamedTuple):
    """Rooms of one topic and condition: their mean answers after the last round, the share of them in which all
    answered alike once, and what the prediction needs (missing: the share of replies that could not be read;
    incomplete: rooms that are left out).
    """

    topic: str
    size: int
    temperature: float
    begins: str
    rounds: int
    ends: Floats
    once: float
    missing: float
    incomplete: int


class Prediction(NamedTuple):
    """Draws (number, outcomes) of the mean outcomes of so many rooms, and what was observed; draws is None with a reason."""

    cell: Cell
    observed: Floats
    draws: Floats | None
    reason: str = ""


def outcomes(ends: Floats) -> Floats:
    """Return direction, agreement and unanimity, means over the last axis of mean answers of rooms.

    >>> outcomes(np.array([1.0, -1.0, 0.5, -0.5])).tolist()
    [0.0, 0.75, 0.5]
    """
    size = np.abs(ends)
    return np.stack([ends.mean(axis=-1), size.mean(axis=-1), (size > 1 - 1e-9).mean(axis=-1)], axis=-1)


def predict(cell: Cell, found: Fit | None, alone: tuple[int, int], rng: np.random.Generator) -> Prediction:
    """Return the prediction for a cell. alone: how many of how many answers without others were for the claim."""
    observed = np.append(outcomes(cell.ends), cell.once) if len(cell.ends) else np.full(len(OUTCOMES), np.nan)
    if found is None or (cell.begins == "alone" and not alone[1]):
        return Prediction(cell, observed, None, NO_CURVE)
    if found.people < FEWEST:
        return Prediction(cell, observed, None, FEW_PEOPLE)
    if len(cell.ends) < FEWEST:
        return Prediction(cell, observed, None, FEW_ROOMS)
    firsts = rng.beta(alone[0] + 0.5, alone[1] - alone[0] + 0.5, len(found.draws))
    rows = []
    for parameters, first in zip(found.draws, firsts, strict=True):
        place = (Curve(*parameters), cell.size, cell.begins, float(first), cell.rounds, cell.missing)
        counts, once = after(*place), min(agreed_by(*place), 1.0)
        rooms = rng.choice(means(cell.size), len(cell.ends), p=counts / counts.sum())
        rows.append(np.append(outcomes(rooms), rng.binomial(len(cell.ends), once) / len(cell.ends)))
    return Prediction(cell, observed, np.array(rows))


def prediction_row(prediction: Prediction) -> dict[str, Any]:
    """Return a row: the cell, each outcome as observed and predicted with its 95% interval, and whether it lies within."""
    cell = prediction.cell
    row: dict[str, Any] = {
        "topic": cell.topic, "size": cell.size, "temperature": cell.temperature, "begins": cell.begins, "rounds": cell.rounds,
        "rooms": len(cell.ends), "incomplete": cell.incomplete, "missing": cell.missing, "reason": prediction.reason,
    }  # fmt: skip
    for place, name in enumerate(OUTCOMES):
        row[name] = prediction.observed[place]
        drawn = None if prediction.draws is None else prediction.draws[:, place]
        low, high = (np.nan, np.nan) if drawn is None else np.quantile(drawn, [0.025, 0.975])
        row |= {
            f"predicted_{name}": np.nan if drawn is None else drawn.mean(),
            f"predicted_{name}_low": low,
            f"predicted_{name}_high": high,
        }
        row[f"{name}_within"] = None if drawn is None else bool(low <= row[name] <= high)
    return row


def misfit(predictions: Sequence[Prediction]) -> tuple[float, int]:
    """Return the probability, if theory and curves are true, of outcomes as far from the prediction as these or
    farther; and cells.

    The distance is the sum over cells and over direction and agreement of ((outcome - mean) / SD)^2 of the draws. The
    draws of cells that one curve predicts have the same parameters in the same place, so that its error counts once.
    NaN without cells.
    """
    tested = [one for one in predictions if one.draws is not None]
    if not tested:
        return float("nan"), 0
    observed, drawn = 0.0, np.zeros(len(_draws(tested[0])))
    for one in tested:
        draws, values = _draws(one)[:, :2], one.observed[:2]
        center, spread = draws.mean(axis=0), np.maximum(draws.std(axis=0), 1e-3)
        observed += float((((values - center) / spread) ** 2).sum())
        drawn += (((draws - center) / spread) ** 2).sum(axis=1)
    return float((1 + (drawn >= observed).sum()) / (1 + len(drawn))), len(tested)


def _draws(prediction: Prediction) -> Floats:
    assert prediction.draws is not None
    return prediction.draws
