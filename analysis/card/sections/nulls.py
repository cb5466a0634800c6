"""Movement toward the Default, less what moves without it: every effect is the difference to its null condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.card.claims import ALL, Claim, averaged, find, jackknifed
from analysis.card.conditions import DEFAULT, PARTIES, alone, copy, empty, same, shuffled, three, two
from analysis.card.held import Held
from analysis.card.sections import Quantity
from analysis.card.sections._movement import SMALLEST, changes, effect, moved
from model.scenario import Scenario

SECTION = "nulls"
ORDER = 2
TITLE = "What the debate does, beside conditions in which it does nothing"
NOTE = (
    "Points of 0-10 by which an agent moves toward the Default's level from the first survey to the last. The Default's level "
    "is its own answer before the debates, taken as known; a topic on which a party begins where the Default stands has no "
    "direction and is left out. Alone: the same room, in which nobody says anything. Shuffled: the others say lines from other "
    "rooms. Empty: they say a phrase without content. Copy: the other is the same person. Differences are within blocks, the "
    "same people and seeds."
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
TOLD = {
    "three": "a debate of three", "two": "a debate of two", "same": "two of a party", "alone": "asked alone",
    "empty": "partners without content", "shuffled": "partners with lines of other rooms", "copy": "the own copy",
}  # fmt: skip
QUANTITIES = {
    **{
        name: Quantity(f"moved toward the Default: {TOLD[one]} less {TOLD[null]}", "points")
        for name, (one, null) in EFFECTS.items()
    },
    "asymmetry": Quantity("distance closed in a debate of three: Republicans less Democrats", "share"),
    "first_round": Quantity("of that movement in the first round", "share"),
}
WATCH = ("three_alone",)
NOWHERE = "no party begins away from the Default"


def claims(held: Held, base: Scenario) -> list[Claim]:
    sides = directions(held)
    came = {name: moved(held, name, sides) for name in TOLD}
    effects = [
        one for name, (of, null) in EFFECTS.items() for one in effect(SECTION, name, came[of], came[null], NOWHERE)
    ]
    return [*effects, _asymmetry(held, sides), _first_round(held, sides)]


def directions(held: Held) -> pd.Series:
    """By topic and party: how far above the party's mean the Default stands before a debate of three (points)."""
    before = held.ratings("three").query("round == 0").groupby(["topic", "party"], sort=False)["level"].mean().unstack()
    gaps = before[list(PARTIES)].rsub(before[DEFAULT], axis=0).stack()
    return gaps[gaps.abs() >= SMALLEST]


def _asymmetry(held: Held, sides: pd.Series) -> Claim:
    """Movement over distance at the start, Republicans less Democrats, both pooled over blocks; by leaving out one block."""
    claim = Claim(SECTION, "asymmetry", ALL)
    sums = _sums(held, sides, "change")
    if any(party not in sums for party in PARTIES):
        return replace(claim, reason="a party begins where the Default stands")

    def of(kept: pd.DataFrame) -> float:
        whole = kept.sum()
        red, blue = (whole[party, "moved"] / whole[party, "gap"] for party in PARTIES)
        return float(red - blue)

    return jackknifed(claim, sums, of)


def _first_round(held: Held, sides: pd.Series) -> Claim:
    claim = Claim(SECTION, "first_round", ALL)
    first, whole = (_sums(held, sides, name).T.groupby(level=1).sum().T for name in ("first", "change"))
    both = pd.concat({"first": first["moved"], "whole": whole["moved"]}, axis=1)
    if averaged(claim, both["whole"]).low <= 0:
        return replace(claim, n=len(both), reason="no movement of which there could be a share")
    return jackknifed(claim, both, lambda kept: float(kept["first"].sum() / kept["whole"].sum()))


def _sums(held: Held, sides: pd.Series, name: str) -> pd.DataFrame:
    """A row a block; columns party x (moved, gap): sums over agents and topics, positive toward the Default."""
    rows = changes(held, "three").join(sides.rename("gap"), on=["topic", "party"], how="inner")
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


def sentences(found: Sequence[Claim], base: Scenario) -> Iterator[str]:
    """For the first screen."""
    came, bare = (find(found, name) for name in ("three_alone", "three_empty"))
    if came is None:
        return
    told = (
        f"**Together.** In debates of {base.rounds} rounds agents came {came.estimate + came.null:.1f} points nearer to the "
        f"model's own opinion. In the same rooms with nobody speaking they came {came.null:.1f} points nearer, so that the "
        f"debate did {came.estimate:.1f} ({came.low:.1f} to {came.high:.1f})"
    )
    if bare:
        told += f"; where the others said nothing of substance, still {bare.null:.1f}: so much is not persuasion"
    yield f"{told}."
