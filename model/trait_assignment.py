"""Who is given which role, temperament and confirmation bias: what a preset says of parties and seats, as characters.

Which side each debater of a room is given to argue for, by what they thought before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from parley.agents.traits import PLAIN, Traits, bias_of, role_of, traits_of
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream

if TYPE_CHECKING:
    from parley.model.casting import SeatPlace
    from parley.model.scenario import Scenario

EVERYBODY, MARK = "", "/"
Given = Mapping[str, str]


def traits_by_seat(scenario: Scenario) -> Callable[[SeatPlace, int], Traits]:
    """The character of somebody at a place: what its seat is given, else its party, else everybody.

    A persona has the same drawn temperament wherever it sits; a role that is drawn is its seat's in a group and repetition, on
    every topic. Errors: UserError on an entry that names nobody, or nothing that
    is known.
    """
    fields = parse_assignments(scenario).values()

    def character(place: SeatPlace, repetition: int) -> Traits:
        role, temper, bias = (traits_of_seat(field, place.seat, place.persona.party) for field in fields)
        if not (role or temper or bias):
            return PLAIN
        if MARK in role:
            role = stream(scenario.seed, "role", repetition, place.seat).choice(role.split(MARK))
        rng = stream(scenario.seed, "traits", place.persona.id, place.persona.name)
        return Traits(role, traits_of(temper, rng) if temper else {}, bias or PLAIN.confirmation_bias)

    return character


def parse_assignments(scenario: Scenario) -> dict[str, Given]:
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


def traits_of_seat(field: Given, seat: str, party: str) -> str:
    """What a seat of a party is given; "" where that is nothing."""
    return next((field[who] for who in (seat, party, EVERYBODY) if who in field), "")


def _read(field: str, entries: Iterable[str], who: Mapping[str, None]) -> Given:
    """WHO:VALUE (a party or a seat), or VALUE for everybody who is not named."""
    found: dict[str, str] = {}
    for entry in entries:
        name, colon, value = entry.partition(":")
        name, value = (name, value) if colon else (EVERYBODY, entry)
        if name not in (EVERYBODY, *who):
            raise unknown_name(f"party of {field}", name, who)
        if not value or name in found or (colon and not name):
            raise UserError(f"{field}: write PARTY:VALUE, each party once, or VALUE for everybody, not {entry!r}")
        found[name] = value
    return found


MIDDLE = 5.0
"""Of a topic's axis, 0-10: who stands there is on neither side."""


def side_of(attitude: float | None) -> int | None:
    """1 above the middle of the topic's axis, -1 below it; None where nobody knows or it stands in the middle."""
    return None if attitude is None or attitude == MIDDLE else 1 if attitude > MIDDLE else -1


def alternate_sides(attitudes: Sequence[float | None]) -> list[int | None]:
    """Sides in seat order: the first debater argues for what it thought before, the others in turn against it and for it.

    So of two who think alike one argues with its own belief and one against it. Nobody has a side where the first has none.

    >>> alternate_sides([8.0, 9.0]), alternate_sides([2.0, None]), alternate_sides([5.0, 9.0])
    ([1, -1], [-1, 1], [None, None])
    """
    first = side_of(attitudes[0])
    return [None if first is None else first if number % 2 == 0 else -first for number in range(len(attitudes))]
