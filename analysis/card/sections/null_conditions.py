"""Movement toward the Default, less what moves without it: every effect is the difference to its null condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from parley.analysis.card.conditions import DEFAULT, PARTIES, Batch, alone, copy, empty, same, shuffled, three, two
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, jackknife, mean_estimate
from parley.analysis.card.labels import DIFFERENCE, NAMES, points
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import SMALLEST, changes, effect, moved
from parley.analysis.formatting import format_number, join_phrases
from parley.model.scenario import Scenario

SECTION = "null_conditions"
ORDER = 2
TITLE = "Debates compared with controls"
NOTE = (
    "Points by which an agent moves toward the Default's answer from the first survey to the last. That answer, before the "
    "debates, is taken as known; a topic on which a party begins there has no direction and is left out. Controls are the "
    "same rooms with the same agents and seeds. Silence: nobody says anything. Empty talk: the others say a phrase without "
    "content. Lines of other rooms: the others say what their like said in other rooms. Own copy: the other is the same "
    "persona under another name. Differences are within blocks."
)
NEEDS = (three, two, same, alone, copy, shuffled, empty)
EFFECTS = {
    "three_alone": ("three", "alone"),
    "three_empty": ("three", "empty"),
    "three_shuffled": ("three", "shuffled"),
    "two_alone": ("two", "alone"),
    "same_alone": ("same", "alone"),
    "same_copy": ("same", "copy"),
}
HELD = ("three", "two", "same", "alone", "empty", "shuffled", "copy")
QUANTITIES = {
    **{
        name: Quantity(f"moved toward the Default: {NAMES[one]} minus {NAMES[null]}", "points")
        for name, (one, null) in EFFECTS.items()
    },
    "asymmetry": Quantity(
        "distance to the Default closed in a debate of three: Republicans minus Democrats", "share", DIFFERENCE
    ),
    "first_round": Quantity("of the movement in a debate of three, in the first round", "share"),
}
WATCH = ("three_alone",)
NOWHERE = "no party begins away from the Default"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    sides = directions(held)
    came = {name: moved(held, name, sides) for name in HELD}
    effects = [
        one for name, (of, null) in EFFECTS.items() for one in effect(SECTION, name, came[of], came[null], NOWHERE)
    ]
    return [*effects, _asymmetry(held, sides), _first_round(held, sides)]


def directions(held: ConditionRecords) -> pd.Series:
    """By topic and party: how far above the party's mean the Default stands before a debate of three (points)."""
    before = held.ratings("three").query("round == 0").groupby(["topic", "party"], sort=False)["level"].mean().unstack()
    before = before.reindex(columns=[*PARTIES, DEFAULT]).astype(float)
    gaps = before[list(PARTIES)].rsub(before[DEFAULT], axis=0).stack()
    return gaps[gaps.abs() >= SMALLEST]


def _asymmetry(held: ConditionRecords, sides: pd.Series) -> CardEstimate:
    """Movement over distance at the start, Republicans less Democrats, both pooled over blocks; by leaving out one block."""
    claim = CardEstimate(SECTION, "asymmetry", ALL)
    sums = _sums(changes(held, "three"), sides, "change")
    if any(party not in sums for party in PARTIES):
        return replace(claim, reason="a party begins where the Default stands, or could not be rated")

    def of(kept: pd.DataFrame) -> float:
        whole = kept.sum()
        red, blue = (whole[party, "moved"] / whole[party, "gap"] for party in PARTIES)
        return float(red - blue)

    return jackknife(claim, sums, of)


def _first_round(held: ConditionRecords, sides: pd.Series) -> CardEstimate:
    """Of agents that were rated before, after the first round and last."""
    claim, rows = CardEstimate(SECTION, "first_round", ALL), changes(held, "three").dropna(subset="first")
    parts = [_sums(rows, sides, name) for name in ("first", "change")]
    if parts[0].empty:
        return replace(claim, reason=f"{NOWHERE}, or nobody was rated in three surveys")
    first, whole = (part.T.groupby(level=1).sum().T["moved"] for part in parts)
    both = pd.concat({"first": first, "whole": whole}, axis=1)
    if not mean_estimate(claim, both["whole"]).low > 0:
        return replace(claim, n=len(both), reason="no movement of which there could be a share")
    return jackknife(claim, both, lambda kept: float(kept["first"].sum() / kept["whole"].sum()))


def _sums(rows: pd.DataFrame, sides: pd.Series, name: str) -> pd.DataFrame:
    """A row a block; columns party x (moved, gap): sums over agents and topics, positive toward the Default. Empty where nobody
    was rated who could come nearer.
    """
    rows = rows.join(sides.rename("gap"), on=["topic", "party"], how="inner")
    if rows.empty:
        return pd.DataFrame()
    side = np.sign(rows["gap"])
    told = pd.DataFrame(
        {
            "block": rows["block"],
            "party": rows["party"],
            "moved": side * rows[name],
            "gap": rows["gap"].abs(),
        }
    )
    return told.groupby(["block", "party"], sort=False)[["moved", "gap"]].sum().unstack().swaplevel(axis=1).dropna()


def sentences(found: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For the first screen."""
    silent, bare, others = (find_estimate(found, name) for name in ("three_alone", "three_empty", "three_shuffled"))
    if silent is None:
        return
    told = (
        f"**Is it persuasion?** Over {first.base.rounds} rounds Republicans and Democrats came "
        f"{format_number(silent.estimate + silent.null)} points nearer to the Default's answer in debates of three; in silence "
        f"{format_number(silent.null)}, a difference of {points(silent)}."
    )
    if bare:
        told += (
            f" With empty talk they came {format_number(bare.null)}: that much needs "
            f"no argument; what is said adds {points(bare)}."
        )
    if others:
        told += (
            f" With lines recorded in other rooms, which answer nobody here, they came {format_number(others.null)}: "
            f"being answered adds {points(others)}, before rounding."
        )
    yield told


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    known = {name: one for name in ("three", "two", "same") if (one := find_estimate(found, f"{name}_alone"))}
    told = [f"{points(one)} in a {NAMES[name]}" for name, one in known.items()]
    return f"Compared with silence, agents come nearer to the Default's answer by {join_phrases(told)}." if told else ""
