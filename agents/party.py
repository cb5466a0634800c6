"""What a party is called and which colour it has: data at the top of its file of personas, `[party]`, or a rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from parley.agents.datafiles import build_from_table, read_toml, require_section
from parley.llm.errors import UserError

NO_NAMES: Mapping[str, str] = {}
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
ACRONYM = 3
"""A party with an id of so many letters, or fewer, is called by its letters: cdu, CDU."""


@dataclass(frozen=True)
class Party:
    """`name`: what people read (AfD); `colour`: #rrggbb, in figures. Both may be empty."""

    name: str = ""
    colour: str = ""


@cache
def load_party(party: str, folder: Path) -> Party:
    """Return what the file of a party's personas says of the party. Errors: UserError on an unknown key or another colour."""
    where = f"[party] of {party}.toml"
    found = build_from_table(Party, require_section(read_toml(folder / f"{party}.toml"), "party", where), where)
    if found.colour and not _COLOUR.fullmatch(found.colour):
        raise UserError(f"colour in {where} must be written as #rrggbb, not {found.colour!r}")
    return found


def party_name(party: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return what a party is called: the name given, else its id, of at most three letters in capitals.

    >>> party_name("democrat"), party_name("cdu"), party_name("gruene", {"gruene": "Grüne"})
    ('Democrat', 'CDU', 'Grüne')
    """
    if party in names:
        return names[party]
    return party.upper() if len(party) <= ACRONYM else party.replace("_", " ").title()


def article(word: str) -> str:
    """Return a or an, by how the word begins in speech; letters of an acronym are said one by one.

    >>> article("Independent"), article("SPD"), article("CDU"), article("AfD")
    ('an', 'an', 'a', 'an')
    """
    spelled = word[:2].isupper() and len(word) > 1
    return "an" if word[:1].upper() in set("AEFHILMNORSX" if spelled else "AEIO") else "a"
