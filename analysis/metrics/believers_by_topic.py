"""On which items of news, and on which subjects, does belief grow most? Items are compared within repetitions.

Source: FPS (Liu et al. 2024, arXiv 2403.09498), which compares topics such as politics and science. Departures: items are made
up, and a verdict is corrected for the number of items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.contrasts import MORE, PERCENT, amount
from parley.analysis.metrics._cells import COUNTS, mean_columns, spans, verdict_frame
from parley.analysis.metrics.contagion import MIDDLE
from parley.analysis.rooms import rooms
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import FEWEST, SHARE, SIGNED, is_even, p_of_mean, too_few
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

ORDER = 9.5
TITLE = "Believers by topic"
NOTE = (
    "Believers are agents that believe the news (above 5 of 10). The share of believers is measured at the last survey, among "
    "agents rated at the first and the last survey. Gain is the change of the share of believers since the first survey. "
    "Difference is the gain minus the mean gain of all items in the same repetition, with the same people. The verdict says "
    "*more* or *less* than average only if p is below 0.05 after Holm's correction for the number of items or subjects. The "
    "value of a subject is the mean over its items. The unit of analysis is the repetition."
)
LABELS = {
    "what": "item or subject", "rooms": "repetitions", "believers": "believers", "gain": "gain", "difference": "difference",
    "verdict": "verdict", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "compared_beliefs"
MEASURES = ("believers", "gain", "difference")
ITEM, SUBJECT = "item", "subject"
LEVEL = 0.05


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per group and item, then per group and subject: kind, what, rooms (repetitions), missing (ratings),
    believers, gain, difference (shares), p_holm, verdict (more, less or ""), reason.
    """
    rows = [row for _, shares in _shares(tables).groupby("group", sort=False) for row in _group_rows(shares)]
    return verdict_frame(rows, kind="object", what="object", **COUNTS, **spans(*MEASURES))


def headline(table: pd.DataFrame) -> str:
    shown = [
        f"{row['what']} ({amount((PERCENT * row['difference'], np.nan, np.nan), MORE, 'percentage points', 0)})"
        for _, row in table.iterrows()
        if row["verdict"]
    ]
    if shown:
        return f"The share of believers grew differently from the average for these items: {', '.join(shown)}."
    if table["p_holm"].isna().all():
        return unknown_sentence("whether belief grows differently by topic", table["reason"].iloc[0])
    return "No item and no subject differs clearly from the average of all items."


def _shares(tables: Tables) -> pd.DataFrame:
    """Return a row per room of an item with ratings at both ends: group, item, subject, repetition, believers, gain, missing."""
    repetition = tables.agents.drop_duplicates("room").set_index("room")["repetition"]
    topics, rows = set(tables.compared_beliefs["topic"]), []
    for room in rooms(tables):
        if room.topic in topics and room.attitudes.shape[1] > 1:
            ends = room.attitudes.iloc[:, [0, -1]]
            first, last = (ends.dropna() > MIDDLE).mean()
            item = load_topic(room.topic).news
            keys = (room.group, room.topic, item.subject if item else "", repetition[room.name])
            rows.append((*keys, last, last - first, int(ends.isna().to_numpy().sum())))
    columns = ["group", ITEM, SUBJECT, "repetition", "believers", "gain", "missing"]
    return pd.DataFrame(rows, columns=columns)


def _group_rows(shares: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of a group: its items, and its subjects where some subject has several items or there are several."""
    yield from _rows(shares, ITEM)
    if 1 < shares[SUBJECT].nunique() < shares[ITEM].nunique():
        yield from _rows(shares, SUBJECT)


def _rows(shares: pd.DataFrame, kind: str) -> Iterator[dict[str, Any]]:
    means = shares.groupby([kind, "repetition"], sort=False)[["believers", "gain"]].mean()
    gains = means["gain"].unstack(kind)
    differences = gains.sub(gains.mean(axis=1, skipna=False), axis=0)
    present_differences = {what: differences[what].dropna().to_numpy(dtype=float) for what in gains}
    p = {what: p_of_mean(values) for what, values in present_differences.items()}
    corrected = dict(zip(p, holm(np.array(list(p.values()))), strict=True))
    for what, values in present_differences.items():
        repetition_means = means.loc[what].dropna()
        missing = int(shares.loc[shares[kind] == what, "missing"].sum())
        row: dict[str, Any] = {
            "group": shares["group"].iloc[0],
            "kind": kind,
            "what": what,
            "rooms": len(repetition_means),
        }
        row |= {"missing": missing, "p_holm": corrected[what], "verdict": ""}
        for name, bounds in (("believers", SHARE), ("gain", SIGNED)):
            row |= (
                mean_columns(name, repetition_means[name].to_numpy(dtype=float), bounds)
                if len(repetition_means)
                else {}
            )
        row |= mean_columns("difference", values) if len(values) else {}
        if corrected[what] < LEVEL:
            row["verdict"] = MORE.of(row["difference"])
        reason = too_few("repetition") if len(values) < FEWEST else "no variation" if is_even(values) else None
        yield row | {"reason": reason}
