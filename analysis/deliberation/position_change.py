"""How positions changed, and how far groups agree with their statements.

The unit is the group: the people of one session. A measure is averaged over the episodes of a session first; its
interval is over sessions. Means over other cases that share a participant or a group are clustered in the same way
(`clustered_mean`).
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.deliberation.episode import STATEMENTS, Episode, Voice
from parley.analysis.statistics.intervals import FEWEST, SHARE, SIGNED, Ends, Floats, interval, mean_interval, too_few

FEW = 10
"""Groups below which a report says that intervals are wide."""
DRAFT, REVISION = STATEMENTS
NEUTRAL, HALF = 4.0, 0.5
"""The middle of the scale; and from how far on an opinion is on a side, or has changed. Whole answers are 1 apart or more."""
AGREES = NEUTRAL + HALF
HUMAN_MOVEMENT = 0.137
"""Share of people who moved toward their majority's side, minus the share who moved away: 1,047 rounds of 349 groups
before the Habermas Machine (Tessler, Bakker et al. 2024, as summarised in a public replication)."""


class ClusteredMean(NamedTuple):
    """A mean over `n` cases of `clusters` participants (or groups), with its 95% interval; NaN where there is none."""

    value: float
    low: float
    high: float
    n: int
    clusters: int


NO_MEAN = ClusteredMean(math.nan, math.nan, math.nan, 0, 0)


def clustered_mean(
    values: pd.Series, by: pd.Series, weights: pd.Series | None = None, bounds: Ends | None = None
) -> ClusteredMean:
    """Return the mean of the known values, weighted (a rate: value per weight), with its interval over clusters.

    values: one per case, NaN for missing. by: its cluster. weights: 1 each by default. bounds: of the values, as in
    `mean_interval`.
    """
    weight = pd.Series(1.0, index=values.index) if weights is None else weights
    is_present = values.notna() & weight.notna()
    terms = pd.DataFrame({"top": (values * weight)[is_present], "bottom": weight[is_present]})
    sums = terms.groupby(by[is_present]).sum().to_numpy(dtype=float)
    value = float(sums[:, 0].sum() / sums[:, 1].sum()) if len(sums) else math.nan
    return ClusteredMean(value, *interval(sums, _ratio, sums[:, 1], bounds), int(is_present.sum()), len(sums))


def _ratio(drawn: Floats) -> Floats:
    """(draws, clusters, 2) to (draws,): the sum of values over the sum of weights."""
    top, bottom = np.moveaxis(drawn.sum(axis=1), -1, 0)
    return np.asarray(top / np.where(bottom > 0, bottom, np.nan))


def cluster_caution(groups: int) -> str:
    """Return the caution that intervals over so few groups need, if any.

    >>> cluster_caution(2), cluster_caution(40)
    ('There are fewer than 5 groups, so no interval is given and nothing can be concluded.', '')
    """
    if groups < FEWEST:
        return f"There are {too_few('group')}, so no interval is given and nothing can be concluded."
    return "With so few groups, intervals are wide and little can be concluded." if groups < FEW else ""


def seats_of(episodes: Iterable[Episode]) -> set[tuple[str, str]]:
    """Return who takes part where: session and participant."""
    return {(episode.session, who) for episode in episodes for who in episode.participants}


def sharing_caution(seats: Iterable[tuple[str, Hashable]]) -> str:
    """Return the caution that intervals over groups need where someone is in several groups. seats: as of `seats_of`.

    >>> sharing_caution([("s1", "ann"), ("s2", "ann"), ("s2", "bo")]), sharing_caution([("s1", "ann"), ("s1", "ann")])
    ('A persona takes part in up to 2 groups, so intervals are somewhat too narrow.', '')
    """
    most = max(Counter(person for _, person in set(seats)).values(), default=0)
    return f"A persona takes part in up to {most} groups, so intervals are somewhat too narrow." if most > 1 else ""


class Measure(NamedTuple):
    """A measure of a run: its mean (None: no episode has a value) with its 95% interval (NaN: none) over `groups`
    sessions.

    episodes: those with a value.
    """

    name: str
    label: str
    value: float | None
    low: float
    high: float
    groups: int
    episodes: int


def majority_position(voices: Sequence[Voice]) -> int:
    """Return 1 if more positions before the opinions are above 4 than below, -1 if fewer are, 0 if there is no majority."""
    return int(np.sign(sum(_sign(voice.position - NEUTRAL) for voice in voices if voice.position is not None)))


def _sign(distance: float) -> int:
    """Return 1 or -1 from half a point on, else 0."""
    return int(np.sign(distance)) if abs(distance) >= HALF else 0


def net_movement(episode: Episode) -> float | None:
    """Return the share of people who moved toward the majority's side minus the share who moved away, of those rated
    twice.

    A change of half a point or more is a move. None without a majority, or if no one was rated twice.
    """
    side = majority_position(episode.voices)
    return _mean(side * _sign(change) for change in _changes(episode)) if side else None


def share_moved(episode: Episode) -> float | None:
    """Return the share of people whose rating changed by half a point or more, of those rated before and after."""
    return _mean(_sign(change) != 0 for change in _changes(episode))


def majority_margin(ratings: Sequence[float]) -> float | None:
    """Return how many more ratings are on one side of the middle than on the other, as a share: 1 if all are on one
    side.

    This is the group agreement index of the public table of group positions. Neutral ratings count for neither side.

    >>> majority_margin([6, 5, 7, 2, 4])
    0.4
    """
    return abs(float(sum(_sign(rating - NEUTRAL) for rating in ratings))) / len(ratings) if ratings else None


def agreement(episode: Episode, name: str) -> float | None:
    """Return the mean agreement (1-7) with a statement."""
    return _mean(voice.agreement.get(name) for voice in episode.voices)


def voice_gain(voice: Voice) -> float | None:
    """Return one person's agreement with the revision minus that with the draft."""
    first, last = voice.agreement.get(DRAFT), voice.agreement.get(REVISION)
    return None if first is None or last is None else last - first


def agreement_gain(episode: Episode) -> float | None:
    """Return agreement with the revision minus that with the draft, averaged over the people who rated both."""
    return _mean(map(voice_gain, episode.voices))


def endorsed_share(episode: Episode) -> float | None:
    """Return the share of people who agree with the revision at least slightly (an answer of 5, a mean of 4.5)."""
    ratings = [voice.agreement.get(REVISION) for voice in episode.voices]
    return _mean(rating >= AGREES for rating in ratings if rating is not None)


def _margin(when: str) -> Callable[[Episode], float | None]:
    return lambda episode: majority_margin(
        [getattr(voice, when) for voice in episode.voices if _change(voice) is not None]
    )


MEASURES: dict[str, tuple[str, Callable[[Episode], float | None]]] = {
    "draft": ("agreement with the draft (1-7)", lambda episode: agreement(episode, DRAFT)),
    "revision": ("agreement with the revision (1-7)", lambda episode: agreement(episode, REVISION)),
    "gain": ("revision minus draft, the same people", agreement_gain),
    "endorsed": ("share who agree with the revision (4.5 or more)", endorsed_share),
    "moved": ("share whose position changed by .5 or more", share_moved),
    "movement": ("share who moved toward the majority's side, minus away", net_movement),
    "margin_before": ("group agreement before (0-1)", _margin("position")),
    "margin_after": ("group agreement after (0-1)", _margin("after")),
}


AGREEMENT = (1.0, 7.0)
BOUNDS: Mapping[str, Ends] = {
    **dict.fromkeys(("endorsed", "moved", "margin_before", "margin_after"), SHARE),
    **dict.fromkeys(STATEMENTS, AGREEMENT),
    "movement": SIGNED,
}
"""The least and the largest value of each measure that has them."""


def measure_movement(episodes: Sequence[Episode]) -> list[Measure]:
    """Return every measure over the groups of a run."""
    return [_measure(name, label, measure, episodes) for name, (label, measure) in MEASURES.items()]


def _measure(name: str, label: str, measure: Callable[[Episode], float | None], episodes: Sequence[Episode]) -> Measure:
    by_session: dict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        if (value := measure(episode)) is not None:
            by_session[episode.session].append(value)
    if not by_session:
        return Measure(name, label, None, math.nan, math.nan, 0, 0)
    means = np.array(list(map(statistics.fmean, by_session.values())))
    count = sum(map(len, by_session.values()))
    low, high = mean_interval(means, bounds=BOUNDS.get(name))
    return Measure(name, label, float(means.mean()), low, high, len(means), count)


def voices(episodes: Sequence[Episode]) -> pd.DataFrame:
    """Return a row per participant and episode: texts and ratings; empty where missing."""
    items = sorted({name for episode in episodes for voice in episode.voices for name in voice.demographics})
    rows = [
        {
            "session": episode.session, "episode": episode.id, "question": episode.question.question,
            "participant": voice.participant, "position": voice.position, "after": voice.after,
            **{f"agreement_{name}": voice.agreement.get(name) for name in STATEMENTS},
            "opinion": voice.opinion, "critique": voice.critique,
            **{name: voice.demographics.get(name) for name in items},
        }
        for episode in episodes
        for voice in episode.voices
    ]  # fmt: skip
    numbers = ("position", "after", *(f"agreement_{name}" for name in STATEMENTS))
    return pd.DataFrame(rows).astype(dict.fromkeys(numbers, "float64"))


def statements(episodes: Sequence[Episode]) -> pd.DataFrame:
    """Return a row per episode: its question, draft, revision, and every measure of it."""
    rows = [
        {
            "session": episode.session, "episode": episode.id, "question": episode.question.question,
            "split": episode.question.split, "text_draft": episode.draft, "text_revision": episode.revision,
            **{name: measure(episode) for name, (_, measure) in MEASURES.items()},
        }
        for episode in episodes
    ]  # fmt: skip
    return pd.DataFrame(rows).astype(dict.fromkeys(MEASURES, "float64"))


def _change(voice: Voice) -> float | None:
    return None if voice.position is None or voice.after is None else voice.after - voice.position


def _changes(episode: Episode) -> list[float]:
    return [change for voice in episode.voices if (change := _change(voice)) is not None]


def _mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return statistics.fmean(present) if present else None
