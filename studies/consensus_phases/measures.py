"""The measured response of people to the answers of others: influence, leaning and order, and the fitted curve.

Influence, leaning and order assume no law. They are means over people, with a Student interval over people:

influence  how much more often a person answers for the claim if it was told that all others do than if it was told that none does
leaning    its mean share for the claim minus one half, over numbers that are symmetric about a divided group
order      how much more often than in half of the answers it gives the one listed first

Each question is asked with either answer listed first, and counts if both could be read. So a person who always gives the answer
listed first has no influence and no leaning. The unit is the person: people with one description (such as the Default)
are as many as there are seats; of people with several descriptions, those with the same one are one person.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.persona import all_personas
from parley.analysis.statistics.intervals import FEWEST, SIGNED, Ends, Floats, is_even, nanmean
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

from .environment import FOR, SIDES
from .fit import NO_NOISE, Answers, Fit, fit
from .group_consensus import rules
from .theory import PHASES, phase

SURE = 0.95
"""The share of likely parameters that must lie in one phase before the report names it."""
UNCLEAR = "unclear"
BOUNDS: Mapping[str, Ends] = {"influence": SIGNED, "leaning": (-0.5, 0.5), "order": (-0.5, 0.5)}
ESTIMATES = ("pull", "bias", "noise", "noisy_pull", "noisy_bias")


class Setting(NamedTuple):
    """What a run varies: the size of its rooms, the temperature, and what people see first."""

    size: int
    temperature: float
    begins: str


class CurveData(NamedTuple):
    """What a topic's curve is measured with.

    answers: pairs of answers that were read in both orders; shares (people, levels): the mean of both; first
    (people,): the share of answers listed first; alone: how many of how many answers were for the claim where no other
    answer was shown.
    """

    topic: str
    answers: Answers
    shares: Floats
    first: Floats
    alone: tuple[int, int]
    asked: int
    missing: int


def setting_of(tables: Tables) -> Setting:
    """Return what the run varies."""
    environment = rules(tables)
    return Setting(environment.size, float(tables.header.scenario["temperature"]), environment.begins)


def units(tables: Tables) -> pd.Series:
    """Return the person in each seat, by room and agent: its description, or the seat where all people have the same one."""
    seats = tables.agents.set_index(["room", "agent"])
    texts = _descriptions(tables, set(seats["party"]))
    people = pd.Series([texts.get(name, str(name)) for name in seats["persona"]], seats.index)
    if people.nunique() > 1:
        return people
    return pd.Series([f"{room} {agent}" for room, agent in seats.index], seats.index)


def _descriptions(tables: Tables, parties: set[str]) -> dict[str, str]:
    """Return the description of each persona by its id; nothing where the set is not on this machine."""
    try:
        return {person.id: person.backstory for party in parties for person in all_personas(party, tables.personas)}
    except UserError:
        return {}


def curves(tables: Tables) -> Iterator[CurveData]:
    """Yield what each topic's curve is measured with, from a run with told=curve."""
    rows, person = tables.sides.copy(), units(tables)
    rows["person"] = [person[room, agent] for room, agent in zip(rows["room"], rows["agent"], strict=True)]
    rows["for"] = np.where(rows["side"].isna(), np.nan, rows["side"] == FOR)
    rows["first"] = np.where(rows["side"].isna(), np.nan, rows["side"] == rows["listed_first"])
    for topic, of_topic in rows.groupby("topic", sort=False):
        yield _curve(str(topic), of_topic)


def _curve(topic: str, rows: pd.DataFrame) -> CurveData:
    told, alone = rows[rows["others"] > 0], rows[rows["others"] == 0]
    seats = told.pivot_table(
        index=["person", "room", "agent", "agree"], columns="listed_first", values="for", aggfunc="mean", dropna=False
    ).reindex(columns=list(SIDES))
    pairs = seats.dropna().sum(axis=1)
    people, levels = list(dict.fromkeys(rows["person"])), np.unique(told["agree"])
    others = int(told["others"].iloc[0]) if len(told) else 1
    hits = _grid(pairs.groupby(["person", "agree"]).sum(), people, levels)
    sizes = _grid(2.0 * pairs.groupby(["person", "agree"]).count(), people, levels)
    with np.errstate(invalid="ignore"):
        shares = np.where(sizes > 0, hits / sizes, np.nan)
    first = (
        told.groupby(["person", "listed_first"])["first"].mean().unstack().reindex(index=people, columns=list(SIDES))
    )
    answered = alone["for"].dropna()
    return CurveData(
        topic, Answers(2 * levels / others - 1, hits, sizes), shares, first.mean(axis=1, skipna=False).to_numpy(dtype=float),
        (int(answered.sum()), len(answered)), len(rows), int(rows["side"].isna().sum()),
    )  # fmt: skip


def _grid(values: pd.Series, people: list[str], levels: Floats) -> Floats:
    wide = values.unstack().reindex(index=people, columns=levels)
    return np.asarray(wide.fillna(0.0).to_numpy(dtype=float))


def person_values(data: CurveData) -> dict[str, Floats]:
    """Return influence, leaning and order of each person (NaN: missing)."""
    whole = np.isfinite(data.shares).all(axis=1)
    leaning = np.where(whole, nanmean(data.shares, 1) - 0.5, np.nan)
    return {"influence": data.shares[:, -1] - data.shares[:, 0], "leaning": leaning, "order": data.first - 0.5}


def response_row(data: CurveData) -> dict[str, Any]:
    """Return influence, leaning and order with their intervals over people, people, asked, missing, and no_difference
    (whether no answer of at least five people depended on the others).
    """
    values = {name: people[np.isfinite(people)] for name, people in person_values(data).items()}
    row: dict[str, Any] = {"people": len(values["influence"]), "asked": data.asked, "missing": data.missing}
    for name, people in values.items():
        row |= mean_row(people, name, f"{name}_", BOUNDS[name])
    same = values["influence"]
    return row | {"no_difference": bool(len(same) >= FEWEST and is_even(same) and not same.any())}


class Fits(NamedTuple):
    """The curve of a topic without coin tosses, which places it on the map, and with them."""

    plain: Fit
    noisy: Fit


def fit_both(answers: Answers, seed: Sequence[int]) -> Fits | None:
    """Return both fits; None without answers at two numbers."""
    rng = np.random.default_rng(list(seed))
    plain, noisy = fit(answers, rng, NO_NOISE), fit(answers, rng)
    return Fits(plain, noisy) if plain and noisy else None


def fit_row(found: Fits | None) -> dict[str, Any]:
    """Return pull and bias without coin tosses, then noise, noisy_pull and noisy_bias of the fit with them, each with its ends
    (infinite: open), the phase (or 'unclear'), and the share of likely parameters in each phase.
    """
    if found is None:
        return dict.fromkeys([name + end for name in ESTIMATES for end in ("", "_low", "_high")], np.nan) | {
            "phase": UNCLEAR
        }
    (pull, bias, _), (noisy_pull, noisy_bias, noise) = (zip(one.curve, one.ends, strict=True) for one in found)
    row: dict[str, Any] = {}
    for name, (value, (low, high)) in zip(ESTIMATES, (pull, bias, noise, noisy_pull, noisy_bias), strict=True):
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    places = phase(found.plain.draws[:, 0], found.plain.draws[:, 1])
    shares = {name: float((places == place).mean()) for place, name in enumerate(PHASES)}
    likely = max(shares, key=lambda name: shares[name])
    clear = shares[likely] >= SURE and found.plain.people >= FEWEST
    return row | {"phase": likely if clear else UNCLEAR} | {f"in {name}": share for name, share in shares.items()}


def fit_curve(data: CurveData, seed: int) -> Fits | None:
    """Return the fits of a topic's curve; None without answers at two numbers."""
    return fit_both(data.answers, (seed, len(data.topic), int(data.answers.sizes.sum())))
