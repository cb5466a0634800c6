"""Are trees of shared posts deeper or broader than random trees of the same size?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.metrics._posts import Medium, media
from parley.analysis.metrics.spread import levels
from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.statistics.intervals import POSITIVE
from parley.analysis.tables import Tables
from parley.llm.seeding import derive

ORDER, DRAWS = 20.5, 200
TITLE = "Shape of trees of shared posts"
NOTE = (
    "Large trees are deeper and broader than small ones, so trees are compared with random trees of the same size (Juul and "
    "Ugander 2021). A tree counts only if its post was shared in at least two rounds. In a random tree the same people share in "
    "the same rounds. Each person gets the post from the author or an earlier sharer, drawn with equal probability. The columns "
    f"*more than random trees* are the tree's value minus the mean of {DRAWS} random trees. Both columns are 0 on average if "
    "chance decides from whom a person gets a post. Trees can be deeper than random trees without persuasion: later sharers may "
    "not follow the author. Trees are broader than random trees if most people get the post from the author. The table shows "
    "means over the trees of a room, then over rooms."
)
LABELS = {
    "rooms": "rooms", "trees": "trees", "depth": "depth", "depth_more": "more than random trees", "breadth": "breadth",
    "breadth_more": "more than random trees", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "acts"
MEASURES = ("trees", "depth", "depth_more", "breadth", "breadth_more")
BOUNDS = dict.fromkeys(("trees", "depth", "breadth"), POSITIVE)
TOO_SMALL = "no post was shared by one person after another"


class Shape(NamedTuple):
    """The depth and the breadth of a tree."""

    depth: float
    breadth: float


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, missing (acts), trees (number in a room), the MEASURES with intervals, reason."""
    return room_means(_rows(tables), MEASURES, by=(), bounds=BOUNDS)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    for medium in media(tables):
        yield {**medium.room.keys, "missing": len(medium.unread), **measure(medium)}


def measure(medium: Medium) -> dict[str, RoomMeasurement]:
    """Return the measures of a room at its end."""
    shapes = []
    for post, post_shares in medium.shares.groupby("target"):
        if post_shares["round"].nunique() > 1:
            author = int(medium.posts.at[post, "author"])
            carriers = dict(zip(post_shares["agent"], post_shares["carrier"], strict=True))
            rng = np.random.default_rng(derive(int(post), "tree_shape", medium.room.name))
            shapes.append((shape(author, carriers), chance_shape(sorted(post_shares["round"]), rng)))
    count = {"trees": RoomMeasurement(float(len(shapes)))}
    if not shapes:
        return count | dict.fromkeys(MEASURES[1:], RoomMeasurement(None, TOO_SMALL))
    real, chance = np.array(shapes, dtype=float).mean(axis=0)
    values = (real[0], real[0] - chance[0], real[1], real[1] - chance[1])
    return count | dict(zip(MEASURES[1:], [RoomMeasurement(float(value)) for value in values], strict=True))


def shape(author: int, carriers: Mapping[int, int]) -> Shape:
    """Return the shape of a tree. carriers: from whom each sharer has the post.

    >>> shape(7, {1: 7, 2: 1, 3: 1})
    Shape(depth=2.0, breadth=2.0)
    """
    people: Counter[int] = levels(author, carriers)
    return Shape(float(max(people)), float(max(people.values())))


def chance_shape(rounds: Sequence[int], rng: np.random.Generator, draws: int = DRAWS) -> Shape:
    """Return the mean shape of trees whose people have the post from anyone who had it in an earlier round.

    rounds: in which round each sharer shared, in ascending order.

    >>> chance_shape([1, 1, 1], np.random.default_rng(1))
    Shape(depth=1.0, breadth=3.0)
    """
    earlier = np.searchsorted(rounds, rounds) + 1  # the author, and who shared before
    depths = np.zeros((draws, len(rounds) + 1), dtype=np.int64)
    every = np.arange(draws)
    for place, count in enumerate(earlier, 1):
        depths[:, place] = depths[every, rng.integers(count, size=draws)] + 1
    people = np.stack([np.sum(depths == level, axis=1) for level in range(len(rounds) + 1)])
    return Shape(float(np.mean(np.max(depths, axis=1))), float(np.mean(np.max(people, axis=0))))
