"""What each statistic says about data without an effect.

An array (rooms, 3 seats, 6 rounds) of ratings in which rooms differ in level as much as single ratings do and nothing changes:

    normal    both normal
    skewed    both exponential less their mean (skewness 2)
    rounded   answers in whole points of 0-10
    drifting  all people move by .3 points a round (what is tested is a difference that this drift does not make)
    missing   a fifth of the ratings is missing
    unequal   rooms have one, two or three people; of two conditions one has twice as many rooms

More, for the exam of every statistic (exam.py):

    crossing  the law moves all people across the middle of the scale, by a point a round
    refusing  the higher a rating is, the more often it is refused: a third of all
    leaving   a third of the people leave for good, after a round drawn at random
    shared    rooms are cast from four personas, which differ in level and in change; they are the people that a claim is about
    topics    each room debates one of two topics, which differ by two points
    heavy     one room has as many people as all others together
    tailed    rooms have from one person to many, as a lognormal distribution
    ceiling   ratings are cut at the end of the scale: two of five are there
    walking   noise is carried on: each rating is the one before it and a step (in all other kinds it is gone at the next survey)
    constant  all ratings are the same
    lopsided  of two conditions, one has twice as many rooms and a quarter of the spread

A verdict is True (something is claimed), False, or None: no verdict is given. exam.py counts them. With few rooms more
often than 5% is a false claim; no verdict is the honest answer there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from uneven import UNEVEN, rows_of

from parley.analysis.deliberation.position_change import clustered_mean
from parley.analysis.metrics import drift, first_cycle, forecast
from parley.analysis.metrics._cells import Cell
from parley.analysis.metrics.drift import ratio
from parley.analysis.metrics.polarisation import spreading
from parley.analysis.statistics.groups import Result, compare_two, level, permutation_test, spread
from parley.analysis.statistics.intervals import (
    Ends,
    Floats,
    correlation_interval,
    interval,
    mean_interval,
    nanmean,
    share_interval,
)
from parley.analysis.studies.intervention import effect

SEATS, ROUNDS, STEP, SHARE, ALPHA = 3, 6, 0.3, 0.3, 0.05
KINDS = ("normal", "skewed", "rounded", "drifting", "missing", "unequal")
HARDER = ("crossing", "refusing", "leaving", "shared", "topics", "heavy", "tailed", "ceiling", "walking", "constant")
LOPSIDED, WALKING = "lopsided", "walking"
"""For tests of conditions alone; opinions that spread and can be foretold, so that statistics of spread and of forecasts have
no null there."""
DRIFT = {"drifting": STEP, "crossing": 1.0}
"""Points a round by which all people move."""
PERSONAS, END, SCALE = 4, 0.35, 10.0
"""Personas of `shared`; the end of the scale of `ceiling`, above the mean of all ratings by a quarter of their SD; the length
of a scale."""
CUT = ("refusing", "ceiling")
"""Kinds whose mean is that of the ratings that are given."""
Verdict = bool | None
Test = Callable[[np.random.Generator, int, str], Verdict]


def ratings(rng: np.random.Generator, rooms: int, kind: str) -> Floats:
    """Draw (rooms, seats, rounds) ratings without an effect; NaN: missing, or an empty seat."""
    draw = (
        (lambda shape: rng.exponential(1, shape) - 1) if kind == "skewed" else (lambda shape: rng.normal(0, 1, shape))
    )
    people = rows_of(rooms, kind, SEATS)
    values: Floats = draw((rooms, 1, 1)) + draw((rooms, max(people, default=SEATS), ROUNDS))
    values[np.arange(values.shape[1])[None, :] >= people[:, None]] = np.nan
    if kind == "rounded":
        return np.clip(np.round(5 + values), 0, 10) - 5
    if kind in DRIFT:
        return values + DRIFT[kind] * np.arange(ROUNDS)
    if kind in HARDER:
        return _harder(rng, values, kind)
    if kind == "missing":
        return np.where(rng.random(values.shape) < 0.2, np.nan, values)
    if kind == "unequal":
        empty = np.arange(SEATS)[None, :] >= rng.integers(1, SEATS + 1, (rooms, 1))
        return np.where(empty[..., None], np.nan, values)
    return values


def _harder(rng: np.random.Generator, values: Floats, kind: str) -> Floats:
    """The ratings with refusals, without the people who left, of few personas, or on two topics."""
    rooms = len(values)
    if kind == "refusing":
        return np.where(rng.random(values.shape) < 1 / (1 + np.exp(1 - values)), np.nan, values)
    if kind == "leaving":
        last = np.where(rng.random((rooms, SEATS, 1)) < 1 / 3, rng.integers(1, ROUNDS, (rooms, SEATS, 1)), ROUNDS)
        return np.where(np.arange(ROUNDS) >= last, np.nan, values)
    if kind in UNEVEN:
        return values
    if kind == "constant":
        return np.zeros(values.shape)
    if kind == "ceiling":
        return np.minimum(values, END)
    if kind == "walking":
        return values[:, :, :1] + np.cumsum(rng.normal(0, 0.5, values.shape), axis=2)
    if kind == "topics":
        return values + rng.choice([-1.0, 1.0], (rooms, 1, 1))
    persona = rng.integers(0, PERSONAS, (rooms, SEATS, 1))
    level, change = np.linspace(-1.5, 1.5, PERSONAS), np.array([0.1, -0.1, -0.1, 0.1])
    return values + level[persona] + change[persona] * (np.arange(ROUNDS) - (ROUNDS - 1) / 2)


@cache
def given_level(kind: str, of_rooms: bool) -> float:
    """The mean of the ratings that are given: of rooms (each the mean of its ratings), or of people before the debate."""
    drawn = ratings(np.random.default_rng(0), 100_000, kind)
    means = nanmean(drawn.reshape(len(drawn), -1), 1) if of_rooms else drawn[:, :, 0]
    return float(np.nanmean(means))


def _ends(values: Floats) -> Floats:
    """(rooms, 2): room means of the people rated first and last; rooms without any are left out."""
    both = values[:, :, [0, -1]]
    kept = np.where(np.isfinite(both).all(axis=2, keepdims=True), both, np.nan)
    room_means: Floats = nanmean(kept, 1)
    return room_means[np.isfinite(room_means).all(axis=1)]


def leaves_out(ends: Ends, truth: float = 0.0) -> Verdict:
    return None if np.isnan(ends[0]) else bool(ends[0] > truth or ends[1] < truth)


def _moved(kind: str) -> float:
    return DRIFT.get(kind, 0.0) * (ROUNDS - 1)


def _of_mean(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    means = nanmean(ratings(rng, rooms, kind).reshape(rooms, -1), 1)
    truth = given_level(kind, of_rooms=True) if kind in CUT else _moved(kind) / 2
    return leaves_out(mean_interval(means[np.isfinite(means)], bounds=scale_of(kind)), truth)


def _of_change(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    first, last = _ends(ratings(rng, rooms, kind)).T
    return leaves_out(mean_interval(last - first), _moved(kind))


def _of_ratio(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    first, last = _ends(ratings(rng, rooms, kind)).T
    gaps = 4 - first
    return leaves_out(interval(np.column_stack([SHARE * gaps + last - first - _moved(kind), gaps]), ratio, None), SHARE) \
        if kind not in DRIFT else None  # fmt: skip


def _of_correlation(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    x, y = (ratings(rng, rooms, kind)[:, :, -1] for _ in range(2))
    both_rated = np.isfinite(x) & np.isfinite(y)
    if both_rated.sum() < forecast.FEWEST:
        return None
    x, y = np.where(both_rated, x, 0), np.where(both_rated, y, 0)
    sums = np.stack([both_rated, x, y, x * x, y * y, x * y], -1).astype(float).sum(axis=1)
    return leaves_out(correlation_interval(sums[sums[:, 0] > 0]))


def _of_share(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    """Each of two shares in half of the sets: shares of few rooms jump, so that one alone would be hit or missed."""
    share = rng.uniform(0.2, 0.8)
    return leaves_out(share_interval(int((rng.random(rooms) < share).sum()), rooms), share)


def _of_clusters(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    values = ratings(rng, rooms, kind)[:, :, 0]
    mean = clustered_mean(
        pd.Series(values.ravel()), pd.Series(np.repeat(np.arange(rooms), values.shape[1])), bounds=scale_of(kind)
    )
    return leaves_out((mean.low, mean.high), given_level(kind, of_rooms=False) if kind in CUT else 0.0)


def scale_of(kind: str) -> Ends:
    """Return the scale of the ratings, which every level that is printed has: ten points, whose end is at END of `ceiling`;
    `skewed` numbers have no upper end."""
    if kind == "skewed":
        return -2.0, np.inf
    middle = END - SCALE / 2 if kind == "ceiling" else _moved(kind) / 2
    return middle - SCALE / 2, middle + SCALE / 2


def _cell(rng: np.random.Generator, rooms: int, kind: str) -> Cell:
    """A line of which the Default is four points away."""
    drawn = ratings(rng, rooms, kind)
    index = pd.MultiIndex.from_product([range(rooms), range(drawn.shape[1])], names=["room", "agent"])
    wide = pd.DataFrame(drawn.reshape(-1, ROUNDS), index=index)
    return Cell("null", "null", "null", wide, 4.0, None, "rating")


def _of_drift(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    row = drift.line(_cell(rng, rooms, kind))
    return leaves_out((row.get("drift_low", np.nan), row.get("drift_high", np.nan)), _moved(kind))


def _of_first(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    """Whether there is a change to share out; a share itself may be left empty."""
    if kind in (*DRIFT, "constant"):
        return None
    row = first_cycle.line(_cell(rng, rooms, kind))
    return None if row["rooms"] < 5 else row.get("reason") != "no movement to share"


def _of_spread(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    if kind == WALKING:
        return None
    spreads = [spreading(room).value for room in ratings(rng, rooms, kind)[:, :, [0, -1]]]
    return leaves_out(mean_interval(np.array([value for value in spreads if value is not None])))


def _of_forecast(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    if kind in (*DRIFT, WALKING):
        return None
    drawn = ratings(rng, rooms, kind)[:, :, [0, 2, 5]]
    people = pd.DataFrame(drawn.reshape(-1, 3), columns=["before", "expected", "after"])
    people = people.assign(room=np.repeat(np.arange(rooms), drawn.shape[1]))
    row = forecast.line({}, people)
    return leaves_out((row.get("gain_low", np.nan), row.get("gain_high", np.nan)))


def _of_intervention(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    """Two branches of the same rooms: their last two rounds, minus the drift of all people between them."""
    first, last = _ends(ratings(rng, rooms, kind)[:, :, -2:]).T
    last = last - DRIFT.get(kind, 0.0)
    row = effect(pd.DataFrame({"without": first, "with": last}))
    return leaves_out((row.get("effect_low", np.nan), row.get("effect_high", np.nan)))


def conditions(rng: np.random.Generator, rooms: int, kind: str, count: int = 2) -> dict[str, Floats]:
    """Room means by condition, of so many rooms each (one has twice as many where they are unequal or lopsided)."""
    sizes = [rooms * (2 if kind in ("unequal", LOPSIDED) and not place else 1) for place in range(count)]
    drawn = [_spread_of(place, kind) * nanmean(ratings(rng, size, kind).reshape(size, -1), 1)
             for place, size in enumerate(sizes)]  # fmt: skip
    return {str(place): means[np.isfinite(means)] for place, means in enumerate(drawn)}


def _spread_of(condition: int, kind: str) -> float:
    return 0.25 if kind == LOPSIDED and not condition else 1.0


def _p(result: Result) -> Verdict:
    return None if np.isnan(result.p) else bool(result.p < ALPHA)


def _of_two(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    first, second = conditions(rng, rooms, kind).values()
    return _p(compare_two("null", first, second, "room"))


def _long(rng: np.random.Generator, rooms: int, kind: str) -> pd.DataFrame:
    """room, round, condition (0, 1), both (their product), value; rounds centred."""
    size = rooms * (3 if kind in ("unequal", LOPSIDED) else 2)
    values = ratings(rng, size, kind)
    room, _, survey = np.indices(values.shape)
    condition = (room < rooms).astype(float)
    values = np.where(condition > 0, 1.0, _spread_of(0, kind)) * values
    table = pd.DataFrame(
        {"room": room.ravel(), "round": survey.ravel() - (ROUNDS - 1) / 2, "condition": condition.ravel()}
    )
    return table.assign(both=table["round"] * table["condition"], value=values.ravel()).dropna()


def _of_permutation(rng: np.random.Generator, rooms: int, kind: str) -> Verdict:
    table = _long(rng, rooms, kind).groupby(["room", "condition"], as_index=False)["value"].mean()
    return _p(permutation_test(f"null {rng.integers(1 << 30)}", table, "value", "condition"))


def _by_condition(test: Callable[..., Any]) -> Test:
    return lambda rng, rooms, kind: _p(test("null", conditions(rng, rooms, kind), "room"))


INTERVALS: Mapping[str, Test] = {
    "mean of rooms": _of_mean,
    "paired difference within rooms": _of_change,
    "ratio (share of gap closed)": _of_ratio,
    "correlation over people in rooms": _of_correlation,
    "share of rooms (Wilson)": _of_share,
    "mean over clusters": _of_clusters,
    "headline: drift": _of_drift,
    "headline: change to share out": _of_first,
    "headline: opinions spread": _of_spread,
    "headline: forecasts": _of_forecast,
    "headline: intervention": _of_intervention,
}
"""By `n` rooms (groups, participants, seeds of a sweep)."""
TESTS: Mapping[str, Test] = {
    "two conditions (Welch's t)": _of_two,
    "level (Welch's ANOVA)": _by_condition(level),
    "spread (Levene)": lambda rng, rooms, kind: None if kind == LOPSIDED else _by_condition(spread)(rng, rooms, kind),
    "labels permuted over rooms": _of_permutation,
}
"""By `n` rooms in each condition."""
