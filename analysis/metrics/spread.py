"""How far do posts spread? The tree of those who shared a post, by time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.metrics._posts import Medium, media
from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.statistics.intervals import POSITIVE
from parley.analysis.tables import Tables

ORDER = 20
TITLE = "Spread of posts"
NOTE = (
    "A post and the people who shared it form a tree: each person is linked to the person from whom the post came. Scale is the "
    "number of people in a tree, depth the most steps from the author, and breadth the largest number of people at one depth "
    "(Vosoughi, Roy and Aral 2018). Views is the number of people who were shown a post. The four numbers scale, depth, breadth "
    "and views are counted at the end of a round. Scale and views are means over all posts so far. The columns *largest tree*, "
    "*depth* and *breadth* describe the largest tree of a room. The table shows means over rooms. If nothing is shared, scale "
    "and breadth are 1 and depth is 0. Shares per 100 views is the probability that a person who is shown a post shares it. "
    "Reproduction is how many people, on average, shared a post after they saw it from one author or sharer. The column *nearer "
    "by* compares a shared post with the average post of the sharer's feed: how many points nearer is its author's opinion to "
    "the sharer's opinion? Opinions are ratings of the latest survey before. If sharing does not depend on opinions, the column "
    "is 0 on average. Only feeds with two posts or more count."
)
LABELS = {
    "rooms": "rooms", "views": "views", "scale": "scale", "largest": "largest tree", "depth": "depth", "breadth": "breadth",
    "sharing": "shares per 100 views", "reproduction": "reproduction", "nearer": "nearer by",
    "reason": "reason if missing",
}  # fmt: skip
NEEDS = "acts"
TREES = ("views", "scale", "largest", "depth", "breadth")
MEASURES = (*TREES, "sharing", "reproduction", "nearer")
BOUNDS = dict.fromkeys((*TREES, "sharing", "reproduction"), POSITIVE)
PER = 100
"""Views to which `sharing` refers."""


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round: rooms, missing (acts), the MEASURES with their intervals, reason."""
    return room_means(_rows(tables), MEASURES, bounds=BOUNDS)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    last = tables.acts.groupby("room")["round"].max()
    for medium in media(tables):
        for round_ in range(1, int(last.get(medium.room.name, 0)) + 1):
            missing = int((medium.unread <= round_).sum())
            yield {**medium.room.keys, "round": round_, "missing": missing, **measure(medium, round_)}


def measure(medium: Medium, round_: int) -> dict[str, RoomMeasurement]:
    """Return the measures of a room at the end of a round."""
    posts = medium.posts[medium.posts["round"] <= round_]
    if posts.empty:
        return dict.fromkeys(MEASURES, RoomMeasurement(None, "no post yet"))
    shown = medium.shown[medium.shown["round"] <= round_].drop_duplicates(["agent", "iteration"])
    shares = medium.shares
    by_post = {
        int(post): dict(zip(post_shares["agent"], post_shares["carrier"], strict=True))
        for post, post_shares in shares[shares["round"] <= round_].groupby("target")
    }
    trees = [levels(int(author), by_post.get(int(post), {})) for post, author in posts["author"].items()]
    largest = max(trees, key=lambda tree: (tree.total(), len(tree)))
    numbers = (len(shown) / len(posts), sum(tree.total() for tree in trees) / len(trees), largest.total())
    measurements = dict(
        zip(TREES, map(RoomMeasurement, map(float, (*numbers, max(largest), max(largest.values())))), strict=True)
    )
    count = int((shares["round"] <= round_).sum())
    measurements["reproduction"] = RoomMeasurement(count / (len(posts) + count))
    measurements["sharing"] = (
        RoomMeasurement(PER * count / len(shown)) if len(shown) else RoomMeasurement(None, "no view yet")
    )
    return measurements | {"nearer": nearness(medium, round_)}


def nearness(medium: Medium, round_: int) -> RoomMeasurement:
    """Return by how many points shared posts were nearer to the sharer than the mean of its feed, over all shares so far.

    A person who shares independently of opinions is as likely to share each post of its feed, so each share adds 0 on average.
    """
    distances = _distances(medium)
    shared = medium.done[(medium.done["act"] == "repost") & (medium.done["round"] <= round_)]
    keys = ["round", "agent"]
    feeds = shared[[*keys, "target"]].merge(distances, on=keys)
    feeds = feeds[feeds.groupby(keys)["iteration"].transform("size") > 1]
    if feeds.empty:
        return RoomMeasurement(None, "no one shared one of several posts of people with ratings")
    means = feeds.groupby(keys)["distance"].mean()
    chosen = feeds[feeds["iteration"] == feeds["target"]].set_index(keys)["distance"]
    return RoomMeasurement(float((means - chosen).dropna().mean()))


def _distances(medium: Medium) -> pd.DataFrame:
    """Return a row per post in a feed: round, agent, iteration, and distance of reader and author; none without ratings."""
    attitudes = medium.room.attitudes
    shown = medium.shown.loc[medium.shown["source"] == "feed", ["round", "agent", "iteration"]]
    places = np.searchsorted(np.asarray(attitudes.columns, dtype=float), shown["round"]) - 1
    authors = medium.posts["author"].reindex(shown["iteration"])
    usable = (places >= 0) & authors.notna().to_numpy()
    shown, places, authors = shown[usable], places[usable], authors[usable]
    values = attitudes.to_numpy(dtype=float)
    ends = [values[attitudes.index.get_indexer(people), places] for people in (shown["agent"], authors)]
    return shown.assign(distance=np.abs(ends[0] - ends[1])).dropna()


def levels(author: int, carriers: Mapping[int, int]) -> Counter[int]:
    """Return how many people of a tree are at each depth: the author at 0. carriers: from whom each sharer has the post.

    A carrier who is not known to have shared it is taken for the author's reader: the sharer is at depth 1.

    >>> levels(7, {1: 7, 2: 1, 3: 1, 4: 2})
    Counter({2: 2, 0: 1, 1: 1, 3: 1})
    """
    depth = {author: 0}
    for person in carriers:
        way, place = [], person
        while place not in depth:
            depth[place] = 0  # a person cannot be below itself
            way.append(place)
            place = carriers[place] if carriers[place] in carriers else author
        for below, sharer in enumerate(reversed(way), depth[place] + 1):
            depth[sharer] = below
    return Counter([0, *[depth[person] for person in carriers]])
