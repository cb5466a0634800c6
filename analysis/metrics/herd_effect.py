"""Do people vote as others did before? Posts that get a vote from outside at random, compared with posts that get none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from parley.analysis.contrasts import Sides, amount
from parley.analysis.metrics._posts import Medium, media
from parley.analysis.rooms import RoomMeasurement, room_means, why_unknown
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

ORDER = 21
TITLE = "Herd effect"
NOTE = (
    "When posts are written, some posts get one outside vote for them and some posts one outside vote against them, drawn at "
    "random (Muchnik, Aral and Taylor 2013). The score of a post is people's votes for it minus people's votes against it, "
    "without the vote from outside. The first two columns are mean differences in score from posts without an outside vote. The "
    "last two columns are mean differences in votes for minus votes against, per 100 times that a post was shown. The table "
    "shows means over rooms. Without a herd effect all four numbers are 0 on average."
)
LABELS = {
    "rooms": "rooms", "up": "one vote for it", "down": "one vote against it", "up_rate": "per 100 views: for",
    "down_rate": "per 100 views: against", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "seeded"
MEASURES = ("up", "down", "up_rate", "down_rate")
PER = 100
"""Views to which a rate refers."""


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, missing (acts), up, down (points), up_rate, down_rate (per 100 views), reason."""
    return room_means(_rows(tables), MEASURES, by=())


def headline(table: pd.DataFrame) -> str:
    """Return a sentence for each topic and group."""
    return " ".join(_sentence(row) for row in table.to_dict("records"))


def _sentence(row: dict[str, Any]) -> str:
    lacking = [name for name in ("up", "down") if pd.isna(row[f"{name}_low"])]
    if lacking:
        return unknown_sentence("whether votes from outside changed the scores of posts", why_unknown(row, lacking[0]))
    return " ".join(_effect(row, name, vote) for name, vote in (("up", "for"), ("down", "against")))


def _effect(row: dict[str, Any], name: str, vote: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    if low <= 0 <= high:
        return (
            f"The scores of posts with a vote {vote} them from outside differ from the scores of posts without "
            "such a vote by no more than chance."
        )
    size = amount((value, low, high), Sides("above posts without", "below posts without"), "votes")
    return f"Posts with an outside vote {vote} them ended {size}."


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    for medium in media(tables):
        yield {**medium.room.keys, "missing": len(medium.unread), **effects(medium)}


def effects(medium: Medium) -> dict[str, RoomMeasurement]:
    """Return the differences in score, and in votes per 100 views, of posts with a vote from outside and posts without."""
    seeded, scores, views = medium.posts["seeded"], medium.scores, medium.views
    results: dict[str, RoomMeasurement] = {}
    for name, vote in (("up", 1), ("down", -1)):
        with_vote, without = seeded == vote, seeded == 0
        if not with_vote.any() or not without.any():
            reason = f"no post {'with' if not with_vote.any() else 'without'} a vote from outside"
            results |= {name: RoomMeasurement(None, reason), f"{name}_rate": RoomMeasurement(None, reason)}
            continue
        results[name] = RoomMeasurement(float(scores[with_vote].mean() - scores[without].mean()))
        results[f"{name}_rate"] = _rate_difference(scores, views, with_vote, without)
    return results


def _rate_difference(scores: pd.Series, views: pd.Series, first: pd.Series, other: pd.Series) -> RoomMeasurement:
    if not views[first].sum() or not views[other].sum():
        return RoomMeasurement(None, "posts were not shown")
    rates = [scores[chosen].sum() / views[chosen].sum() for chosen in (first, other)]
    return RoomMeasurement(float(PER * (rates[0] - rates[1])))
