"""Draws the personas that answer in a study outside of debates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path

from parley.agents.own_people import people_folder
from parley.agents.persona import Persona, all_personas, parties, set_name
from parley.agents.society import load_society
from parley.llm.errors import UserError
from parley.llm.seeding import stream


def draw_people(personas: str, count: int, seed: int, study: str, option: str) -> tuple[Persona, ...]:
    """Return `count` respondents of a set (0: all), of each party in turn, in an order drawn with the seed.

    study: names the random stream. option: that which sets the count. Errors: UserError if the set has too
    few, and as `check_names`.
    """
    folder, groups = people_folder(personas, load_society()), []
    for party in parties(folder):
        party_people = respondents(party, folder)
        groups.append(stream(seed, study, party).sample(party_people, len(party_people)))
    mixed = [person for person in chain.from_iterable(zip_longest(*groups)) if person is not None]
    if count > len(mixed):
        raise UserError(
            f"the set {set_name(folder)} has {len(mixed)} personas: give at most --{option} {len(mixed)}, "
            "because the same persona twice is not two respondents"
        )
    check_names(mixed)
    return tuple(mixed[: count or len(mixed)])


def respondents(party: str, folder: Path) -> list[Persona]:
    """Return the personas of a party without variants.

    Those with the same text, such as the personas of the Default, are one respondent: a model cannot tell them apart.
    """
    return list({person.backstory: person for person in all_personas(party, folder) if not person.variant}.values())


def of_each_party(personas: str, count: int = 0) -> list[Persona]:
    """Return the respondents of a set, at most so many of each party (0: all)."""
    folder = people_folder(personas, load_society())
    return [person for party in parties(folder) for person in respondents(party, folder)[: count or None]]


def check_names(people: Iterable[Persona]) -> None:
    """Errors: UserError if two personas of a party have one name, by which tables tell them apart."""
    for (party, name), count in Counter((person.party, person.name) for person in people).items():
        if count > 1:
            raise UserError(f"{count} personas of {party} are called {name}: give each persona a different name")
