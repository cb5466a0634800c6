"""The records of a condition over all batches, as tables in which every row knows its block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from parley.analysis.human.table import Source
from parley.analysis.load import Tables
from parley.analysis.wording import tally

KEYS = ["block", "room", "topic", "group", "party", "seat", "agent", "name", "round"]


@dataclass
class Held:
    """`tables` by condition, a record a batch; `answers` by kind, what was asked outside of debates (outside.py).

    `people`: sources of human opinions to set beside them (None: none given).
    """

    tables: dict[str, list[Tables]] = field(default_factory=dict)
    answers: dict[str, list[pd.DataFrame]] = field(default_factory=dict)
    people: Sequence[Source] | None = None
    _ratings: dict[tuple[str, bool, int], pd.DataFrame] = field(default_factory=dict)

    def add(self, condition: str, tables: Tables) -> None:
        self.tables.setdefault(condition, []).append(tables)

    def hear(self, kind: str, answers: pd.DataFrame) -> None:
        self.answers.setdefault(kind, []).append(answers)

    def heard(self, kind: str) -> pd.DataFrame | None:
        """What was asked outside of debates, over all batches; None where nothing was."""
        return pd.concat(self.answers[kind], ignore_index=True) if kind in self.answers else None

    def __contains__(self, condition: str) -> bool:
        return bool(self.tables.get(condition))

    @property
    def records(self) -> Mapping[str, Sequence[Tables]]:
        return self.tables

    def ratings(self, condition: str, further: bool = False) -> pd.DataFrame:
        """A row a rating: KEYS, probe, level (0-10), attitude, rating, reason, how. `further`: also those of further probes.

        level is the mean of the answer distribution where every rating of the record has one, else the rating itself.
        """
        found = self.tables[condition]
        key = condition, further, len(found)
        if key not in self._ratings:
            rated = [_rated(one, further, batch) for batch, one in enumerate(found, 1)]
            self._ratings[key] = pd.concat(rated, ignore_index=True)
        return self._ratings[key]

    def unread(self) -> str:
        """Why there is nothing to write a card of: no rating of any condition could be read; "" where one could."""
        frames = [frame for found in self.tables.values() for one in found for frame in (one.attitudes, one.probes)]
        rated = pd.concat([frame[["rating", "reason"]] for frame in frames if len(frame)], ignore_index=True)
        if rated.empty or rated["rating"].notna().any():
            return ""
        return f"none of {len(rated):,} ratings could be read ({tally(rated['reason'].dropna())})"

    def spoken(self, condition: str) -> pd.DataFrame:
        """A row a turn: block, room, round, iteration, agent, whether it was `said`."""
        frames = [_named(one.utterances, batch) for batch, one in enumerate(self.tables[condition], 1)]
        told = pd.concat(frames, ignore_index=True)
        return told.assign(said=told["text"].notna())[["block", "room", "round", "iteration", "agent", "said"]]


def _rated(tables: Tables, further: bool, batch: int) -> pd.DataFrame:
    frames = [tables.attitudes, *([tables.probes] if further else [])]
    found = pd.concat([one for one in frames if len(one)], ignore_index=True)
    read = found["attitude"].notna()
    how = "expected" if found.loc[read, "expected"].notna().all() else "attitude"
    told = _named(found, batch).assign(level=found[how].where(read), how=how)
    return told[[*KEYS, "probe", "level", "attitude", "rating", "reason", "how"]]


def _named(frame: pd.DataFrame, batch: int) -> pd.DataFrame:
    blocks = [f"{batch}/{number}" for number in frame["repetition"]]
    return frame.assign(block=blocks, room=f"{batch}/" + frame["room"].astype(str))
