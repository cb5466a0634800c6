"""The same debates with interventions and without: two branches of one past.

    without   the control: nothing comes from outside
    with      the timetable
    placebo   between them, if wanted: the timetable, in which what is said has no content

Rooms, people and seeds are the same, and up to the first intervention every word and every rating is: the second branch begins
with the replies of the first. After it everything is a difference within a room, with minus without. What is said then is sampled
anew in both, so that ratings differ by chance even where the intervention does nothing: the intervals over rooms hold that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from parley.agents.standin import HOW
from parley.analysis.bootstrap import mean_interval, too_few, why_none
from parley.analysis.load import Tables
from parley.analysis.metrics._cells import REFERENCE
from parley.llm.errors import UserError
from parley.model.interventions.fact_check import FactCheck
from parley.model.interventions.planner import Planner
from parley.model.scenario import Scenario

WITHOUT, PLACEBO, WITH = "without", "placebo", "with"
BRANCHES = (WITHOUT, WITH)
_SAID = ["room", "round", "iteration", "agent", "text", "reason"]
_RATED = ["room", "round", "iteration", "agent", "probe", "rating", "raw", "reason"]
_KEYS = ["topic", "group", "party", "told", "round", "measure"]
_COLUMNS = [*_KEYS, WITHOUT, WITH, "effect", "effect_low", "effect_high", "rooms", "sd", "missing", "reason"]


@dataclass(frozen=True)
class Found:
    """`tables` with interventions, the `first` round of one, `effects` and `points` (see the functions of these names), and how
    many rooms had nobody for whom an intervention was (`untouched`: they are left out of both). `beside`: where a placebo was
    held, the effects of it and against it, by `contrast`.
    """

    tables: Tables
    first: int
    effects: pd.DataFrame
    points: pd.DataFrame
    untouched: int
    beside: pd.DataFrame | None = None


def intervention(base: Scenario, placebo: bool = False) -> Generator[Scenario, Tables, Found]:
    """Yields the scenario without and with its interventions (between them with a placebo), is sent the records' tables.

    Errors: UserError.
    """
    if not base.interventions:
        raise UserError(f"{base.name} has no intervention to compare: give one with --intervene")
    if base.survey == "never":
        raise UserError("an effect is a difference of ratings: set survey=rounds or survey=ends")
    return _branches(base, emptied(base) if placebo else None)


def _branches(base: Scenario, empty: Scenario | None) -> Generator[Scenario, Tables, Found]:
    without = yield control(base)
    beside = (yield empty) if empty else None
    held = yield base
    found = compared(without, held)
    if beside is None:
        return found
    parts = {f"{PLACEBO} - {WITHOUT}": compared(without, beside), f"{WITH} - {PLACEBO}": compared(beside, held)}
    drawn = parts[f"{PLACEBO} - {WITHOUT}"].points
    also = drawn[drawn["branch"] == WITH].assign(branch=PLACEBO)
    effects_ = pd.concat({name: one.effects for name, one in parts.items()}, names=["contrast"]).reset_index("contrast")
    return replace(found, points=pd.concat([found.points, also], ignore_index=True), beside=effects_)


def placebo_of(base: Scenario, wanted: bool | None) -> tuple[bool, str]:
    """Whether there is a placebo branch, and why not where nobody decided (`wanted` None): there is one wherever there can be."""
    if wanted is not None or not base.interventions:
        return bool(wanted), ""
    try:
        emptied(base)
    except UserError as error:
        return False, str(error).removeprefix("--placebo: ")
    return True, ""


def emptied(base: Scenario) -> Scenario:
    """The same timetable, in which what is said has no content. Errors: UserError where nothing is said, or what depends."""
    if any(isinstance(one, Planner) for one in base.interventions):
        raise UserError("--placebo: a planner chooses whether it says anything, so that it has no placebo")
    if any(isinstance(one, FactCheck) and one.llm for one in base.interventions):
        raise UserError(
            "--placebo: a model that checks facts may say nothing, so that it has no placebo: give its text"
        )
    empty = tuple([one.placebo() for one in base.interventions])
    if empty == base.interventions:
        raise UserError("--placebo: nothing is said in this timetable, so that there is nothing to say without content")
    return replace(base, interventions=empty)


def control(base: Scenario) -> Scenario:
    """The same without its interventions: who joins does not come, who leaves stays."""
    kept = [one.control() for one in base.interventions]
    return replace(base, interventions=tuple([one for one in kept if one]))


def compared(without: Tables, held: Tables) -> Found:
    """What the interventions changed. Errors: UserError where the branches differ before the first, or nobody was met."""
    first = min(one["round"] for one in held.header.scenario["interventions"])
    check_past(without, held, first)
    rooms = set(held.interventions["room"])
    if not rooms:
        raise UserError("no intervention met anybody: nobody in any room is of the parties or seats that they are for")
    pairs = _pairs(without, held)
    met = pairs[pairs["room"].isin(rooms)]
    return Found(held, first, effects(met[met["round"] >= first]), points(met), pairs["room"].nunique() - len(rooms))


def check_past(without: Tables, held: Tables, first: int) -> None:
    """Errors: UserError unless every word and rating before round `first` is the same in both."""
    for name, columns in (("utterances", _SAID), ("attitudes", _RATED)):
        past = [frame.loc[frame["round"] < first, columns] for frame in (getattr(without, name), getattr(held, name))]
        if not past[0].reset_index(drop=True).equals(past[1].reset_index(drop=True)):
            raise UserError(
                f"{name} before round {first} differ between the branches, so that they are no pair: give another --out"
            )


def _pairs(without: Tables, held: Tables) -> pd.DataFrame:
    """A row a rating of the main probe in both branches, of those who debate: the keys of the agent, how it was read in the one
    without, told, and each measure without and with.

    told: whether an intervention was for that agent, ever.
    """
    keys = ["room", "topic", "group", "party", "agent", "round"]
    probe, values = held.header.scenario["probe"], ["iteration", "how", "attitude", "expected"]
    sides = [
        rated.loc[(rated["probe"] == probe) & (rated["group"] != REFERENCE), [*keys, *values]]
        for rated in (without.attitudes, held.attitudes)
    ]
    pairs = sides[0].merge(sides[1].drop(columns=["iteration", "how"]), on=keys, suffixes=(f" {WITHOUT}", f" {WITH}"))
    met = {(one.room, agent) for one in held.interventions.itertuples() for agent in json.loads(one.agents)}
    return pairs.assign(told=[pair in met for pair in zip(pairs["room"], pairs["agent"], strict=True)])


def effects(pairs: pd.DataFrame) -> pd.DataFrame:
    """With minus without, within rooms: one row a topic, group, party, told (or in a room with somebody who was), round, measure.

    measure: `attitude` (0-10), `expected` (mean of the answer distribution, where there is one; stand-ins of a surrogate that
    was fitted to ratings have none, and are left aside). Agents of a room are averaged first. effect with its 95% interval over
    `rooms`, sd: of the differences, one a room; without and with are means over the same rooms; missing: pairs of ratings of
    which one could not be read, left out; reason: why there is no interval (`fewer than 5 rooms`, `no variation`).
    """
    return pd.DataFrame(list(_effects(pairs)), columns=_COLUMNS)


def _effects(pairs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for measure in ("attitude", "expected"):
        sides = [f"{measure} {branch}" for branch in BRANCHES]
        stood = (pairs["how"] == HOW) & pairs[sides].isna().all(axis=1)
        for keys, cell in pairs[~stood].groupby(_KEYS[:-1], sort=False):
            named = dict(zip(_KEYS, (*keys, measure), strict=True))
            known = cell.dropna(subset=sides)
            if len(known) or (measure == "attitude"):
                yield (
                    named
                    | effect(known.groupby("room", sort=False)[sides].mean())
                    | {"missing": len(cell) - len(known)}
                )


def effect(rooms: pd.DataFrame) -> dict[str, Any]:
    """The mean difference of a row a room of values without and with."""
    changed = (rooms.iloc[:, 1] - rooms.iloc[:, 0]).to_numpy(dtype=float)
    if not len(changed):
        return {"rooms": 0, "reason": too_few()}
    low, high = mean_interval(changed)
    means = dict(zip(BRANCHES, map(float, rooms.mean()), strict=True))
    sd = float(changed.std(ddof=1)) if len(changed) > 1 else math.nan
    found = {"effect": float(changed.mean()), "effect_low": low, "effect_high": high, "rooms": len(changed), "sd": sd}
    return means | found | {"reason": why_none(changed)}


def points(pairs: pd.DataFrame) -> pd.DataFrame:
    """Mean attitudes over rooms by topic, group, party, branch and round, to draw.

    iteration: the replies so far in the branch without; where chance decides how many speak, their mean over rooms, rounded.
    """
    keys = ["topic", "group", "party", "round"]
    sides = {f"attitude {branch}": branch for branch in BRANCHES}
    by_room = pairs.groupby([*keys, "room"], sort=False)[["iteration", *sides]].mean()
    means = by_room.groupby(keys, sort=False).mean().rename(columns=sides)
    means["iteration"] = means["iteration"].round().astype("int64")
    return means.reset_index().melt([*keys, "iteration"], list(BRANCHES), "branch", "attitude")
