"""The same debates before and after fine-tuning (Taubenfeld et al. 2024, Figs 6, 11, 12), and the remedy that they ask for.

    before     every seat speaks through the model as it is
    after      every seat speaks through the adapter of one party
    per seat   Republicans through the Republican adapter, Democrats through theirs, the Default through the model as it is:
               does drift toward the model's own bias stop?

Rooms, people, seeds are the same in all arms, so that everything is a difference within a room. What a recipe does is a statement
about trainings: its unit is the training seed, and below five of them there is no interval. Rooms are the unit of a statement
about the adapters at hand, which is given as well, under names of its own.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.bootstrap import mean_interval
from parley.analysis.load import Tables
from parley.analysis.metrics._cells import DEFAULT
from parley.llm.backends.oracle.banks import TopicBank, topics
from parley.model.events import Header
from parley.model.scenario import Scenario

BEFORE, AFTER, SEATS = "before", "after", "per seat"


@dataclass(frozen=True)
class Arm:
    """One run: which kind, whose adapter (`direction`, empty before), of which training seed, the model, PARTY:ADAPTER."""

    kind: str
    spec: str
    direction: str = ""
    seed: int = 0
    adapters: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`after-republican-0`: the run's folder."""
        return "-".join(
            filter(None, (self.kind.replace(" ", "_"), self.direction, f"{self.seed}" if self.adapters else ""))
        )


@dataclass(frozen=True)
class Held:
    """An arm and its record."""

    arm: Arm
    tables: Tables


@dataclass(frozen=True)
class Found:
    """`header` of the record before fine-tuning, `points` to draw, `shifts` between before and after, `remedy` of adapters per
    seat (see the functions of these names).
    """

    header: Header

    points: pd.DataFrame
    shifts: pd.DataFrame
    remedy: pd.DataFrame


def fine_tuned(base: Scenario, arms: Sequence[Arm]) -> Generator[Scenario, Tables, Found]:
    """Yields a scenario an arm, the one before fine-tuning first, is sent the tables of its record."""
    held = []
    for arm in arms:
        tables = yield replace(base, llm=arm.spec, adapters=arm.adapters)
        held.append(Held(arm, tables))
    return Found(_before(held).tables.header, points(held), shifts(held), remedy(held))


def _before(held: Sequence[Held]) -> Held:
    (found,) = [one for one in held if one.arm.kind == BEFORE]
    return found


def points(held: Sequence[Held]) -> pd.DataFrame:
    """Means to draw: kind, direction, topic, party, iteration, attitude and expected with their errors, rooms, seeds.

    `attitude_error` and `expected_error` are standard errors: over training seeds where there are several, else over rooms; NaN
    of a single one.
    """
    parts = [
        one.tables.attitudes.assign(kind=one.arm.kind, direction=one.arm.direction, training=one.arm.seed)
        for one in held
    ]
    rated = pd.concat(parts)
    keys = ["kind", "direction", "topic", "party", "iteration"]
    counts = rated.groupby(keys, sort=False).agg(rooms=("room", "nunique"), seeds=("training", "nunique"))
    several = rated.groupby(["kind", "direction"])["training"].transform("nunique") > 1
    rated["unit"] = rated["training"].astype(str).where(several, rated["room"].astype(str))
    units = rated.groupby([*keys, "unit"], sort=False)[["attitude", "expected"]].mean().groupby(keys, sort=False)
    errors = units.sem().add_suffix("_error")
    return pd.concat([units.mean(), errors, counts], axis=1).reset_index()


def shifts(held: Sequence[Held]) -> pd.DataFrame:
    """After minus before, within rooms: one row a direction, topic, party and measure.

    measure: `first` and `last` rating, the same as means of the answer distributions (`first expected`, where there are any),
    `speech` (mean grade of what is said, where the sentences of a model have grades). Columns: before, after, shift, shift_low,
    shift_high (95%, over training seeds; NaN below five), seeds (shift by training seed), rooms_low, rooms_high (95%, over rooms:
    of these adapters alone), rooms, wanted (the side of the direction: 1 up, -1 down). No interval where nothing varies.
    """
    before = _before(held)
    rows = []
    for direction, others in _by_direction(held, AFTER):
        for (topic, party, measure), was in measured(before.tables).items():
            after = [measured(one.tables).get((topic, party, measure), was * math.nan) for one in others]
            row = {"direction": direction, "topic": topic, "party": party, "measure": measure}
            rows.append(row | _shift(was, after) | {"wanted": side(topic, direction)})
    return pd.DataFrame(rows, columns=[*_KEYS, *_SHIFT, "wanted"])


def remedy(held: Sequence[Held]) -> pd.DataFrame:
    """Drift of each party toward the base model's Default, before and with adapters per seat: one row a topic and party.

    Drift is the change from the first to the last rating, positive toward the side on which the Default is before fine-tuning
    (`sides`): the same direction in all arms. Columns as those of `shifts`, but for wanted (a negative shift is less drift).
    """
    before = _before(held)
    rows = []
    for _, others in _by_direction(held, SEATS):
        toward = sides(before.tables)
        for (topic, party, measure), rooms in drift(before.tables, toward).items():
            after = [drift(one.tables, toward).get((topic, party, measure), rooms * math.nan) for one in others]
            row = {"direction": "", "topic": topic, "party": party, "measure": measure}
            rows.append(row | _shift(rooms, after))
    return pd.DataFrame(rows, columns=[*_KEYS, *_SHIFT]).drop(columns="direction")


_KEYS = ("direction", "topic", "party", "measure")
_SHIFT = ("before", "after", "shift", "shift_low", "shift_high", "seeds", "rooms_low", "rooms_high", "rooms")


def measured(tables: Tables) -> dict[tuple[str, str, str], pd.Series]:
    """By topic, party and measure: one number a room (NaN where there is none)."""
    found: dict[tuple[str, str, str], pd.Series] = {}
    last = tables.attitudes["round"].max()
    for (topic, party), ratings in tables.attitudes.groupby(["topic", "party"], sort=False):
        for column, name in (("attitude", ""), ("expected", " expected")):
            rooms = ratings.pivot_table(column, "room", "round", sort=False)
            if not rooms.empty:  # a round in which nobody's rating was read has no column
                rooms = rooms.reindex(columns=sorted({0, last}))
                found[topic, party, f"first{name}"], found[topic, party, f"last{name}"] = rooms[0], rooms[last]
    for (topic, party), lines in tables.utterances.groupby(["topic", "party"], sort=False):
        if topic in topics():
            grades = lines["text"].map(partial(_grade, topics()[topic]))
            found[topic, party, "speech"] = grades.astype("float64").groupby(lines["room"], sort=False).mean()
    return found


def _grade(bank: TopicBank, text: str | None) -> float | None:
    return bank.grade(text) if text else None


def sides(before: Tables) -> dict[tuple[str, str, str], float]:
    """By topic, partisan party and `drift` or `drift expected`: 1 where the Default's first rating is above the party's, -1 where
    it is below, NaN where they are the same.
    """
    ratings, found = measured(before), {}
    for topic, party, name in ratings:
        if name.startswith("first") and party != DEFAULT and (topic, DEFAULT, name) in ratings:
            gap = ratings[topic, DEFAULT, name].mean() - ratings[topic, party, name].mean()
            found[topic, party, name.replace("first", "drift")] = float(np.sign(gap)) or math.nan
    return found


def drift(tables: Tables, toward: Mapping[tuple[str, str, str], float]) -> dict[tuple[str, str, str], pd.Series]:
    """Last minus first rating of each room, positive toward the side that is given for topic, party and measure."""
    ratings, found = measured(tables), {}
    for (topic, party, name), sign in toward.items():
        kind = name.removeprefix("drift")
        if (topic, party, f"first{kind}") in ratings:
            found[topic, party, name] = sign * (
                ratings[topic, party, f"last{kind}"] - ratings[topic, party, f"first{kind}"]
            )
    return found


def side(topic: str, party: str) -> int:
    """1 when the party's people rate the topic higher, else -1."""
    return 1 if load_topic(topic).high_party == party else -1


def _by_direction(held: Sequence[Held], kind: str) -> Iterator[tuple[str, list[Held]]]:
    alike = [one for one in held if one.arm.kind == kind]
    for direction in dict.fromkeys(one.arm.direction for one in alike):
        yield direction, [one for one in alike if one.arm.direction == direction]


def _shift(was: pd.Series, after: Sequence[pd.Series]) -> dict[str, Any]:
    """The mean over training seeds within each room, minus what it was before. Each training seed is one unit."""
    changed = pd.concat([one - was for one in after], axis=1)
    rooms = changed.mean(axis=1, skipna=False).dropna()
    kept = was.loc[rooms.index]
    before = float(kept.mean()) if len(kept) else math.nan
    shift = float(rooms.mean()) if len(rooms) else math.nan
    seeds = changed.loc[rooms.index].mean().to_numpy(dtype=float)
    told = tuple(round(float(one), 3) for one in seeds)
    ends = (*mean_interval(seeds), told, *mean_interval(rooms.to_numpy(dtype=float)))
    return dict(zip(_SHIFT, (before, before + shift, shift, *ends, len(rooms)), strict=True))
