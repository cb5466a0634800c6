"""Posts of a social medium as trees: what answered a post, who shared it, and through whom it came to them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from parley.analysis.metrics._posts import Medium, media
from parley.analysis.tables import Tables

ANSWERS = ("reply", "quote")


class PostNode(NamedTuple):
    """A post, an answer or a share. depth: steps from the first post. post: the iteration of the post, or of the shared one."""

    depth: int
    kind: str
    agent: int
    round: int
    post: int
    score: int
    views: int


def post_trees(tables: Tables, room: str, last: int) -> list[list[PostNode]]:
    """Return the trees of a room at the end of a round, each from its first post down; the largest first, then the oldest.

    An answer hangs below the post that it answers, a share below the share through which the post came, else below the post.
    """
    medium = next((one for one in media(tables) if one.room.name == room), None)
    if medium is None:
        return []
    past = replace(
        medium,
        posts=medium.posts[medium.posts["round"] <= last],
        done=medium.done[medium.done["round"] <= last],
        shown=medium.shown[medium.shown["round"] <= last],
    )
    trees = list(_trees(past))
    return sorted(trees, key=lambda tree: (-len(tree), tree[0].post))


def tree_words(tree: list[PostNode]) -> str:
    """Return what a tree consists of.

    >>> tree_words([PostNode(0, "post", 1, 1, 1, 0, 2), PostNode(1, "reply", 2, 2, 2, 0, 0)])
    '1 post, 1 reply'
    """
    counts = Counter(node.kind for node in tree)
    plural = {"reply": "replies"}
    return ", ".join(f"{many} {plural.get(kind, f'{kind}s') if many > 1 else kind}" for kind, many in counts.items())


def _trees(medium: Medium) -> Iterator[list[PostNode]]:
    acts = medium.done[medium.done["act"].isin(ANSWERS) & medium.done["target"].isin(medium.posts.index)]
    kind = dict(zip(acts["iteration"].tolist(), acts["act"].tolist(), strict=True))
    above = {int(at): int(target) for at, target in zip(acts["iteration"], acts["target"], strict=True)}
    answers = defaultdict(list)
    for post in medium.posts.index:
        if post in above:
            answers[above[post]].append(int(post))
    shares = {int(post): part for post, part in medium.shares.groupby("target")}
    scores, views = medium.scores.astype(int), medium.views.astype(int)

    def under(post: int, depth: int) -> Iterator[PostNode]:
        row = medium.posts.loc[post]
        kind_ = kind.get(post, "post")
        yield PostNode(depth, kind_, int(row["author"]), int(row["round"]), post, int(scores[post]), int(views[post]))
        sharers = shares[post].set_index("agent") if post in shares else None
        if sharers is not None:
            yield from _shares(post, int(row["author"]), sharers, depth + 1)
        for answer in answers[post]:
            yield from under(answer, depth + 1)

    for post in medium.posts.index:
        if post not in above:
            yield list(under(int(post), 0))


def _shares(post: int, author: int, sharers: pd.DataFrame, depth: int) -> Iterator[PostNode]:
    """Yield the shares of a post: those through the author first, each followed by the shares that came through it."""
    below = defaultdict(list)
    for agent, carrier in sharers["carrier"].items():
        known = carrier in sharers.index and carrier != agent
        below[int(carrier) if known else author].append(int(agent))
    seen = {author}

    def walk(person: int, at: int) -> Iterator[PostNode]:
        for agent in below[person]:
            if agent not in seen:
                seen.add(agent)
                yield PostNode(at, "share", agent, int(sharers.loc[agent, "round"]), post, 0, 0)
                yield from walk(agent, at + 1)

    yield from walk(author, depth)
