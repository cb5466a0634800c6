"""How polarised is a room? Spread, two peaks, and camps far apart.

Sources: Pfister et al. 2013 (bimodality); Esteban and Ray 1994. Bimodality is unreliable for a few people: ratings of 0, 0, 10
and 10 give .13.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kurtosis, skew

from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.metrics._cells import count_signs
from parley.analysis.rooms import KEYS, Room, RoomMeasurement, room_means, rooms, why_unknown
from parley.analysis.statistics.intervals import NO_VARIATION, POSITIVE, SHARE, Floats
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

ORDER = 7
TITLE = "Polarisation"
NOTE = (
    "The numbers describe the attitudes (0-10) in a room, averaged over rooms. Variance is the variance of a sample (n - 1). "
    "Change of variance compares a room with its first survey, over agents rated at both surveys. The bimodality coefficient "
    "(Sarle, corrected for finite samples) is 5/9 for a flat distribution and higher for two peaks. The bimodality coefficient "
    "needs four ratings that are not all equal. Esteban and Ray's polarisation (alpha = 1.3, attitudes as whole points) is 0 if "
    "all agents agree, and 1 if half of the agents are at each end of the axis. In small rooms, Esteban and Ray's polarisation "
    "jumps when two agents reach the same point, so draw no conclusion. *At the ends* is the share of ratings within half a "
    "point of an end of the axis. At an end, opinions seem to come closer together because the axis stops. So the report gives "
    "no verdict on opinions coming closer together if more than 10% of the ratings are at the ends."
)
LABELS = {
    "rooms": "rooms", "variance": "variance", "change": "change of variance",
    "bimodality": "bimodality coefficient", "esteban_ray": "Esteban-Ray", "ends": "at the ends", "reason": "reason if missing",
}  # fmt: skip
MEASURES = ("variance", "change", "bimodality", "esteban_ray")
BOUNDS = {"variance": POSITIVE, "bimodality": POSITIVE, "esteban_ray": SHARE}
"""Of the measures that have bounds. The bimodality coefficient of a small sample can be above 1."""
ALPHA = 1.3
"""Sensitivity to polarisation; Esteban and Ray's axioms leave 0 (a Gini coefficient) to 1.6, and with the fourth 1 to 1.6."""
FEW = "fewer than 2 rated"
WIDTH = 10
"""Width of the axis of attitudes (points)."""
SMALLEST = 0.005
"""A change of variance below this is none: it would be printed as 0.00."""
END = 0.5
"""Points from an end of the axis within which a rating is at the end."""
MOST_AT_ENDS = 0.1
"""The share of ratings at the ends above which a change of variance has no verdict. With it a drift of opinions alone is taken
for a change of their spread in at most 7% of runs of 10 rooms and 10% of 40 (tools/log)."""

CLOSER = "whether opinions within rooms came closer together"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: rooms, missing (ratings), variance, change, bimodality, esteban_ray, ends, reason.

    ends: the share of the ratings within half a point of an end of the axis, the mean over rooms.
    """
    rows = [_row(room, round_) for room in rooms(tables) for round_ in room.attitudes]
    return with_ends(room_means(rows, MEASURES, bounds=BOUNDS), rows)


def with_ends(table: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Add `ends` to a table of `room_means`: the mean of `at_the_ends` over the rooms of its rows."""
    keys = [*KEYS, "round"]
    shares = pd.DataFrame(rows, columns=[*keys, "ends"]).groupby(keys, as_index=False)["ends"].mean()
    order = [*table.columns[:-1], "ends", "reason"]
    return table.merge(shares.astype(table.dtypes[keys]), on=keys, how="left")[order].astype({"ends": "float64"})


def at_the_ends(values: Floats) -> float:
    """Return the share of ratings within half a point of an end of the axis; NaN of none.

    >>> at_the_ends(np.array([0.0, 5.0, 9.6, 10.0]))
    0.75
    """
    return float(((values <= END) | (values >= WIDTH - END)).mean()) if len(values) else float("nan")


def hidden_by_ends(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the share of ratings at the ends by topic and group, where a change of variance may come from the end of the scale.

    Ratings that reach an end cannot move on, so they seem to come closer together there, and to spread where they leave it.
    """
    doubtful = {}
    for keys, group_rows in table.groupby(list(KEYS), sort=False):
        first, last = (group_rows.iloc[place] for place in (0, -1))
        here, there = (last, first) if last["change"] < 0 else (first, last)
        if here["ends"] > MOST_AT_ENDS and here["ends"] >= there["ends"]:
            doubtful[keys] = float(here["ends"])
    return doubtful


def headline(table: pd.DataFrame) -> str:
    last = table.groupby(list(KEYS), sort=False).tail(1)
    if last["change"].isna().all():
        return unknown_sentence(CLOSER, "no room has two agents rated at both surveys")
    rows = last.to_dict("records")
    reasons = [why_unknown(row, "change") for row in rows if not _is_same(row)]
    if last["change_low"].isna().all() and not reasons:
        return _same_everywhere(last["change"])
    if last["change_low"].isna().all() and any(reasons):
        return unknown_sentence(CLOSER, reasons[0])
    rose, fell, uncertain = count_signs(last, "change")
    if not rose + fell:
        return "Opinions within rooms did not detectably spread or come closer together."
    doubtful = hidden_by_ends(table)
    clear = last[[keys not in doubtful for keys in zip(last["topic"], last["group"], strict=True)]]
    changed, shares = rose + fell, sorted(doubtful.values())
    rose, fell, _ = count_signs(clear, "change")
    hidden = changed - rose - fell
    span = " to ".join(dict.fromkeys(f"{share:.0%}" for share in (shares[0], shares[-1]))) if shares else ""
    why = f"{span} of the ratings are at an end of the scale, where a further change cannot be seen"
    if len(last) == 1:
        if hidden:
            return unknown_sentence(f"{CLOSER} or spread", why)
        return f"Opinions within rooms {'came closer together' if fell else 'spread'} (measured by the variance)."
    of = "topics" if last["group"].nunique() == 1 else "topics and groups"
    rest = f"; in {uncertain} of them the direction is uncertain" if uncertain else ""
    rest += f"; in {hidden} of them it is unknown, because {why}" if hidden else ""
    return (
        f"Opinions within rooms came closer together in {fell} of {len(last)} {of} and spread in {rose}{rest} "
        "(measured by the variance)."
    )


def _is_same(row: Mapping[Any, Any]) -> bool:
    """Return whether the variance changed by the same amount in every room, and there are enough of them."""
    return bool(pd.notna(row["change"])) and why_unknown(row, "change").startswith(NO_VARIATION)


def _same_everywhere(changes: pd.Series) -> str:
    """Return the sentence on changes of variance, one a topic and group, each the same in every room."""
    if (changes.abs() < SMALLEST).all():
        return "Opinions within rooms did not spread or come closer together in any room."
    ends = dict.fromkeys(amount((change, np.nan, np.nan), HIGHER, "") for change in (changes.min(), changes.max()))
    return (
        f"The variance of opinions within rooms ended {' to '.join(ends)} than it began, by the same amount "
        "in every room, so there is no interval."
    )


def _row(room: Room, round_: int) -> dict[str, Any]:
    values, first = room.rated(round_), room.attitudes.columns[0]
    both = room.attitudes[[first, round_]].to_numpy(dtype=float)
    return room.survey_keys(round_) | {
        "variance": variance(values),
        "change": RoomMeasurement(None) if round_ == first else spreading(both),
        "bimodality": bimodality(values),
        "esteban_ray": esteban_ray(values),
        "ends": at_the_ends(values),
    }


def spreading(both: Floats) -> RoomMeasurement:
    """Return the change of variance of ratings at two surveys (agents, 2), over the agents rated at both.

    >>> spreading(np.array([[2.0, 1.0], [4.0, 5.0], [9.0, np.nan]])).value
    6.0
    """
    first, now = both[np.isfinite(both).all(axis=1)].T
    if len(now) < 2:
        return RoomMeasurement(None, "fewer than 2 agents were rated at both surveys")
    return RoomMeasurement(float(now.var(ddof=1) - first.var(ddof=1)))


def variance(values: Floats) -> RoomMeasurement:
    """Return the variance of a sample of at least two.

    >>> variance(np.array([2.0, 4.0, 6.0])).value
    4.0
    """
    return RoomMeasurement(float(values.var(ddof=1))) if len(values) > 1 else RoomMeasurement(None, FEW)


def bimodality(values: Floats) -> RoomMeasurement:
    """Return Sarle's bimodality coefficient (g² + 1) / (k + 3(n - 1)² / ((n - 2)(n - 3))), g skewness and k excess
    kurtosis, both corrected for bias. A normal distribution has 1/3, a flat one 5/9, two points 1 (for large n).

    Source: SAS/STAT user's guide (PROC CLUSTER); Pfister et al. 2013, Frontiers in Psychology 4:700.

    >>> round(bimodality(np.array([0.0, 0.0, 10.0, 10.0])).value, 4)
    0.1333
    """
    n = len(values)
    if n < 4:
        return RoomMeasurement(None, "fewer than 4 rated")
    if np.ptp(values) == 0:
        return RoomMeasurement(None, "all agents alike")
    corrected = 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))
    return RoomMeasurement(float((skew(values, bias=False) ** 2 + 1) / (kurtosis(values, bias=False) + corrected)))


def esteban_ray(values: Floats) -> RoomMeasurement:
    """Return K * sum over camps i, j of p_i^(1 + alpha) * p_j * |y_i - y_j|, K such that half at each end give 1.

    A camp is all agents at the same whole point; p is its share. With K the measure depends on neither the number of
    agents nor the units. Source: Esteban and Ray 1994, Econometrica 62(4), theorem 1.

    >>> esteban_ray(np.array([0.0, 10.0])).value, round(esteban_ray(np.array([0.0, 5.0])).value, 3)
    (1.0, 0.5)
    """
    if len(values) < 2:
        return RoomMeasurement(None, FEW)
    points, counts = np.unique(np.round(values), return_counts=True)
    shares = counts / counts.sum()
    apart = np.abs(points[:, None] - points)
    return RoomMeasurement(float(2 ** (1 + ALPHA) / WIDTH * (shares ** (1 + ALPHA) @ apart @ shares)))
