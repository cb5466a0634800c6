"""How far a reader's course is from a person's own ratings, compared with no change and a reader of shuffled lines.

A course is predicted from the first rating alone, with coefficients of the other rooms. Shuffled: each room hears the tags of
another room, so that lines within a room stay together as they were; the same drift and pull are fitted. What the true lines do
better than shuffled ones is what tags tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.statistics.intervals import Floats
from parley.llm.seeding import stream

from .courses import Courses
from .exam import Likelihood
from .fit import LINE, Panel, coefficients_of, panel_of
from .reader import belief_of
from .tags import Tag

SHUFFLES = 20
POINTS = 10
"""Points of the axis for a belief of 1."""


class Errors(NamedTuple):
    """Mean absolute errors in points (0-10), and their differences; negative: the reader is nearer to the ratings."""

    reader: float
    still: float
    shuffled: float
    against_still: ClusteredMean
    against_shuffled: ClusteredMean


def prediction_errors(
    courses: Courses, tags: Sequence[Tag], likelihoods: Mapping[str, Likelihood], repeat: float, seed: int
) -> tuple[Errors | None, pd.DataFrame]:
    """Return the errors, None where fewer than two rooms have ratings, and a row per step: cluster, person, number, own, reader,
    still, shuffled (beliefs in points).
    """
    panel = panel_of(courses.steps, tags, likelihoods, repeat)
    clusters = pd.Series([step.cluster for step in courses.steps])
    rows = pd.DataFrame([step[:4] for step in courses.steps], columns=["cluster", "person", "topic", "number"])
    rows["own"] = [POINTS * step.after for step in courses.steps]
    if clusters[panel.known].nunique() < 2:
        return None, rows
    rows["reader"], rows["still"] = _predict(panel, courses), POINTS * _first(courses)
    draws = [
        _predict(panel_of(courses.steps, shuffled_tags(courses, tags, seed, number), likelihoods, repeat), courses)
        for number in range(SHUFFLES)
    ]
    gaps = pd.DataFrame({name: (rows[name] - rows["own"]).abs() for name in ("reader", "still")})
    gaps["shuffled"] = np.mean([np.abs(draw - rows["own"].to_numpy()) for draw in draws], axis=0)
    rows["shuffled_error"] = gaps["shuffled"]
    differences = [clustered_mean(gaps["reader"] - gaps[name], clusters) for name in ("still", "shuffled")]
    both = gaps.dropna()
    reader, still, shuffled = (float(both[name].mean()) for name in ("reader", "still", "shuffled"))
    return Errors(reader, still, shuffled, *differences), rows


def _first(courses: Courses) -> Floats:
    """Return the first known belief of the person of each step."""
    first: dict[str, float] = {}
    for step in courses.steps:
        if np.isfinite(step.before):
            first.setdefault(step.person, step.before)
    return np.array([first.get(step.person, np.nan) for step in courses.steps])


def _predict(panel: Panel, courses: Courses) -> Floats:
    """Return the predicted belief after each step in points; NaN for a person without a first rating."""
    predicted = np.full(len(panel.change), np.nan)
    for code in np.unique(panel.clusters):
        inside = panel.clusters == code
        drift, back, own, weight = coefficients_of(panel, [LINE], ~inside)
        odds: dict[int, float] = {}
        for place in np.flatnonzero(inside):
            person = int(panel.persons[place])
            now = odds.get(person, panel.before[place])
            odds[person] = now + drift + back * now + own * panel.own[place] + weight * panel.parts[LINE][place]
            predicted[place] = POINTS * belief_of(odds[person])
    return predicted


def shuffled_tags(courses: Courses, tags: Sequence[Tag], seed: int, number: int) -> list[Tag]:
    """Return tags of which each room has those of another room on the topic, in turn where that room has fewer."""
    moved = list(tags)
    for _, lines in courses.lines.groupby("topic"):
        rooms = {str(name): list(rows) for name, rows in lines.groupby("cluster", sort=False).groups.items()}
        names = list(rooms)
        order = stream(seed, "shuffled rooms", number).sample(names, len(names))
        shift = dict(zip(order, [*order[1:], order[0]], strict=True))
        for name, places in rooms.items():
            source = rooms[shift[name]]
            for turn, place in enumerate(places):
                moved[place] = tags[source[turn % len(source)]]
    return moved
