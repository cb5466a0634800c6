"""The arms of `run.py study flips`: conditions of the bias card, and three more, with a statement and its opposite asked.

It has what the protocol of the card needs of a section: NEEDS, and WATCH (nothing, so that one batch is enough).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from parley.agents.claim_questions import AGAINST, FOR, GUESSES, NEGATED, SILENT
from parley.agents.topic import load_topic
from parley.analysis.card.conditions import Batch, Conditions, alone, empty, shuffled, three
from parley.analysis.steering import steering_of, unsteered
from parley.model.scenario import Scenario

STATEMENT = "agreement"
ITEMS = (STATEMENT, NEGATED)
"""The two survey questions: agreement with the topic's claim, and with its opposite."""


def in_full(batch: Batch) -> Conditions:
    """The debates of `three`, in which agents guess at the end what is studied."""
    return {name: scenario.with_settings({"also": (NEGATED, *GUESSES)}) for name, scenario in three(batch).items()}


def stance(batch: Batch) -> Conditions:
    """The rooms of `three`, whose partners only say where they stand. The people of the party have no role, as in `three`."""
    roles = {party: tuple(f"{other}:stance_only" for other in batch.seats if other != party) for party in batch.parties}
    return {f"stance {party}": batch.table(*batch.seats, roles=given) for party, given in roles.items()}


def without_steering(batch: Batch) -> Conditions:
    """The rooms of `three`, without what tells agents how to behave; empty if nothing tells agents how to behave."""
    full = batch.table(*batch.seats)
    return {"unsteered": unsteered(full)} if steering_of(full) else {}


def interviewed(batch: Batch) -> Conditions:
    """Each agent of the parties alone, in every question of agreement with an interviewer, and in the plain one."""
    settings = {"probe": "agreement", "also": (FOR, AGAINST, SILENT), "rounds": 0}
    groups = {"environment": "groups", "parties": batch.parties, "size": 1, "default_agent": "without"}
    return {"interviewed": batch.set(**groups, **settings)}


NEEDS = (in_full, alone, stance, empty, shuffled, interviewed, without_steering)
WATCH: tuple[str, ...] = ()
SETTINGS: Mapping[str, Any] = {"probe": STATEMENT, "also": (NEGATED,)}
"""The fields that every arm has."""


def check_items(base: Scenario) -> None:
    """Errors: UserError for a topic whose claim has no opposite to ask about."""
    for slug in base.subject.topic:
        load_topic(slug).probe(NEGATED)


def sections(module: ModuleType) -> dict[str, ModuleType]:
    """Return the arms as the protocol of the card takes them. module: this one."""
    return {"flips": module}
