"""What a person on a social medium was shown in each round, and what it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.act_names import WRITTEN
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
        own = acts[(acts["agent"] == agent) & (acts["round"] == round_)]
        posts = [_post(row, texts) for row in shown[shown["round"] == round_].to_dict("records")]
        did = tuple(act_words(row, texts, names) for row in own.to_dict("records"))
        made.append(Visit(round_, len(own) > 0, tuple(post for post in posts if post), did))
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
    own = texts.get(int(row["iteration"]), (-1, ""))[1] if act in WRITTEN else ""
    words = " ".join(filter(None, [DONE[act], about])) + (f": {own}" if own else "")
    return f"{words} (without effect: {row['reason']})" if isinstance(row["reason"], str) else words


def _post(row: Mapping[Any, Any], texts: Mapping[int, tuple[int, str]]) -> FeedPost | None:
    """Return a post as it was shown; None where it is not in the record."""
    if row["iteration"] not in texts:
        return None
    author, text = texts[row["iteration"]]
    carrier = -1 if row["carrier"] == author else int(row["carrier"])
    return FeedPost(int(row["iteration"]), author, text, int(row["score"]), carrier, row["source"] == "search")
