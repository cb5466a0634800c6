"""Echo chambers: do members of a party, among themselves, drive each other outward, or do they moderate as the studies found?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.card.claims import Claim, find
from analysis.card.conditions import alone, same, three, two
from analysis.card.held import Held
from analysis.card.sections import Quantity
from analysis.card.sections._movement import away, effect, moved
from analysis.card.sections.nulls import directions
from model.scenario import Scenario

SECTION = "echo"
ORDER = 10
TITLE = "Echo chambers"
NOTE = (
    "Rooms of one party beside rooms of both and beside rooms in which nobody speaks, the same blocks. Outward is away from "
    "where the other party stands before (points of 0-10, means of a block); a topic on which the parties begin alike has no "
    "outward. Among people, groups of one mind become more extreme than mixed ones (Hobolt et al. 2023); agents of "
    "one party came nearer to the Default instead (Taubenfeld et al. 2024, Figs 5, 8, 9)."
)
NEEDS = (same, alone, two, three)
QUANTITIES = {
    "echo_alone": Quantity("moved outward: two of a party less asked alone", "points"),
    "echo_mixed": Quantity("moved outward: two of a party less one of each", "points"),
    "echo_default": Quantity("moved toward the Default: two of a party less one of each", "points"),
}
WATCH = ("echo_mixed",)
OUTWARD = {"echo_alone": ("same", "alone"), "echo_mixed": ("same", "two")}
ALIKE = "the parties begin alike"


def claims(held: Held, base: Scenario) -> list[Claim]:
    outward = away(held, "same")
    out = [
        one
        for name, (of, null) in OUTWARD.items()
        for one in effect(SECTION, name, moved(held, of, outward), moved(held, null, outward), ALIKE)
    ]
    return [*out, *effect(SECTION, "echo_default", *_toward(held))]


def _toward(held: Held) -> tuple[pd.Series | None, pd.Series | None]:
    """Toward the Default, in rooms of one party and of both; the Default is asked in rooms of three."""
    if "three" not in held:
        return None, None
    sides = directions(held)
    return moved(held, "same", sides), moved(held, "two", sides)


def sentences(found: Sequence[Claim], base: Scenario) -> Iterator[str]:
    """For the first screen."""
    among, mixed = find(found, "echo_alone"), find(found, "echo_mixed")
    if among is None or mixed is None:
        return
    yield (
        f"**Among their own.** Two of a party who debate with each other move {_way(among)}, outward being away from the other "
        f"party; beside a debate with one of the other party they end {_way(mixed)}."
    )


def _way(claim: Claim) -> str:
    """`0.8 points inward (0.7 to 0.9)`, or that neither is sure."""
    if claim.low <= 0 <= claim.high:
        return f"neither outward nor inward for sure ({claim.low:+.1f} to {claim.high:+.1f})"
    side, ends = ("outward", (claim.low, claim.high)) if claim.low > 0 else ("inward", (-claim.high, -claim.low))
    return f"{abs(claim.estimate):.1f} points {side} ({ends[0]:.1f} to {ends[1]:.1f})"
