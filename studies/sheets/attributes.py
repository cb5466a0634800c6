"""Fact on attributes: do ratings and lines depend on the attributes that agents were given?

Each attribute (party, belief, confirmation bias, role, level of a trait) is compared with each outcome: the first rating, its
change until the last survey, the size of this change, and, with a judge's scores, the mean stance of an agent's lines. The effect
is the difference of the outcome between the ends of the attribute, within rooms, and between people of the same party and belief.
Null: the values of the attribute shuffled. A persona has the same party and temperament wherever it sits, so these are dealt
among personas; all else is dealt among the seats of a repetition. An agent in one room is never a unit of its own.

An attribute is kept if an outcome depends on it (p below 0.05 / number of outcomes, 999 deals), and not kept if every outcome
differs by less than TOLERANCE points (the whole interval lies within it). Else it is unknown, also if fewer than 5 units have
a value. The interval is the effect plus and minus what 95% of the deals reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.agents.traits import BIASES, level_names, trait_names
from parley.analysis.formatting import format_estimate
from parley.analysis.human.readers import table as read_table
from parley.analysis.statistics.intervals import ALIKE, FEWEST, Floats
from parley.analysis.statistics.null import Null
from parley.analysis.tables import Tables
from parley.llm.seeding import derive
from parley.model.scenario import MEDIATOR
from parley.studies.sheets.facts import Fact, SheetRun, fact

ALPHA, DEALS, TOLERANCE = 0.05, 999, 1.0
KEPT, BROKEN, UNKNOWN = "kept", "not kept", "is unknown"
PARTY, BELIEF, BIAS, ROLE = "party", "belief", "confirmation_bias", "role"
OUTCOMES = {
    "first": "first rating",
    "change": "change of rating",
    "size": "size of change",
    "stance": "stance of lines",
}
CONFOUNDED = "the attribute goes with the party: all people of a party have the same value"
COLUMNS = ["attribute", "values", "outcome", "units", "agents", "effect", "low", "high", "p", "reason"]


VERDICTS = {
    KEPT: "Attributes on which ratings or messages depend, with the difference in points of 10 within rooms",
    BROKEN: f"No outcome differs by {TOLERANCE:g} of 10 points between",
    UNKNOWN: "Whether ratings depend on an attribute is unknown",
}


def outcomes(tables: Tables, verdicts: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return a row per agent in a debate: its keys, attributes, and outcomes in points of 10 (NaN: missing).

    verdicts: a judge's scores of lines (1-7), as `run.py study judge` writes them.
    """
    probe = tables.header.scenario["probe"]
    keys = ["room", "agent"]
    people = tables.agents[tables.agents["group"].isin(tables.groups) & (tables.agents["party"] != MEDIATOR)].copy()
    ratings = tables.attitudes[tables.attitudes["probe"] == probe].sort_values("round", kind="stable")
    ends = ratings.dropna(subset=["attitude"]).groupby(keys)
    first = ratings[ratings["round"] == 0].set_index(keys)["attitude"]
    last = ends["attitude"].last().where(ends["round"].last() > 0)
    at = pd.MultiIndex.from_frame(people[keys])
    people["first"] = first.reindex(at).to_numpy(dtype=float)
    people["change"] = last.reindex(at).to_numpy(dtype=float) - people["first"]
    people["size"] = people["change"].abs()
    if verdicts is not None:
        people["stance"] = (verdicts.groupby(keys)["score"].mean().reindex(at).to_numpy(dtype=float) - 1) / 6 * 10
    given = tables.characters.set_index(keys).reindex(at)
    for name in (BELIEF, BIAS, ROLE, *trait_names()):
        people[name] = given[name].to_numpy() if name in given else None
    people[BIAS] = people[BIAS].fillna(BIASES[0])
    return people.reset_index(drop=True)


def contrasts(people: pd.DataFrame) -> Iterator[tuple[str, str, Floats]]:
    """Yield each attribute with at least two values: its name, which ends are compared, and a number from 0 to 1 per agent."""
    for name, order in ((BELIEF, ["susceptible", "believer"]), (BIAS, list(BIASES)),
                        *((trait, list(level_names())) for trait in trait_names())):  # fmt: skip
        present = [value for value in order if (people[name] == value).any()]
        if len(present) > 1:
            places = people[name].map({value: order.index(value) for value in present}).to_numpy(dtype=float)
            low, high = order.index(present[0]), order.index(present[-1])
            yield name, f"{present[-1]} − {present[0]}", (places - low) / (high - low)
    for name in (PARTY, ROLE):
        values = [value for value in dict.fromkeys(people[name].dropna()) if value]
        for number, value in enumerate(values):
            for other in values[number + 1 :]:
                coded = people[name].map({value: 0.0, other: 1.0}).to_numpy(dtype=float)
                yield name, f"{other} − {value}", coded


def effects(people: pd.DataFrame) -> pd.DataFrame:
    """Return a row per attribute, pair of values and outcome (COLUMNS); a reason where there is no effect."""
    rows = []
    for name, values, coded in contrasts(people):
        for outcome in OUTCOMES:
            if outcome in people:
                about = {"attribute": name, "values": values, "outcome": OUTCOMES[outcome]}
                rows.append(
                    about | _effect(people, name, coded, people[outcome].to_numpy(dtype=float), f"{values} {outcome}")
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def _effect(people: pd.DataFrame, name: str, coded: Floats, outcome: Floats, label: str) -> dict[str, object]:
    is_known = np.isfinite(coded) & np.isfinite(outcome)
    people, coded, outcome = people[is_known], coded[is_known], outcome[is_known]
    units, firsts, strata = _units(people, name, coded)
    row: dict[str, object] = {"units": len(firsts), "agents": len(people), "reason": ""}
    sides = coded[firsts]
    if min((sides == 0).sum(), (sides == 1).sum()) < FEWEST:
        return row | {"reason": f"fewer than {FEWEST} {_unit_name(people, coded)}s have a value"}
    same = [people["room"], *(people[other].fillna("").astype(str) for other in (PARTY, BELIEF) if other != name)]
    cell = pd.factorize(pd.MultiIndex.from_arrays(same))[0]
    centred = outcome - _means(outcome, cell)[cell]
    deviation = coded - _means(coded, cell)[cell]
    spread = float(deviation @ deviation)
    if spread < ALIKE:
        return row | {"reason": CONFOUNDED}
    slope = float(coded @ centred) / spread
    rng = np.random.default_rng(derive(0, "control", name, label))
    null = np.array([_deal(sides, strata, rng)[units] @ centred for _ in range(DEALS)]) / spread
    reach = float(np.quantile(np.abs(null), 0.95))
    return row | {"effect": slope, "low": slope - reach, "high": slope + reach, "p": Null(null).p(slope)}


def _unit_name(people: pd.DataFrame, coded: Floats) -> str:
    return "persona" if _is_personal(people, coded) else "seat"


def _is_personal(people: pd.DataFrame, coded: Floats) -> bool:
    """Return whether each persona has the same value wherever it sits."""
    return bool((pd.Series(coded).groupby(people["persona"].to_numpy()).nunique() <= 1).all())


def _units(
    people: pd.DataFrame, name: str, coded: Floats
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the unit of each agent, the first agent of each unit, and the stratum of each unit: values are dealt within it."""
    if _is_personal(people, coded):
        keys, strata = people["persona"], people["group"] if name == PARTY else people[PARTY]
    else:
        room = people["group"] + " " + people["repetition"].astype(str)
        keys, strata = room + " " + people["seat"], room if name == PARTY else room + " " + people[PARTY]
    units = pd.factorize(keys)[0]
    firsts = np.unique(units, return_index=True)[1]
    return units, firsts, pd.factorize(strata.to_numpy()[firsts])[0]


def _deal(values: Floats, strata: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """Return the values shuffled within each stratum."""
    order = np.lexsort((np.arange(len(values)), strata))
    dealt = values.copy()
    dealt[order] = values[np.lexsort((rng.random(len(values)), strata))]
    return dealt


def _means(values: Floats, cell: NDArray[np.intp]) -> Floats:
    return np.bincount(cell, values) / np.bincount(cell)


def decide_attributes(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per attribute and pair of values: attribute, values, units, verdict, reason (if kept: what depends on it)."""
    rows = []
    for (name, values), attribute_rows in table.groupby(["attribute", "values"], sort=False):
        tested = attribute_rows[attribute_rows["reason"] == ""]
        significant = tested[tested["p"] < ALPHA / max(len(attribute_rows), 1)]
        row = {"attribute": name, "values": values, "units": int(attribute_rows["units"].max()), "verdict": UNKNOWN}
        if tested.empty:
            rows.append(row | {"reason": attribute_rows["reason"].iloc[0]})
        elif len(significant):
            rows.append(row | {"verdict": KEPT, "reason": ", ".join(map(_size, significant.to_dict("records")))})
        elif len(wide := tested[np.fmax(tested["low"].abs(), tested["high"].abs()) > TOLERANCE]):
            far = wide.iloc[int(np.argmax(np.fmax(wide["low"].abs(), wide["high"].abs()).to_numpy()))]
            reason = f"{far['outcome']} may differ by {max(abs(far['low']), abs(far['high'])):.1f} of 10 points"
            rows.append(row | {"reason": reason})
        else:
            rows.append(row | {"verdict": BROKEN, "reason": f"no outcome differs by {TOLERANCE:g} of 10 points"})
    return pd.DataFrame(rows, columns=["attribute", "values", "units", "verdict", "reason"])


def _size(row: Mapping[str, Any]) -> str:
    return f"{row['outcome']} {format_estimate(row['effect'], row['low'], row['high'])}"


def _reason(row: Mapping[str, Any]) -> str:
    return "" if row["verdict"] == BROKEN else f": {row['reason']}"


@fact
def attributes(run: SheetRun) -> Fact | None:
    """Which attributes of people ratings, and lines that `run.py study judge` scored, depend on."""
    scores = run.folder / "judge" / "verdicts.csv"
    judged = read_table(scores, ["room", "agent"], {"score": (1, 7)}) if scores.exists() else None
    decided = decide_attributes(effects(outcomes(run.tables, judged)))
    if decided.empty:
        return None
    told = []
    for verdict, start in VERDICTS.items():
        rows = decided[decided["verdict"] == verdict].to_dict("records")
        named = [f"{row['attribute']}, {row['values']}{_reason(row)}" for row in rows]
        told += [f"{start}: {'; '.join(named)}."] if named else []
    place = f"tables/attitudes.csv, attitude; tables/characters.csv{'; judge/verdicts.csv, score' if scores.exists() else ''}"
    return Fact(" ".join(told), place, known=bool((decided["verdict"] != UNKNOWN).any()))
