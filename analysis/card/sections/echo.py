"""Echo chambers: do members of a party, among themselves, drive each other outward, or do they moderate as the studies found?"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from parley.analysis.card.conditions import Batch, alone, same, three, two
from parley.analysis.card.estimates import CardEstimate, find_estimate
from parley.analysis.card.labels import NAMES, below, points
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import away, effect, moved
from parley.analysis.card.sections.null_conditions import directions
from parley.analysis.formatting import format_number
from parley.model.scenario import Scenario

SECTION = "echo"
ORDER = 10
TITLE = "Debates within a party (echo chambers)"
NOTE = (
    "Debates within a party compared with debates of two (one of each party) and with silence, in the same blocks. Outward is "
    "away from where the other party stands before, inward is toward it; a topic on which the parties begin alike has "
    "neither. In other studies groups of like-minded humans became more extreme than mixed ones (Hobolt et al. 2023), and "
    "agents of one party came nearer to the Default instead (Taubenfeld et al. 2024)."
)
NEEDS = (same, alone, two, three)
QUANTITIES = {
    "echo_alone": Quantity(f"moved outward: {NAMES['same']} minus {NAMES['alone']}", "points"),
    "echo_mixed": Quantity(f"moved outward: {NAMES['same']} minus {NAMES['two']}", "points"),
    "echo_default": Quantity(f"moved toward the Default: {NAMES['same']} minus {NAMES['two']}", "points"),
}
WATCH = ("echo_mixed",)
OUTWARD = {"echo_alone": ("same", "alone"), "echo_mixed": ("same", "two")}
ALIKE = "the parties begin alike"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    outward = away(held, "same")
    out = [
        one
        for name, (of, null) in OUTWARD.items()
        for one in effect(SECTION, name, moved(held, of, outward), moved(held, null, outward), ALIKE)
    ]
    return [*out, *effect(SECTION, "echo_default", *_toward(held))]


def _toward(held: ConditionRecords) -> tuple[pd.Series | None, pd.Series | None]:
    """Toward the Default, in rooms of one party and of both; the Default is asked in rooms of three."""
    if "three" not in held:
        return None, None
    sides = directions(held)
    return moved(held, "same", sides), moved(held, "two", sides)


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens: where pairs of one party and mixed pairs went, and what differs."""
    mixed = find_estimate(found, "echo_mixed")
    if mixed is None:
        return ""
    ways = f"Pairs of one party moved {_way(mixed.estimate + mixed.null)}, mixed pairs {_way(mixed.null)}"
    return f"{ways}: a difference of {points(mixed if mixed.estimate > 0 else below(mixed))}."


def _way(moved: float) -> str:
    return (
        f"{format_number(abs(moved))} points {'away from the other party' if moved > 0 else 'toward the other party'}"
    )
