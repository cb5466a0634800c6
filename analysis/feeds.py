"""What a person on a social medium was shown in each round, and what it did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.act_names import WRITTEN
from parley.analysis.metrics._posts import Medium, media
from parley.analysis.tables import Tables

DONE = {
    "post": "posts", "reply": "replies to", "quote": "quotes", "repost": "shares", "like": "likes", "dislike": "dislikes",
    "follow": "follows", "unfollow": "no longer follows", "mute": "mutes", "search": "searches for", "nothing": "does nothing",
}  # fmt: skip
PEOPLE = ("follow", "unfollow", "mute")
"""Acts about the author of a post."""


class FeedPost(NamedTuple):
    """A post that a person was shown. post: its iteration. score: as shown. carrier: who shared it, -1 for the author."""

    post: int
    author: int
    text: str
    score: int
    carrier: int
    by_search: bool


class Visit(NamedTuple):
    """A round of one person. active: whether it was on the medium. acts: each in words, with what it wrote."""

    round: int
    active: bool
    posts: tuple[FeedPost, ...]
    acts: tuple[str, ...]


def visits(tables: Tables, room: str, agent: int) -> list[Visit]:
    """Return every round of the room as one person had it, in order."""
    acts = tables.acts[tables.acts["room"] == room]
    shown = tables.exposures[(tables.exposures["room"] == room) & (tables.exposures["agent"] == agent)]
    texts, names = written(tables, room), names_of(tables, room)
    made = []
    for round_ in range(1, last_round(tables, room) + 1):
        own_acts = acts[(acts["agent"] == agent) & (acts["round"] == round_)]
        posts = [_post(row, texts) for row in shown[shown["round"] == round_].to_dict("records")]
        did = tuple(act_words(row, texts, names) for row in own_acts.to_dict("records"))
        made.append(Visit(round_, len(own_acts) > 0, tuple(post for post in posts if post), did))
    return made


def last_round(tables: Tables, room: str) -> int:
    """Return the last round in which a person of the room acted; 0 before."""
    return int(
        tables.acts.loc[tables.acts["room"] == room, "round"].max() if (tables.acts["room"] == room).any() else 0
    )


def written(tables: Tables, room: str) -> dict[int, tuple[int, str]]:
    """Return by iteration the author and the text of each post of a room."""
    rows = tables.utterances[(tables.utterances["room"] == room) & tables.utterances["text"].notna()]
    return {
        int(at): (int(agent), str(text)) for at, agent, text in rows[["iteration", "agent", "text"]].to_numpy().tolist()
    }


def names_of(tables: Tables, room: str) -> dict[int, str]:
    """Return the names of the agents of a room, by their numbers."""
    rows = tables.agents[tables.agents["room"] == room]
    return {int(agent): str(name) for agent, name in zip(rows["agent"], rows["name"], strict=True)}


def act_words(row: Mapping[Any, Any], texts: Mapping[int, tuple[int, str]], names: Mapping[int, str]) -> str:
    """Return an act in words: `likes post 3 by Ann`; why it is missing, or had no effect, is said behind it.

    >>> row = {"act": "like", "reason": None, "target": 3, "query": None, "iteration": 9}
    >>> act_words(row, {3: (1, "Hello.")}, {1: "Ann"})
    'likes post 3 by Ann'
    """
    if not isinstance(row["act"], str):
        return f"(act missing: {row['reason']})"
    act = row["act"]
    author, _ = texts.get(int(row["target"]), (-1, "")) if pd.notna(row["target"]) else (-1, "")
    name = names.get(author, "")
    about = "" if author < 0 else name if act in PEOPLE else f"post {int(row['target'])} by {name}"
    about = f"“{row['query']}”" if act == "search" and isinstance(row["query"], str) else about
    text = texts.get(int(row["iteration"]), (-1, ""))[1] if act in WRITTEN else ""
    words = " ".join(filter(None, [DONE[act], about])) + (f": {text}" if text else "")
    return f"{words} (without effect: {row['reason']})" if isinstance(row["reason"], str) else words


def _post(row: Mapping[Any, Any], texts: Mapping[int, tuple[int, str]]) -> FeedPost | None:
    """Return a post as it was shown; None where it is not in the record."""
    if row["iteration"] not in texts:
        return None
    author, text = texts[row["iteration"]]
    carrier = -1 if row["carrier"] == author else int(row["carrier"])
    return FeedPost(int(row["iteration"]), author, text, int(row["score"]), carrier, row["source"] == "search")


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
    medium = next((candidate for candidate in media(tables) if candidate.room.name == room), None)
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
    shares = {int(post): post_shares for post, post_shares in medium.shares.groupby("target")}
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
        through_sharer = carrier in sharers.index and carrier != agent
        below[int(carrier) if through_sharer else author].append(int(agent))
    seen = {author}

    def walk(person: int, at: int) -> Iterator[PostNode]:
        for agent in below[person]:
            if agent not in seen:
                seen.add(agent)
                yield PostNode(at, "share", agent, int(sharers.loc[agent, "round"]), post, 0, 0)
                yield from walk(agent, at + 1)

    yield from walk(author, depth)
