"""Assigns roles, temperaments and confirmation biases to agents, and sides of a debate to debaters.

The fields `roles`, `traits` and `confirmation_bias` of a preset give them to parties and seats. The field `sides` assigns sides
in turn, beginning with what the first debater thought before the debate (opposed) or with the side for the claim (assigned).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parley.agents.news import BELIEVER, SUSCEPTIBLE
from parley.agents.society import Society
from parley.agents.traits import PLAIN, Traits, bias_of, role_of, traits_of
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream

if TYPE_CHECKING:
    from parley.model.casting import SeatPlace
    from parley.model.room import RoomState
    from parley.model.scenario import Scenario


ALL_OTHERS, MARK = "", "/"
ByParty = Mapping[str, str]
"""Entries by party or seat; ALL_OTHERS is the entry for all others."""


@dataclass(frozen=True)
class TraitAssignment:
    """The entries of the three fields, by party or seat."""

    roles: ByParty
    traits: ByParty
    confirmation_bias: ByParty
    seed: int
    society: Society

    def of(self, place: SeatPlace, repetition: int) -> Traits:
        """Return the traits of an agent: those of its seat, else of its party, else those for all agents.

        A persona has the same drawn temperament in every room. A drawn role is the same for a seat on every topic.
        """
        entries = (self.roles, self.traits, self.confirmation_bias)
        role, temper, bias = (entry_for(by_party, place.seat, place.persona.party) for by_party in entries)
        if not (role or temper or bias):
            return PLAIN
        if MARK in role:
            role = stream(self.seed, "role", repetition, place.seat).choice(role.split(MARK))
        rng = stream(self.seed, "traits", place.persona.id, place.persona.name)
        drawn = traits_of(temper, rng) if temper else {}
        return Traits(role, drawn, bias or PLAIN.confirmation_bias, self.society.language)


def assign_traits(scenario: Scenario) -> TraitAssignment:
    """Read the fields. Errors: UserError on an unknown party, role, trait or bias."""
    people = scenario.people
    fields = {"roles": people.roles, "traits": people.traits, "confirmation_bias": people.confirmation_bias}
    names = scenario.party_and_seat_names if any(fields.values()) else ()
    roles, traits, biases = (_read(field, entries, names, scenario.society) for field, entries in fields.items())
    for drawn in roles.values():
        for role in drawn.split(MARK):
            role_of(role)
    for temper in traits.values():
        traits_of(temper, stream(0, "any"))
    for bias in biases.values():
        bias_of(bias)
    return TraitAssignment(roles, traits, biases, scenario.seed, scenario.society)


def entry_for(by_party: ByParty, seat: str, party: str) -> str:
    """Return the entry of a seat, else of its party, else the one for all agents; "" without one."""
    return next((by_party[who] for who in (seat, party, ALL_OTHERS) if who in by_party), "")


def _read(field: str, entries: Iterable[str], names: Collection[str], society: Society) -> ByParty:
    """Read PARTY:VALUE (or SEAT:VALUE), or VALUE for all other agents."""
    by_party: dict[str, str] = {}
    for entry in entries:
        who, colon, value = entry.partition(":") if ":" in entry else ("", "", entry)
        who = society.seat(who)
        if who not in (ALL_OTHERS, *names):
            raise unknown_name(f"party of {field}", who, names)
        if not value or who in by_party or (colon and not who):
            raise UserError(f"{field}: write PARTY:VALUE, with each party once, or VALUE for all agents, not {entry!r}")
        by_party[who] = value
    return by_party


def starting_belief(scenario: Scenario, repetition: int, seat: int, seats: int) -> str:
    """Return whether the agent at a seat (from 0) starts out as a believer of the news; "" where prompts do not mention it.

    The field `believers` is the share of believers in a room, at least one; they have the same seats on every topic.
    """
    if not (share := scenario.people.believers):
        return ""
    drawn = stream(scenario.seed, "believers", repetition).sample(range(seats), max(1, round(share * seats)))
    return BELIEVER if seat in drawn else SUSCEPTIBLE


MIDDLE = 5.0
"""The middle of a topic's axis, 0-10. An attitude there is on neither side."""


def alternate_sides(first: int | None, debaters: int) -> list[int | None]:
    """Return the side of each debater in seat order: the side `first`, the other one, and so on.

    So of two debaters who agree, one argues for their belief and one against it, if `first` is the first one's own side. If the
    first has no side (None), none has one.

    >>> alternate_sides(1, 2), alternate_sides(-1, 3), alternate_sides(None, 2)
    ([1, -1], [-1, 1, -1], [None, None])
    """
    return [None if first is None else first * (-1) ** number for number in range(debaters)]


def side_of(attitude: float | None) -> int | None:
    """Return 1 above the middle of the topic's axis, -1 below it, None at the middle and for a missing attitude."""
    return None if attitude is None or attitude == MIDDLE else 1 if attitude > MIDDLE else -1


def assign_sides(scenario: Scenario, rooms: Iterable[RoomState]) -> None:
    """Tell each debater which side of the topic's claim it argues for. The last `silent` seats get no side."""
    from parley.agents.agent import Debater  # loads Mesa, which a scenario does not need

    silent = getattr(scenario.environment, "silent", 0)
    for room in rooms:
        members = [member for member in room.members.values() if isinstance(member, Debater)]
        debaters = members[: len(members) - silent]
        claim_side = scenario.subject.topic_named(room.topic).probe("agreement").polarity
        first = claim_side if scenario.people.sides == "assigned" else side_of(debaters[0].attitude)
        for debater, side in zip(debaters, alternate_sides(first, len(debaters)), strict=True):
            debater.assign_side(None if side is None else side == claim_side)
