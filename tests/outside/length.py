"""A section of the card: how long replies are."""

from __future__ import annotations

from parley.analysis.card.conditions import three
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.model.scenario import Scenario

ORDER = 95
TITLE = "Length"
NOTE = "Words of a reply."
NEEDS = (three,)
QUANTITIES = {"length": Quantity("words of a reply", "ratio")}
WATCH = ()


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    """One claim: the mean."""
    words = [len(text.split()) for found in held.records["three"] for text in found.utterances["text"]]
    mean = sum(words) / len(words)
    return [CardEstimate("length", "all", mean, mean - 1, mean + 1, n=len(words))]
