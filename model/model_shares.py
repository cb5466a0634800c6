"""Gives models to shares of the seats, and to personas that name one.

What is more particular comes first: the model of a seat, of a persona, of a party, of a share, and then that of all others.
A model is asked by its *voice*: the name of the seat or party, `30%` for a share, the spec itself for a persona.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from parley.agents.persona import load_personas, party_of, persona_file
from parley.llm.errors import UserError
from parley.llm.seeding import stream
from parley.llm.trust import refuse_named

if TYPE_CHECKING:
    from parley.model.casting import RoomSeating
    from parley.model.scenario import Scenario

STAND_IN = "surrogate:"
"""The beginning of a spec that names a surrogate instead of a model (model/surrogate_seats.py)."""
_SHARE = re.compile(r"(\d+(?:\.\d+)?)%")


class SeatKey(NamedTuple):
    """A seat in every room of one repetition of a group, on whatever topic."""

    group: str
    repetition: int
    seat: str


def share_of(who: str) -> float | None:
    """Return a share from 0 to 1; None if the text is no share.

    >>> share_of("30%"), share_of("labour")
    (0.3, None)
    """
    match = _SHARE.fullmatch(who)
    return float(match[1]) / 100 if match else None


def check_shares(voices: Mapping[str, str]) -> None:
    """Errors: UserError for a share of 0, and for shares of more than 100% in all."""
    shares = {who: share for who in voices if (share := share_of(who)) is not None}
    if empty := next((who for who, share in shares.items() if not share), ""):
        raise UserError(
            f"llms: a model with {empty} of the agents gets no agent: give it a share above 0%, or leave the model out"
        )
    if sum(shares.values()) > 1 + 1e-9:
        raise UserError(f"llms: the shares {', '.join(shares)} of the agents add up to more than 100%")


def persona_models(scenario: Scenario) -> dict[str, str]:
    """Return the specs that personas of this scenario name, each as its own voice."""
    folder = scenario.persona_folder
    specs: dict[str, str] = {}
    for seat in scenario.seats:
        persona_specs = dict.fromkeys(persona.llm for persona in load_personas(seat, folder) if persona.llm)
        refuse_named(
            [*persona_specs], persona_file(party_of(seat), folder), [scenario.models.llm, *scenario.models.llms]
        )
        specs |= {spec: spec for spec in persona_specs}
    return specs


def has_models_by_person(scenario: Scenario) -> bool:
    """Return whether two people in the same seat of two rooms may have different models."""
    return any(share_of(who) is not None for who in scenario.llm_by_party) or bool(persona_models(scenario))


def draw_shares(scenario: Scenario) -> Mapping[SeatKey, str]:
    """Return the voice of every seat that a share falls on.

    A share is one of all seats in debates that no other entry names, rounded to whole seats. The seed draws them, and a seat has
    the same model on every topic. Errors: UserError if a share is less than half a seat.
    """
    shares = {who: share for who in scenario.llm_by_party if (share := share_of(who)) is not None}
    if not shares:
        return {}
    keys = list(_open_seats(scenario))
    stream(scenario.seed, "model shares").shuffle(keys)
    voices: dict[SeatKey, str] = {}
    ends, total = [0], 0.0
    for share in shares.values():
        total += share
        ends.append(round(total * len(keys)))
    for who, start, stop in zip(shares, ends, ends[1:], strict=False):
        if start == stop:
            raise UserError(
                f"llms: {who} of {len(keys):,} seats is less than one seat: give a larger share or more repetitions"
            )
        voices |= dict.fromkeys(keys[start:stop], who)
    return voices


def _open_seats(scenario: Scenario) -> Iterator[SeatKey]:
    """Every seat of every repetition whose seat and party have no model of their own."""
    named = {*scenario.llm_by_party, *scenario.surrogate_by_party}
    for group, repetition in product(scenario.groups, range(scenario.repetitions)):
        for label, seat in zip(group.labels, group.seats, strict=True):
            if not {label, party_of(seat)} & named:
                yield SeatKey(group.name, repetition, label)


def voice_of(seating: RoomSeating, number: int, voices: Mapping[str, str], shares: Mapping[SeatKey, str]) -> str:
    """Return the voice of an agent; "" for the model of all others. voices: the specs by voice; shares: of `draw_shares`."""
    place = seating.places[number]
    share = shares.get(SeatKey(seating.group, seating.repetition, place.seat), "")
    names = (place.seat, place.persona.llm, place.persona.party, share)
    return next((name for name in names if name and name in voices), "")


def called_models(scenario: Scenario) -> dict[str, None]:
    """Return the models that a scenario calls, each once, that of most agents first."""
    return dict.fromkeys([scenario.models.llm, *scenario.llm_by_party.values()])
