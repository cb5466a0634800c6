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
SMALLEST = 0.5
"""Below this distance from the Default (points) a party's direction is not told from noise."""


def claims(held: Held, base: Scenario) -> list[Claim]:
    sides = directions(held)
    moved = {name: _moved(held, name, sides) for name in TOLD}
    effects = [one for name, (of, null) in EFFECTS.items() for one in _effect(name, moved[of], moved[null])]
    return [*effects, _asymmetry(held, sides), _first_round(held, sides)]


def directions(held: Held) -> pd.Series:
    """By topic and party: how far above the party's mean the Default stands before a debate of three (points)."""
    before = held.ratings("three").query("round == 0").groupby(["topic", "party"], sort=False)["level"].mean().unstack()
    gaps = before[list(PARTIES)].rsub(before[DEFAULT], axis=0).stack()
    return gaps[gaps.abs() >= SMALLEST]


def _moved(held: Held, condition: str, sides: pd.Series) -> pd.Series | None:
    """By block, topic and party: the mean movement toward the Default; None where the condition was not held."""
    frames = [_changes(held, name) for name in held.records if name.partition(" ")[0] == condition and name in held]
    if not frames:
        return None
    changes = pd.concat(frames)
    toward = np.sign(sides).rename("side")
    joined = changes.join(toward, on=["topic", "party"], how="inner")
    return (
        (joined["change"] * joined["side"])
        .groupby([joined["block"], joined["topic"], joined["party"]], sort=False)
        .mean()
    )


def _changes(held: Held, condition: str) -> pd.DataFrame:
    """A row an agent that was rated first and last: block, topic, party, change, first (in the first round)."""
    wide = held.ratings(condition).pivot(
        index=["block", "topic", "party", "room", "agent"], columns="round", values="level"
    )
    told = pd.DataFrame(
        {
            "change": wide.iloc[:, -1] - wide.iloc[:, 0],
            "first": wide.iloc[:, 1] - wide.iloc[:, 0],
            "start": wide.iloc[:, 0],
        }
    )
    return told.dropna(subset="change").reset_index()


def _effect(name: str, of: pd.Series | None, null: pd.Series | None) -> Iterator[Claim]:
    """Over both parties and all topics, then a topic each."""
    if of is None or null is None:
        yield Claim(SECTION, name, ALL, reason="not held")
        return
    pairs = pd.concat({"of": of, "null": null}, axis=1).dropna()
    if pairs.empty:
        yield Claim(SECTION, name, ALL, reason="no party begins away from the Default")
        return
    yield _paired(Claim(SECTION, name, ALL), pairs)
    for topic, part in pairs.groupby(level="topic", sort=False):
        yield _paired(Claim(SECTION, name, str(topic)), part)


def _paired(begun: Claim, pairs: pd.DataFrame) -> Claim:
    by_block = pairs.groupby(level="block", sort=False).mean()
    return replace(averaged(begun, by_block["of"] - by_block["null"]), null=float(by_block["null"].mean()))


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
    changes = _changes(held, "three").join(sides.rename("gap"), on=["topic", "party"], how="inner")
    side = np.sign(changes["gap"])
    told = pd.DataFrame(
        {
            "block": changes["block"],
            "party": changes["party"],
            "moved": side * changes[name],
            "gap": changes["gap"].abs(),
        }
    )
    return told.groupby(["block", "party"], sort=False)[["moved", "gap"]].sum().unstack().swaplevel(axis=1).dropna()


def sentences(found: Sequence[Claim], base: Scenario) -> Iterator[str]:
    """For the first screen."""
    moved, bare = (find(found, name) for name in ("three_alone", "three_empty"))
    if moved is None:
        return
    told = (
        f"**Together.** In debates of {base.rounds} rounds agents came {moved.estimate + moved.null:.1f} points nearer to the "
        f"model's own opinion. In the same rooms with nobody speaking they came {moved.null:.1f} points nearer, so that the "
        f"debate did {moved.estimate:.1f} ({moved.low:.1f} to {moved.high:.1f})"
    )
    if bare:
        told += f"; where the others said nothing of substance, still {bare.null:.1f}: so much is not persuasion"
    yield f"{told}."
