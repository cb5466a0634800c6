"""Emotions of a run: what each person felt after each survey, and what those felt whose lines it was shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.rooms import Room, rooms
from parley.analysis.statistics.intervals import Floats
from parley.analysis.tables import Tables

Ints = NDArray[np.int64]


class Lines(NamedTuple):
    """Lines that were heard or shown, one a row: the hearer, the survey after it, the author, the survey before it was written.

    People are places in seating order, surveys are places in their order.
    """

    hearer: Ints
    after: Ints
    author: Ints
    before: Ints

    def moved(self, places: Ints) -> Lines:
        """Return the same lines with person k in the place of person `places[k]`, as hearer and as author."""
        return Lines(places[self.hearer], self.after, places[self.author], self.before)


@dataclass(frozen=True)
class EmotionRoom:
    """A room: the rounds of its surveys, by emotion its ratings, the attitudes, and the lines.

    ratings, attitudes: (people, surveys), NaN where missing.
    """

    room: Room
    surveys: list[int]
    ratings: dict[str, Floats]
    attitudes: Floats
    lines: Lines

    def missing(self, name: str) -> int:
        """Return the number of ratings of an emotion that could not be read."""
        return int(np.isnan(self.ratings[name]).sum())

    @property
    def parties(self) -> Ints:
        """The party of each person, as a number."""
        return np.asarray(self.room.parties.factorize()[0], dtype=np.int64)


def emotion_rooms(tables: Tables) -> Iterator[EmotionRoom]:
    """Yield every debating room with the emotions that it was asked for."""
    felt = dict(iter(tables.emotions.groupby("room", sort=False)))
    turns = tables.utterances[["room", "iteration", "round", "agent"]]
    heard = tables.heard.merge(turns, on=["room", "iteration"], suffixes=("", "_said"), validate="many_to_one")
    by_room = dict(iter(heard.groupby("room", sort=False)))
    for room in rooms(tables):
        emotions = felt.get(room.name, tables.emotions.iloc[:0])
        surveys = sorted(map(int, emotions["round"].unique()))
        people = room.parties.index
        ratings = {
            str(name): _wide(rows, "value", people, surveys) for name, rows in emotions.groupby("probe", sort=False)
        }
        attitudes = room.attitudes.reindex(columns=surveys).to_numpy(dtype=float)
        yield EmotionRoom(
            room, surveys, ratings, attitudes, _lines(by_room.get(room.name, heard.iloc[:0]), people, surveys)
        )


def _wide(ratings: pd.DataFrame, column: str, people: pd.Index, surveys: list[int]) -> Floats:
    wide = ratings.pivot(index="agent", columns="round", values=column)
    values: Floats = wide.reindex(index=people, columns=surveys).to_numpy(dtype=float)
    return values


def _lines(heard: pd.DataFrame, people: pd.Index, surveys: list[int]) -> Lines:
    """Return the lines between two surveys."""
    place = pd.Series(range(len(people)), index=people)
    after = np.searchsorted(surveys, heard["round"].to_numpy())
    before = np.searchsorted(surveys, heard["round_said"].to_numpy()) - 1
    hearer, author = (heard[name].map(place).fillna(-1).to_numpy(dtype=np.int64) for name in ("agent", "agent_said"))
    is_usable = (
        (after < len(surveys)) & (after > 0) & (before >= 0) & (hearer >= 0) & (author >= 0) & (hearer != author)
    )
    return Lines(*[np.asarray(column[is_usable], dtype=np.int64) for column in (hearer, after, author, before)])


def shown_mean(lines: Lines, values: Floats) -> Floats:
    """Return the mean value of the authors of the lines that each person was shown before each survey; NaN without lines.

    values: (people, surveys), of which that of an author in the survey before it wrote counts.

    >>> lines = Lines(np.array([0, 0]), np.array([1, 1]), np.array([1, 2]), np.array([0, 0]))
    >>> shown_mean(lines, np.array([[4.0, 4.0], [2.0, 9.0], [7.0, 9.0]]))[0].tolist()
    [nan, 4.5]
    """
    felt = values[lines.author, lines.before]
    is_rated = ~np.isnan(felt)
    cells = np.ravel_multi_index((lines.hearer[is_rated], lines.after[is_rated]), values.shape)
    counts, sums = (np.bincount(cells, weights, minlength=values.size) for weights in (None, felt[is_rated]))
    means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).reshape(values.shape)
    return means
