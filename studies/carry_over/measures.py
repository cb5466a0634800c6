"""Carry-over: how much of what a person moved in the stage before is in its ratings of the last stage.

The same people run three times, on the same random streams; the stages before the last one are the same word for word (checked).

    all      they begin the last stage with their memory
    none     they begin it without memory
    swapped  they begin it with the memory of another person of their party

A person's effect is its rating with memory minus its rating without. Carry-over is the slope of the rating with memory on the
points that the person moved in the stage before, among people of one population and party who rate alike without memory: people
of one party differ in how firm they are, and who is less firm moves more in every stage. Populations are independent, people of a
population are not, so intervals are over populations (jackknife; analysis/statistics/clusters.py).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.statistics.clusters import effective_clusters, error_of, steps_without
from parley.analysis.statistics.intervals import ALIKE, reach_of_mean, why_few, why_no_interval
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.tables import Tables
from parley.environments.places import Places
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

ARMS = ("all", "none", "swapped")
PERSON = ["topic", "group", "repetition", "party", "seat"]
WITHIN = ["topic", "group", "repetition", "party"]
UNIT = ["group", "repetition"]
OUTCOMES = {"first": "first rating of the last stage", "last": "last rating"}
CONTRASTS = {"own memory": "all", "another's memory": "swapped"}
"""By what a person remembers: the arm that is compared with no memory."""


def arms(base: Scenario) -> dict[str, dict[str, Any]]:
    """Return the settings of each arm.

    Errors: UserError where the scenario has one stage, no survey in each round, or no two people of one party.
    """
    environment = base.environment
    if not isinstance(environment, Places) or len(environment.stages) < 2:
        raise UserError(
            f"the scenario {base.name} has one stage, so nothing is carried over: give a scenario with two [[stage]]"
        )
    if base.surveys.survey != "rounds":
        raise UserError("people are rated at the beginning and the end of each stage: set survey=rounds")
    if all(list(group.seats).count(seat) < 2 for group in base.groups for seat in group.seats):
        raise UserError("the study compares people of one party, but each party has only one person: add --set size=4")
    *before, last = [asdict(stage) for stage in environment.stages]
    return {arm: {"topology": [*before, {**last, "carry": arm}]} for arm in ARMS}


def study(base: Scenario) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yield the scenario of each arm, and receive its tables. Errors: UserError where they differ before the last stage."""
    runs: dict[str, Tables] = {}
    for arm, settings in arms(base).items():
        runs[arm] = yield base.with_settings(settings)
        if not _before_last(runs[ARMS[0]]).equals(_before_last(runs[arm])):
            raise UserError("conditions differ before the last stage, so they cannot be compared: give another --out")
    return runs


def _before_last(tables: Tables) -> pd.DataFrame:
    """Return what was said before the last stage."""
    begun = _last_stage(tables)
    said = tables.utterances[["room", "round", "agent", "text"]]
    starts = said["room"].map(begun)
    return said[starts.isna() | (said["round"] <= starts)].reset_index(drop=True)


def _last_stage(tables: Tables) -> dict[str, int]:
    """Return the round before the last stage, by room that debates in it."""
    places = tables.places
    last = places[places["stage"] == places["stage"].max()]
    return {str(room): max(int(round_) - 1, 0) for room, round_ in last.groupby("room")["round"].first().items()}


def people(tables: Tables) -> pd.DataFrame:
    """Return a row per person of the last stage: PERSON, moved (points in the stage before), first, last (ratings, 0-10).

    moved is in the direction of the later topic's axis: it is turned round where the other party is high on the earlier one. It
    and the ratings are NaN where a rating is missing. The first rating is that before the stage, or on a topic that was debated
    before, that after its first round.
    """
    ratings = tables.attitudes[tables.attitudes["probe"] == tables.header.scenario["probe"]]
    by_round = ratings.set_index([*PERSON, "round"])["attitude"]
    places, begun = tables.places, _last_stage(tables)
    before = places[places["stage"] == places["stage"].max() - 1].drop_duplicates(PERSON)
    rows = []
    for room, start in begun.items():
        seats = tables.agents[tables.agents["room"] == room]
        end = int(ratings.loc[ratings["room"] == room, "round"].max())
        for person in seats[PERSON].itertuples(index=False, name=None):
            earlier = before[(before[PERSON[1:]] == list(person[1:])).all(axis=1)]["topic"]
            moved = _movement(by_round, person, str(earlier.iloc[0]), start) if len(earlier) else np.nan
            first = by_round.get((*person, start if start == 0 else start + 1), np.nan)
            rows.append((*person, moved, first, by_round.get((*person, end), np.nan)))
    return pd.DataFrame(rows, columns=[*PERSON, "moved", "first", "last"])


def _movement(by_round: pd.Series, person: tuple[Any, ...], earlier: str, start: int) -> float:
    """Return the movement of a person on the topic of the stage before, in the direction of the later topic's axis."""
    topic, *rest = person
    course = by_round.xs((earlier, *rest), level=PERSON) if (earlier, *rest, 0) in by_round.index else by_round.iloc[:0]
    if topic == earlier:
        course = course[course.index <= start]
    if course.empty:
        return float("nan")
    high = [load_topic(slug).high_party for slug in (topic, earlier)]
    turned = -1 if all(high) and high[0] != high[1] else 1
    return turned * float(course.iloc[-1] - course.iloc[0])


def effects(by_arm: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row per outcome and kind of memory: outcome, memory, people, missing, populations, carried (slope) with its
    interval, shift (mean effect in points) with its interval, reason (why there is no interval).

    by_arm: that of `people`, by arm. shift is the mean over populations, toward the high end of the topic's axis.
    """
    keyed = {arm: frame.set_index(PERSON) for arm, frame in by_arm.items()}
    rows = []
    for outcome in OUTCOMES:
        for memory, arm in CONTRASTS.items():
            frame = keyed["all"][["moved"]].assign(remembers=keyed[arm][outcome], without=keyed["none"][outcome])
            rows.append({"outcome": outcome, "memory": memory} | _effect(frame.reset_index()))
    return pd.DataFrame(rows)


def _effect(frame: pd.DataFrame) -> dict[str, Any]:
    whole = frame.dropna(subset=["moved", "remembers", "without"])
    counts = {
        "people": len(whole),
        "missing": len(frame) - len(whole),
        "populations": len(whole[UNIT].drop_duplicates()),
    }
    shifts = (
        (whole["remembers"] - whole["without"]).groupby([whole[name] for name in UNIT]).mean().to_numpy(dtype=float)
    )
    slope = carried_share(whole)
    reason = str(slope.pop("reason")) or why_no_interval(shifts, "population")
    return counts | slope | mean_row(shifts, "shift", "shift_") | {"reason": reason}


def carried_share(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the slope on the movement of people who rate alike without memory, with its interval over populations.

    frame: a row per person with WITHIN, moved (points), remembers and without (ratings with and without memory). Least squares
    within population and party. carried is NaN where nobody of a party moved differently from another.
    """
    unknown: dict[str, Any] = {"carried": np.nan, "carried_low": np.nan, "carried_high": np.nan}
    names = ["moved", "without", "remembers"]
    inside = frame[names] - frame.groupby(WITHIN)[names].transform("mean")
    known, rating = inside[["moved", "without"]].to_numpy(dtype=float), inside["remembers"].to_numpy(dtype=float)
    if not (np.abs(known[:, 0]) > ALIKE).any():
        return unknown | {"reason": "people of a party moved alike, so it is unknown what each person carries over"}
    units = frame.groupby(UNIT).ngroup().to_numpy()
    slopes = np.linalg.pinv(known.T @ known, hermitian=True) @ known.T @ rating
    grams = np.array([known[units == unit].T @ known[units == unit] for unit in range(units.max() + 1)])
    scores = np.array([known[units == unit].T @ (rating - known @ slopes)[units == unit] for unit in range(len(grams))])
    weights = grams[:, 0, 0]
    if reason := why_few(len(grams), "population", weights).replace("of the rows", "of the squared movement"):
        return {**unknown, "carried": float(slopes[0]), "reason": reason}
    error = error_of(steps_without(grams, scores)[:, 0])
    if error <= ALIKE:
        return {**unknown, "carried": float(slopes[0]), "reason": "nothing varies between populations"}
    reach = float(reach_of_mean(np.array([error]), np.array([effective_clusters(weights)]))[0])
    return {
        "carried": float(slopes[0]),
        "carried_low": slopes[0] - reach,
        "carried_high": slopes[0] + reach,
        "reason": "",
    }
