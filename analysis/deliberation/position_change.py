"""What became of the positions, and how far the groups agree with their statements.

The unit is the group: the people of a session. What is measured in an episode is averaged over the episodes of a session first;
intervals are over sessions.

Means over cases that hang together by participant, or by group: the interval is over those, not over cases.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, Floats, interval, mean_interval, too_few
from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice

FEW = 10
"""Groups below which a report says that intervals are wide."""


class ClusteredMean(NamedTuple):
    """A mean over `n` cases of `clusters` participants (or groups) with its 95% interval; NaN where there is none."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


def clustered_mean(values: pd.Series, by: pd.Series, weights: pd.Series | None = None) -> ClusteredMean:
    """Return the mean of what is there, weighted (a rate: value per weight), with its interval over clusters.

    values: one a case, NaN for missing. by: its cluster. weights: 1 each unless given.
    """
    weight = pd.Series(1.0, index=values.index) if weights is None else weights
    there = values.notna() & weight.notna()
    sums = pd.DataFrame({"top": (values * weight)[there], "bottom": weight[there]}).groupby(by[there]).sum()
    table = sums.to_numpy(dtype=float)
    value = float(table[:, 0].sum() / table[:, 1].sum()) if len(table) else float("nan")
    low, high = interval(table, _ratio)
    return ClusteredMean(value, low, high, int(there.sum()), len(table))


def cluster_caution(groups: int) -> str:
    """Return what is to be said of intervals over so few groups, if anything.

    >>> cluster_caution(2), cluster_caution(40)
    ('There are fewer than 5 groups, so no interval is given and nothing can be concluded.', '')
    """
    if groups < FEWEST:
        return f"There are {too_few('group')}, so no interval is given and nothing can be concluded."
    return "With so few groups intervals are wide and little can be concluded." if groups < FEW else ""


def _ratio(drawn: Floats) -> Floats:
    sums = drawn.sum(axis=1)
    found: Floats = sums[..., 0] / np.where(sums[..., 1] > 0, sums[..., 1], np.nan)
    return found


DRAFT, REVISION = STATEMENTS
NEUTRAL, AGREES = 4.0, 5.0
HUMAN_MOVEMENT = 0.137
"""People who moved toward their majority's side, less those who moved away, as a share: 1,047 rounds of 349 groups of
participants of the Habermas Machine (Tessler, Bakker et al. 2024, data as summarised in a public replication). A run
differs in its mediator, its questions and its length, and those were people."""


@dataclass(frozen=True)
class Measure:
    """`value` (None: nothing to measure it by) with its 95% interval over `groups` sessions; `episodes` that had a value.

    Over few sessions, or where nothing varies, there is no interval (NaN).
    """

    name: str
    label: str
    value: float | None
    low: float
    high: float
    groups: int
    episodes: int


def majority_position(voices: Sequence[Voice]) -> int:
    """1 when more positions before the opinions are above 4 than below, -1 when fewer, 0 for neither (no majority)."""
    signs = [np.sign(voice.position - NEUTRAL) for voice in voices if voice.position is not None]
    return int(np.sign(sum(signs)))


def movement_table(episode: Episode) -> float | None:
    """Share of those rated before and after who moved toward the majority's side, less the share who moved away.

    Any change of the rating is a move. None without a majority, or when nobody was rated twice.
    """
    side, moves = majority_position(episode.voices), _moves(episode)
    return statistics.fmean(side * np.sign(move) for move in moves) if side and moves else None


def position_shifts(episode: Episode) -> float | None:
    """Share of those rated before and after whose rating changed."""
    moves = _moves(episode)
    return statistics.fmean(move != 0 for move in moves) if moves else None


def majority_margin(ratings: Sequence[float]) -> float | None:
    """How many more are on one side of the middle than on the other, as a share: 1 when all are on one side, 0 when it is even.

    The group agreement index of the public table of group positions. The neutral count for neither side.

    >>> majority_margin([6, 5, 7, 2, 4])
    0.4
    """
    return abs(sum(np.sign(rating - NEUTRAL) for rating in ratings)) / len(ratings) if ratings else None


def agreement(episode: Episode, name: str) -> float | None:
    """Mean agreement (1-7) with a statement."""
    return _mean([voice.agreement.get(name) for voice in episode.voices])


def agreement_gain(episode: Episode) -> float | None:
    """Agreement with the revision less that with the draft, mean over those who rated both."""
    pairs = [(voice.agreement.get(DRAFT), voice.agreement.get(REVISION)) for voice in episode.voices]
    return _mean([last - first for first, last in pairs if first is not None and last is not None])


def endorsed_share(episode: Episode) -> float | None:
    """Share of those who rated the revision and agree with it at least slightly (5 or more)."""
    ratings = [rating for voice in episode.voices if (rating := voice.agreement.get(REVISION)) is not None]
    return statistics.fmean(rating >= AGREES for rating in ratings) if ratings else None


def _margin(when: str) -> Callable[[Episode], float | None]:
    return lambda episode: majority_margin(
        [getattr(voice, when) for voice in episode.voices if voice.position is not None and voice.after is not None]
    )


MEASURES: dict[str, tuple[str, Callable[[Episode], float | None]]] = {
    "draft": ("agreement with the draft (1-7)", lambda episode: agreement(episode, DRAFT)),
    "revision": ("agreement with the revision (1-7)", lambda episode: agreement(episode, REVISION)),
    "gain": ("revision less draft, the same people", agreement_gain),
    "endorsed": ("share who agree with the revision (5 or more)", endorsed_share),
    "moved": ("share whose position changed", position_shifts),
    "movement": ("share who moved toward the majority's side, less away", movement_table),
    "margin_before": ("group agreement before (0-1)", _margin("position")),
    "margin_after": ("group agreement after (0-1)", _margin("after")),
}


def measure_movement(episodes: Sequence[Episode]) -> list[Measure]:
    """Every measure over the groups of a run."""
    return [_measure(name, *found, episodes) for name, found in MEASURES.items()]


def _measure(name: str, label: str, one: Callable[[Episode], float | None], episodes: Sequence[Episode]) -> Measure:
    by_session: dict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        if (value := one(episode)) is not None:
            by_session[episode.session].append(value)
    means = np.array([statistics.fmean(values) for values in by_session.values()])
    if not len(means):
        return Measure(name, label, None, math.nan, math.nan, 0, 0)
    low, high = mean_interval(means)
    return Measure(name, label, float(means.mean()), low, high, len(means), sum(map(len, by_session.values())))


def voices(episodes: Sequence[Episode]) -> pd.DataFrame:
    """One row a participant and episode, texts and ratings beside each other; what is missing is empty."""
    rows = [
        {
            "session": episode.session,
            "episode": episode.id,
            "question": episode.question.question,
            "participant": voice.participant,
            "position": voice.position,
            "after": voice.after,
            **{f"agreement_{name}": voice.agreement.get(name) for name in STATEMENTS},
            "opinion": voice.opinion,
            "critique": voice.critique,
            **{name: voice.demographics.get(name) for name in _items(episodes)},
        }
        for episode in episodes
        for voice in episode.voices
    ]
    numbers = ("position", "after", *(f"agreement_{name}" for name in STATEMENTS))
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, "float64"))


def statements(episodes: Sequence[Episode]) -> pd.DataFrame:
    """One row an episode: its question, draft, revision, and every measure of it."""
    return pd.DataFrame(
        [
            {
                "session": episode.session,
                "episode": episode.id,
                "question": episode.question.question,
                "split": episode.question.split,
                "text_draft": episode.draft,
                "text_revision": episode.revision,
                **{name: one(episode) for name, (_, one) in MEASURES.items()},
            }
            for episode in episodes
        ]
    ).astype(dict.fromkeys(MEASURES, "float64"))


def _items(episodes: Sequence[Episode]) -> list[str]:
    return sorted({name for episode in episodes for voice in episode.voices for name in voice.demographics})


def _moves(episode: Episode) -> list[float]:
    pairs = [(voice.position, voice.after) for voice in episode.voices]
    return [after - before for before, after in pairs if before is not None and after is not None]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
