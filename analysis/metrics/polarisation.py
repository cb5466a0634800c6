"""How polarised is a room? Spread, two peaks, and camps that are large, alike within and far apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import kurtosis, skew

from parley.analysis.bootstrap import Floats
from parley.analysis.metrics._rooms import Room, RoomMeasurement, missing_measurements, rated_rooms, room_means, rooms
from parley.analysis.tables import Tables, rating_value

ORDER = 7
TITLE = "Polarisation"
NOTE = (
    "Of the attitudes (0-10) in a room, means over rooms. Variance is that of a sample (n - 1); its change is within rooms, "
    "since the first survey, over people rated at both. The bimodality coefficient "
    "(Sarle, with the correction for finite samples) is 5/9 for a flat distribution and more for two peaks; it needs four "
    "ratings that are not all alike. Esteban and Ray's polarisation (alpha = 1.3, attitudes as whole points) is 0 where all "
    "agree and 1 where half stand at each end; with few people it jumps where two come to the same point, so that nothing is "
    "concluded from it."
)
LABELS = {
    "rooms": "rooms",
    "variance": "variance",
    "change": "change of variance",
    "bimodality": "bimodality coefficient",
    "esteban_ray": "Esteban-Ray",
    "reason": "why empty",
}
MEASURES = ("variance", "change", "bimodality", "esteban_ray")
ALPHA = 1.3
"""Sensitivity to polarisation; Esteban and Ray's axioms leave 0 (a Gini coefficient) to 1.6, and with the fourth 1 to 1.6."""
WIDTH = 10
"""Of the axis of attitudes."""


def compute(tables: Tables) -> pd.DataFrame:
    """One row a topic, group and round: rooms, missing (ratings), variance, change, bimodality, esteban_ray, reason."""
    return room_means(
        (
            {
                **room.keys,
                "round": round_,
                "missing": missing_measurements(room.at(round_)),
                **measures(rated_rooms(room.at(round_))),
                "change": change(room, round_),
            }
            for room in rooms(rating_value(tables))
            for round_ in room.attitudes
        ),
        MEASURES,
    )


def headline(found: pd.DataFrame) -> str:
    last = found.groupby(["topic", "group"], sort=False).tail(1)
    rose, fell = int((last["change_low"] > 0).sum()), int((last["change_high"] < 0).sum())
    if not rose + fell:
        return "Whether opinions within rooms spread or drew together cannot be told."
    return (
        f"Opinions within rooms (their variance) spread in {rose} and drew together in {fell} of {len(last)} topics and groups "
        f"by more than chance; for {len(last) - rose - fell} this is not certain."
    )


def change(room: Room, round_: int) -> RoomMeasurement:
    """The variance after a round minus that at the first survey, over the people rated at both."""
    both = room.attitudes[[room.attitudes.columns[0], round_]]
    if round_ == both.columns[0]:
        return RoomMeasurement(None)
    return spreading(both.to_numpy(dtype=float))


def spreading(both: Floats) -> RoomMeasurement:
    """The change of variance of ratings at two surveys (people, 2), over the people rated at both.

    >>> spreading(np.array([[2.0, 1.0], [4.0, 5.0], [9.0, np.nan]])).value
    6.0
    """
    first, now = both[np.isfinite(both).all(axis=1)].T
    if len(now) < 2:
        return RoomMeasurement(None, "fewer than 2 rated at both surveys")
    return RoomMeasurement(float(now.var(ddof=1) - first.var(ddof=1)))


def measures(values: Floats) -> dict[str, RoomMeasurement]:
    """The three measures of the ratings of one room and round."""
    return {"variance": variance(values), "bimodality": bimodality(values), "esteban_ray": esteban_ray(values)}


def variance(values: Floats) -> RoomMeasurement:
    """The variance of a sample; of two at least.

    >>> variance(np.array([2.0, 4.0, 6.0])).value
    4.0
    """
    return (
        RoomMeasurement(float(values.var(ddof=1))) if len(values) > 1 else RoomMeasurement(None, "fewer than 2 rated")
    )


def bimodality(values: Floats) -> RoomMeasurement:
    """Sarle's bimodality coefficient (g² + 1) / (k + 3(n - 1)² / ((n - 2)(n - 3))), g skewness and k excess kurtosis, both
    corrected for bias. A normal distribution has 1/3, a flat one 5/9, two points 1 (for large n).

    Source: SAS/STAT user's guide (PROC CLUSTER); Pfister et al. 2013, Frontiers in Psychology 4:700.

    >>> round(bimodality(np.array([0.0, 0.0, 10.0, 10.0])).value, 4)
    0.1333
    """
    n = len(values)
    if n < 4:
        return RoomMeasurement(None, "fewer than 4 rated")
    if np.ptp(values) == 0:
        return RoomMeasurement(None, "everybody alike")
    corrected = 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))
    return RoomMeasurement(float((skew(values, bias=False) ** 2 + 1) / (kurtosis(values, bias=False) + corrected)))


def esteban_ray(values: Floats) -> RoomMeasurement:
    """K * sum over camps i, j of p_i^(1 + alpha) * p_j * |y_i - y_j|, with K such that half at each end of the axis make 1.

    A camp is everybody who stands at the same whole point (people identify with those alike); p is its share. With K the
    measure depends on neither the number of people nor the units. Source: Esteban and Ray 1994, Econometrica 62(4), theorem 1.

    >>> esteban_ray(np.array([0.0, 10.0])).value, round(esteban_ray(np.array([0.0, 5.0])).value, 3)
    (1.0, 0.5)
    """
    if not len(values):
        return RoomMeasurement(None, "nobody rated")
    points, counts = np.unique(np.round(values), return_counts=True)
    shares = counts / counts.sum()
    apart = np.abs(points[:, None] - points)
    return RoomMeasurement(float(2 ** (1 + ALPHA) / WIDTH * (shares ** (1 + ALPHA) @ apart @ shares)))
