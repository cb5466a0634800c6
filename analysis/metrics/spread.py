"""How far do posts spread? The tree of those who shared a post, by time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from parley.analysis.metrics._posts import Medium, media
from parley.analysis.metrics._rooms import RoomMeasurement, room_means
from parley.analysis.tables import Tables

ORDER = 20
TITLE = "Spread of posts"
NOTE = (
    "A post and those who shared it are a tree: each person hangs below the one through whom the post came to them. Scale is "
    "the number of people in a tree, depth the longest way from the author, breadth the most people at one depth (Vosoughi, Roy "
    "and Aral 2018). Views is how many people were shown a post. All four are as of the end of a round; scale and views are "
    "means over all posts so far, and largest, depth and breadth are those of the largest tree of a room. Numbers are means "
    "over rooms. Where nothing is shared, scale and breadth are 1 and depth is 0."
)
LABELS = {
    "rooms": "rooms", "views": "views", "scale": "scale", "largest": "largest tree", "depth": "depth", "breadth": "breadth",
    "reason": "reason if missing",
}  # fmt: skip
NEEDS = "acts"
MEASURES = ("views", "scale", "largest", "depth", "breadth")


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: rooms, missing (acts), views, scale, largest, depth, breadth, reason."""
    return room_means(_rows(tables), MEASURES)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    last = tables.acts.groupby("room")["round"].max()
    for medium in media(tables):
        for round_ in range(1, int(last.get(medium.room.name, 0)) + 1):
            yield {**medium.room.keys, "round": round_, "missing": medium.unread, **measure(medium, round_)}


def measure(medium: Medium, round_: int) -> dict[str, RoomMeasurement]:
    """Return the measures of a room at the end of a round."""
    posts = medium.posts[medium.posts["round"] <= round_]
    if posts.empty:
        return dict.fromkeys(MEASURES, RoomMeasurement(None, "no post yet"))
    shown = medium.shown[medium.shown["round"] <= round_].drop_duplicates(["agent", "iteration"])
    shares = medium.shares
    by_post = {
        int(post): dict(zip(part["agent"], part["carrier"], strict=True))
        for post, part in shares[shares["round"] <= round_].groupby("target")
    }
    trees = [levels(int(author), by_post.get(int(post), {})) for post, author in posts["author"].items()]
    largest = max(trees, key=lambda tree: (tree.total(), len(tree)))
    numbers = (len(shown) / len(posts), sum(tree.total() for tree in trees) / len(trees), largest.total())
    return dict(
        zip(MEASURES, map(RoomMeasurement, map(float, (*numbers, max(largest), max(largest.values())))), strict=True)
    )


def levels(author: int, carriers: Mapping[int, int]) -> Counter[int]:
    """Return how many people of a tree are at each depth: the author at 0. carriers: from whom each sharer has the post.

    A carrier who is not known to have shared it is taken for the author's reader: the sharer is at depth 1.

    >>> levels(7, {1: 7, 2: 1, 3: 1, 4: 2})
    Counter({2: 2, 0: 1, 1: 1, 3: 1})
    """
    depth = {author: 0}

    def depth_of(person: int) -> int:
        if person not in depth:
            depth[person] = 0  # a person cannot be below itself
            carrier = carriers.get(person)
            depth[person] = 1 + (
                depth_of(carrier) if carrier is not None and (carrier in carriers or carrier == author) else 0
            )
        return depth[person]

    return Counter([0, *[depth_of(person) for person in carriers]])
