"""Who is given which role, temperament and confirmation bias: what a preset says of parties and seats, as characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from parley.agents.character import PLAIN, Character, bias_of, role_of, traits_of
from parley.llm.errors import UserError, unknown
from parley.llm.randomness import stream

if TYPE_CHECKING:
    from parley.model.scenario import Scenario
    from parley.model.seating import Place

EVERYBODY, MARK = "", "/"
Given = Mapping[str, str]


def endowments(scenario: Scenario) -> Callable[[Place, int], Character]:
    """The character of somebody at a place: what its seat is given, else its party, else everybody.

    A persona has the same drawn temperament wherever it sits; a role that is drawn is its seat's in a group and repetition, on
    every topic. Errors: UserError on an entry that names nobody, or nothing that
    is known.
    """
    fields = entries(scenario).values()

    def character(place: Place, repetition: int) -> Character:
        role, temper, bias = (given(field, place.seat, place.persona.party) for field in fields)
        if not (role or temper or bias):
            return PLAIN
        if MARK in role:
            role = stream(scenario.seed, "role", repetition, place.seat).choice(role.split(MARK))
        rng = stream(scenario.seed, "traits", place.persona.id, place.persona.name)
        return Character(role, traits_of(temper, rng) if temper else {}, bias or PLAIN.confirmation_bias)

    return character


def entries(scenario: Scenario) -> dict[str, Given]:
    """What roles, traits and confirmation_bias (by these names, in this order) give to whom; "" stands for everybody.

    Errors: UserError, as above.
    """
    who = scenario.who() if scenario.roles or scenario.traits or scenario.confirmation_bias else {}
    roles = _read("roles", scenario.roles, who)
    traits = _read("traits", scenario.traits, who)
    biases = _read("confirmation_bias", scenario.confirmation_bias, who)
    for role in roles.values():
        for one in role.split(MARK):
            role_of(one)
    for temper in traits.values():
        traits_of(temper, stream(0, "any"))
    for bias in biases.values():
        bias_of(bias)
    return {"roles": roles, "traits": traits, "confirmation_bias": biases}


def given(field: Given, seat: str, party: str) -> str:
    """What a seat of a party is given; "" where that is nothing."""
    return next((field[who] for who in (seat, party, EVERYBODY) if who in field), "")


def _read(field: str, entries: Iterable[str], who: Mapping[str, None]) -> Given:
    """WHO:VALUE (a party or a seat), or VALUE for everybody who is not named."""
    found: dict[str, str] = {}
    for entry in entries:
        name, colon, value = entry.partition(":")
        name, value = (name, value) if colon else (EVERYBODY, entry)
        if name not in (EVERYBODY, *who):
            raise unknown(f"party of {field}", name, who)
        if not value or name in found or (colon and not name):
            raise UserError(f"{field}: write PARTY:VALUE, each party once, or VALUE for everybody, not {entry!r}")
        found[name] = value
    return found
