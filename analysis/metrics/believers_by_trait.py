"""Whose belief grows more, by traits of the Big Five? One regression for all traits, within rooms.

Source: FPS (Liu et al. 2024, arXiv 2403.09498), which compares people by personal traits. Departures: one step of a level is a
number, all five traits are in one regression, and a verdict is corrected for their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from parley.agents.news import BELIEVER
from parley.agents.traits import level_names, trait_names
from parley.analysis.contrasts import MORE, amount
from parley.analysis.metrics._cells import spans, verdict_frame
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import ALIKE, FEWEST, LEVEL, NO_VARIATION, Floats, too_few
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence

ORDER = 9.6
TITLE = "Belief by trait"
NOTE = (
    "The effect of a trait is how many points (of 10) more an agent's belief grows if the trait is one step stronger. Steps run "
    "from very low to very high. Growth is counted from the first to the last survey; agents who start as believers are left "
    "out. One regression within rooms has all traits. The same persona takes part in several rooms. So Parley computes two "
    "intervals, one by leaving out single rooms and one by leaving out single personas, and shows the wider interval. The "
    "verdict says that belief grows more or less only if p, corrected by Holm for the number of traits, is below 0.05."
)
LABELS = {
    "trait": "trait", "rooms": "rooms", "people": "personas", "effect": "points per level", "verdict": "verdict",
    "reason": "reason if missing",
}  # fmt: skip
NEEDS = "temperaments"
CHANGE = "change"
TOO_FEW_PERSONAS = "there are too few rooms or personas for so many traits"
TIED = "traits are correlated, so their effects cannot be separated"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per group and trait: rooms, people (personas), agents, missing (agents not rated first and last), effect,
    p_holm, verdict (more, less or ""), reason.
    """
    people = _changes(tables).groupby("group", sort=False) if len(tables.temperaments) else ()
    rows = [row for _, group_people in people for row in trait_rows(group_people)]
    counts = dict.fromkeys(("rooms", "people", "agents", "missing"), "int64")
    return verdict_frame(rows, trait="object", **counts, **spans("effect"))


def headline(table: pd.DataFrame) -> str:
    shown = [
        f"{row['trait']} ({amount((row['effect'], np.nan, np.nan), MORE)} for each step)"
        for _, row in table.iterrows()
        if row["verdict"]
    ]
    if shown:
        return f"The growth of belief depends on {', '.join(shown)}."
    if table["p_holm"].isna().all():
        return unknown_sentence("whether belief depends on traits", table["reason"].iloc[0])
    return "No trait has a clear effect on the growth of belief."


def _changes(tables: Tables) -> pd.DataFrame:
    """Return a row per agent with a trait who does not start as believer: group, room, persona, change (NaN: not rated twice),
    and its levels.
    """
    beliefs = tables.beliefs[tables.beliefs["probe"] == tables.header.scenario["probe"]]
    wide = beliefs.pivot(index=["room", "agent"], columns="round", values="attitude").sort_index(axis=1)
    change = (wide.iloc[:, -1] - wide.iloc[:, 0]).rename(CHANGE)
    people = tables.temperaments.set_index(["room", "agent"])
    persona = tables.agents.set_index(["room", "agent"])["persona"]
    joined = people[["group"]].join([change, persona])
    levels = {name: float(place) for place, name in enumerate(level_names())}
    for trait in trait_names():
        joined[trait] = people[trait].map(levels)
    return joined[joined.index.isin(wide.index) & (people["belief"] != BELIEVER)].reset_index()


def trait_rows(people: pd.DataFrame) -> list[dict[str, Any]]:
    given = [trait for trait in trait_names() if people[trait].notna().any()]
    rated = people.dropna(subset=[CHANGE, *given])
    counts = {"rooms": rated["room"].nunique(), "people": rated["persona"].nunique(), "agents": len(rated)}
    base = {"group": people["group"].iloc[0], **counts, "missing": len(people) - len(rated)}
    fitted = _fit(rated, given)
    p = holm(np.array([fitted[trait][2] for trait in given]))
    rows = []
    for trait, corrected in zip(given, p, strict=True):
        effect, reach, _, reason = fitted[trait]
        row = base | {"trait": trait, "effect": effect, "effect_low": effect - reach, "effect_high": effect + reach}
        verdict = ("more" if effect > 0 else "less") if corrected < 1 - LEVEL else ""
        rows.append(row | {"p_holm": corrected, "verdict": verdict, "reason": reason})
    return rows


def _fit(rated: pd.DataFrame, given: list[str]) -> dict[str, tuple[float, float, float, str | None]]:
    """Return effect, half the width of its interval, p, and the reason without one, by trait.

    Degrees of freedom: rooms minus 1, or personas minus the traits minus 2, whichever is fewer.
    """
    rooms, clusters = rated["room"].nunique(), min(rated["room"].nunique(), rated["persona"].nunique())
    if clusters < FEWEST:
        unit = "rated room" if not len(rated) else "room" if rooms < FEWEST else "persona"
        return dict.fromkeys(given, (np.nan, np.nan, np.nan, too_few(unit)))
    room, persona = (pd.factorize(rated[name])[0] for name in ("room", "persona"))
    centred = _within_rooms(rated[[*given, CHANGE]].to_numpy(dtype=float), room)
    varied = {
        name: bool(np.max(np.abs(column)) > ALIKE) for name, column in zip([*given, CHANGE], centred.T, strict=True)
    }
    used = [name for name in given if varied[name]]
    if not used or not varied[CHANGE]:
        return dict.fromkeys(given, (np.nan, np.nan, np.nan, NO_VARIATION))
    values = rated[[*used, CHANGE]].to_numpy(dtype=float)
    if (effects := _effects(values, room)) is None:
        return dict.fromkeys(given, (np.nan, np.nan, np.nan, TIED))
    errors = np.max([_errors(values, room, units) for units in (room, persona)], axis=0)
    freedom = min(rooms, rated["persona"].nunique() - len(used) - 1) - 1
    if freedom < 1 or not np.isfinite(errors).all():
        return dict.fromkeys(given, (np.nan, np.nan, np.nan, TOO_FEW_PERSONAS))
    fitted: dict[str, tuple[float, float, float, str | None]] = {}
    for name, effect, error in zip(used, map(float, effects), map(float, errors), strict=True):
        if error > ALIKE:
            p = float(2 * stdtr(freedom, -abs(effect) / error))
            fitted[name] = effect, float(stdtrit(freedom, (1 + LEVEL) / 2) * error), p, None
        else:
            fitted[name] = effect, np.nan, np.nan, NO_VARIATION
    return {name: fitted.get(name, (np.nan, np.nan, np.nan, NO_VARIATION)) for name in given}


def _within_rooms(values: Floats, room: Any) -> Floats:
    """Return values (a row per agent) minus the means of their rooms. room: the number of each agent's room."""
    agents = np.maximum(np.bincount(room), 1)
    means = np.column_stack([np.bincount(room, column) / agents for column in values.T])
    return np.asarray(values - means[room])


def _effects(values: Floats, room: Any) -> Floats | None:
    """Return the effects of all columns on the last one, within rooms; None if some of them go together."""
    centred = _within_rooms(values, room)
    levels, change = centred[:, :-1], centred[:, -1]
    if np.linalg.matrix_rank(levels) < levels.shape[1]:
        return None
    return np.asarray(np.linalg.lstsq(levels, change)[0], dtype=float)


def _errors(values: Floats, room: Any, units: Any) -> Floats:
    """Return the standard errors of the effects: the jackknife over units (rooms or personas), which leaves out one at a time.

    The means of the rooms are those of the agents who remain. The errors are infinite if a unit cannot be left out.
    """
    left: list[Floats] = []
    for unit in np.unique(units):
        if (effects := _effects(values[units != unit], room[units != unit])) is None:
            return np.full(values.shape[1] - 1, np.inf)
        left.append(effects)
    count = len(left)
    return np.asarray(np.sqrt((count - 1) / count * ((left - np.mean(left, axis=0)) ** 2).sum(axis=0)), dtype=float)
