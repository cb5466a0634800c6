"""Posts on a platform: who voted on each, who shared it, and how often it was shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from parley.analysis.rooms import Room, rooms
from parley.analysis.tables import Tables

VOTES = {"like": 1, "dislike": -1}


@dataclass(frozen=True)
class Medium:
    """A room on a platform.

    posts: a row per written text, by iteration, with the columns round, author, seeded (the vote from outside). done: a row per
    act that could be read and had an effect. shown: a row per exposure. unread: the round of each act that could not be read.
    """

    room: Room
    posts: pd.DataFrame
    done: pd.DataFrame
    shown: pd.DataFrame
    unread: pd.Series[int]

    @property
    def scores(self) -> pd.Series:
        """The votes of people for each post minus those against it, without the one from outside. Each person votes once."""
        votes = self.done[self.done["act"].isin(VOTES)].drop_duplicates(["agent", "target"], keep="last")
        sums = votes["act"].map(VOTES).groupby(votes["target"]).sum()
        return sums.reindex(self.posts.index, fill_value=0).astype(float)

    @property
    def views(self) -> pd.Series:
        """How many people were shown each post."""
        viewers = self.shown.drop_duplicates(["agent", "iteration"])["iteration"].value_counts()
        return viewers.reindex(self.posts.index, fill_value=0).astype(float)

    @property
    def shares(self) -> pd.DataFrame:
        """A row per repost: the post, who shared it, in which round, and the carrier from whom it came to that person."""
        shared = self.done[self.done["act"] == "repost"].drop_duplicates(["agent", "target"])
        seen = self.shown.drop_duplicates(["agent", "iteration"])[["agent", "iteration", "carrier"]]
        seen = seen.rename(columns={"iteration": "target"})
        return shared[["round", "agent", "target"]].merge(
            seen, on=["agent", "target"], how="left", validate="one_to_one"
        )


def media(tables: Tables) -> Iterator[Medium]:
    """Yield every room of a run on a platform."""
    frames = tables.acts, tables.utterances, tables.exposures
    acts, turns, shown = (dict(iter(frame.groupby("room", sort=False))) for frame in frames)
    for room in rooms(tables):
        room_acts = acts.get(room.name, tables.acts.iloc[:0])
        texts = turns.get(room.name, tables.utterances.iloc[:0])
        written = texts[texts["text"].notna()].set_index("iteration")
        seeded = room_acts.groupby("iteration")["seeded"].sum().reindex(written.index, fill_value=0)
        posts = pd.DataFrame({"round": written["round"], "author": written["agent"], "seeded": seeded})
        done = room_acts[room_acts["act"].notna() & room_acts["reason"].isna()]
        unread = room_acts.loc[room_acts["reason"].notna(), "round"]
        yield Medium(room, posts, done, shown.get(room.name, tables.exposures.iloc[:0]), unread)
