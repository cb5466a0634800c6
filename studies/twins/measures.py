"""How much nearer to its person a twin is than a stranger's twin, other people, the last answer, the person later.

The unit is the person: points of a person are averaged first. Intervals are 95%, over groups: people who share a group,
directly or through others, are one cluster. Below five clusters (or where
a few have most of the people) there is no interval and no verdict.

gain         how much nearer the twin is than the other, in the unit of the measure; above 0: the twin is better
closed       the share of the way from the stranger's twin to the same person later that the twin goes, where wave 2 is known
r            correlation of predicted and real answers, as deviations from the mean of their question

The null of the gain over a stranger's twin is 0: if nothing that is known of a person says what it does, both are equally
far away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.deliberation.position_change import clustered_mean
from parley.analysis.formatting import format_estimate, format_number
from parley.analysis.statistics.intervals import (
    FEWEST,
    Floats,
    correlation,
    correlation_interval,
    interval,
    verdict,
    why_few,
    with_interval,
)
from parley.analysis.unknown import unknown_sentence

from .study import AGAIN, NATS, OPINION, PREDICTORS, ROLLOUT, SAYING, SMALLER, STRANGER, TWIN

TITLES: Mapping[str, str] = {
    OPINION: "next opinion: distance (share of the scale)",
    SAYING: "next message: likeness of words (cosine, 0 to 1)",
    NATS: "next message: log-probability per token (nats)",
    ROLLOUT: "opinion after a whole conversation of twins: distance (share of the scale)",
}
NAMES: Mapping[str, str] = {
    TWIN: "the person's twin", STRANGER: "a stranger's twin", "others": "other people", "unchanged": "the person's last answer",
    AGAIN: "the same person later",
}  # fmt: skip
COLUMNS = [
    "measure",
    "against",
    "people",
    "groups",
    "points",
    "twin",
    "other",
    "gain",
    "gain_low",
    "gain_high",
    "reason",
]


class Gap(NamedTuple):
    """One gain, with its interval and the counts behind it."""

    value: float
    low: float
    high: float
    people: int
    groups: int


def compare_all(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row per measure and predictor to compare with (COLUMNS). measured: rows of `study.COLUMNS`."""
    rows = [
        _compared(part, measure, against)
        for measure, part in measured.groupby("measure", sort=False)
        for against in PREDICTORS[1:]
        if part[against].notna().any()
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _compared(part: pd.DataFrame, measure: object, against: str) -> dict[str, Any]:
    complete = part.dropna(subset=[TWIN, against])
    sign = 1 if measure in SMALLER else -1
    gain = gap(complete, sign * (complete[against] - complete[TWIN]))
    row = {
        "measure": measure,
        "against": against,
        "people": gain.people,
        "groups": gain.groups,
        "points": len(complete),
    }
    row |= {"twin": complete[TWIN].mean(), "other": complete[against].mean()}
    row |= with_interval("gain", gain.value, (gain.low, gain.high))
    return row | {"reason": _why_unknown(complete, gain)}


def gap(rows: pd.DataFrame, values: pd.Series) -> Gap:
    """Return the mean over people of the mean of each person's values, with its interval over clusters."""
    people = rows.assign(value=values).groupby("person").agg(value=("value", "mean"), cluster=("cluster", "first"))
    mean = clustered_mean(people["value"], people["cluster"])
    return Gap(mean.value, mean.low, mean.high, mean.n, mean.clusters)


def _why_unknown(rows: pd.DataFrame, found: Gap) -> str:
    """Return why there is no verdict; "" if there is one."""
    if np.isfinite(found.low):
        return ""
    if not len(rows):
        return "no predicted point has both values"
    sizes = rows.groupby("cluster")["person"].nunique().to_numpy(dtype=float)
    return why_few(len(sizes), "group", sizes) or "all people have the same value"


def closed_way(measured: pd.DataFrame) -> dict[str, float] | None:
    """Return the share of the way from a stranger's twin to the same person later; None where too little is known.

    0: the twin is as far as a stranger's; 1: as near as the person itself. The interval is over clusters.
    """
    complete = measured[measured["measure"] == OPINION].dropna(subset=[TWIN, STRANGER, AGAIN])
    if complete["cluster"].nunique() < FEWEST:
        return None
    terms = pd.DataFrame({"gone": complete[STRANGER] - complete[TWIN], "whole": complete[STRANGER] - complete[AGAIN]})
    sums = terms.groupby(complete["cluster"]).sum().to_numpy(dtype=float)
    if sums[:, 1].sum() <= 0:
        return None
    sizes = complete.groupby("cluster").size().to_numpy(dtype=float)
    return with_interval("closed", float(_ratio(sums[None])[0]), interval(sums, _ratio, sizes))


def _ratio(drawn: Floats) -> Floats:
    top, bottom = np.moveaxis(drawn.sum(axis=1), -1, 0)
    return np.asarray(top / np.where(bottom > 0, bottom, np.nan))


def correlations(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return r of real answers with those of twins and of strangers' twins: predictor, points, groups, r, r_low, r_high."""
    rows = []
    for name, column in ((TWIN, "predicted"), (STRANGER, "stranger")):
        complete = predictions.dropna(subset=["real", column])
        deviations = [complete[each] - complete.groupby("topic")[each].transform("mean") for each in (column, "real")]
        x, y = (values.to_numpy(dtype=float) for values in deviations)
        products = pd.DataFrame(np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y]))
        sums = products.groupby(complete["cluster"].to_numpy()).sum().to_numpy(dtype=float).reshape(-1, 6)
        value = float(correlation(sums.sum(axis=0))) if len(sums) else np.nan
        ends = correlation_interval(sums) if len(sums) else (np.nan, np.nan)
        rows.append({"predictor": name, "points": len(complete), "groups": len(sums)} | with_interval("r", value, ends))
    return pd.DataFrame(rows)


WHAT: Mapping[str, tuple[str, str]] = {
    OPINION: ("predicts its person's next opinion better", "of the scale"),
    SAYING: ("writes messages that are more like its person's", "in the cosine of words"),
    NATS: ("finds its person's messages likelier", "nats per token"),
    ROLLOUT: ("ends a conversation nearer to its person's opinion", "of the scale"),
}


def sentence(row: Mapping[Any, Any]) -> str:
    """Return what a gain over a stranger's twin says, and no more than its interval shows."""
    what, unit = WHAT[row["measure"]]
    if row["reason"]:
        return unknown_sentence(f"whether a twin {what} than a stranger's twin", row["reason"])
    size = f"{format_estimate(row['gain'], row['gain_low'], row['gain_high'], 3)} {unit}"
    people = f"{row['people']:,} people in {row['groups']:,} groups"
    return verdict(
        row["gain_low"], row["gain_high"],
        f"A twin {what} than a stranger's twin does, by {size} ({people}).",
        f"A stranger's twin is nearer to the person than the person's own twin: gain {size} ({people}).",
        f"It is not shown that a twin {what} than a stranger's twin does: gain {size} ({people}).",
    )  # fmt: skip


SUBJECTS: Mapping[str, str] = {
    OPINION: "Next opinion", SAYING: "Next message", NATS: "Next message", ROLLOUT: "Opinion after a whole conversation",
}  # fmt: skip


def against_line(row: Mapping[Any, Any]) -> str:
    """Return how the twin compares with a predictor that needs no model; "" where that is unknown."""
    if row["reason"]:
        return ""
    ends = (row["gain_low"], row["gain_high"])
    way = verdict(
        *ends, "nearer to the person than", "farther from the person than", "not clearly nearer or farther than"
    )
    size = format_estimate(row["gain"], *ends, 3)
    means = f"distance {format_number(row['twin'], 3)} and {format_number(row['other'], 3)}"
    return f"{SUBJECTS[row['measure']]}: the twin is {way} {NAMES[row['against']]}: {means}, gain {size}."
