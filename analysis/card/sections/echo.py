"""Echo chambers: do two agents of one party drive each other outward, or do they become more moderate?"""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.card.conditions import Batch, alone, same, three, two
from parley.analysis.card.estimates import CardEstimate, find_estimate
from parley.analysis.card.labels import NAMES, contrasted
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import SAME_START, away, effect, moved
from parley.analysis.card.sections.null_conditions import directions
from parley.analysis.contrasts import Sides, to_and_from
from parley.model.scenario import Scenario

ORDER = 10
TITLE = "Debates within a party (echo chambers)"
NOTE = (
    "Debates within a party are compared with debates of two parties and with silence, in the same blocks. *Outward* "
    "means away from the opinion with which the other party begins; *inward* means toward that opinion. If the parties "
    "begin at the same opinion on a topic, there is no direction, and the topic is left out. In other studies groups "
    "of like-minded humans became more extreme than mixed groups (Hobolt et al. 2023), and agents of one party came "
    "nearer to the Default instead (Taubenfeld et al. 2024)."
)
NEEDS = (same, alone, two, three)
QUANTITIES = {
    "echo_alone": Quantity(f"moved outward: {NAMES['same']} minus {NAMES['alone']}", "points"),
    "echo_mixed": Quantity(f"moved outward: {NAMES['same']} minus {NAMES['two']}", "points"),
    "echo_default": Quantity(f"moved toward the Default: {NAMES['same']} minus {NAMES['two']}", "points"),
}
WATCH = ("echo_mixed",)
OUTWARD = {"echo_alone": ("same", "alone"), "echo_mixed": ("same", "two")}


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    outward = away(study, "same")
    estimates: list[CardEstimate] = []
    for name, (condition, control) in OUTWARD.items():
        estimates += effect(name, moved(study, condition, outward), moved(study, control, outward), SAME_START)
    if "three" not in study:  # the Default is asked in rooms of three
        return [*estimates, *effect("echo_default", None, None)]
    sides = directions(study)
    return [*estimates, *effect("echo_default", moved(study, "same", sides), moved(study, "two", sides))]


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section: where pairs of one party and mixed pairs went, and the difference."""
    if (mixed := find_estimate(claims, "echo_mixed")) is None:
        return ""
    return contrasted(
        "Agents", mixed, ("pairs of one party", "mixed pairs"), Sides(*to_and_from("the other party")[::-1])
    )
