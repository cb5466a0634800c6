"""The arms of `run.py flips`: conditions of the bias card (analysis/card/conditions.py) with a statement and its opposite asked.

It has what the protocol of the card needs of a section: NEEDS, and WATCH (nothing, so that one batch is enough).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from parley.agents.claim_questions import NEGATED
from parley.agents.topic import load_topic
from parley.analysis.card.conditions import (
    Batch,
    Conditions,
    alone,
    empty,
    interviewed,
    shuffled,
    stance,
    three,
    without_steering,
)
from parley.model.scenario import Scenario

STATEMENT = "agreement"
ITEMS = (STATEMENT, NEGATED)
"""The two survey questions: agreement with the topic's claim, and with its opposite."""
GUESSES = ("studied:end", "expected:end")
"""What agents are asked in the debates in full, after the last survey: what is studied, and which change is expected."""


def in_full(batch: Batch) -> Conditions:
    """The debates of `three`, in which agents guess at the end what is studied."""
    return {name: scenario.with_settings({"also": (NEGATED, *GUESSES)}) for name, scenario in three(batch).items()}


NEEDS = (in_full, alone, stance, empty, shuffled, interviewed, without_steering)
WATCH: tuple[str, ...] = ()
SETTINGS: Mapping[str, Any] = {"probe": STATEMENT, "also": (NEGATED,)}
"""The fields that every arm has."""


def check_items(base: Scenario) -> None:
    """Errors: UserError for a topic whose claim has no opposite to ask about."""
    for slug in base.subject.topics:
        load_topic(slug).probe(NEGATED)


def sections(own: ModuleType) -> dict[str, ModuleType]:
    """Return the arms as the protocol of the card takes them. own: this module."""
    return {"flips": own}
