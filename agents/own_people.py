"""People of one's own in one file or one line: personas from a table, or from a number and who they are.

    --set personas=people.csv                  columns party, name, backstory; every other column becomes a sentence
    --set "personas=20 nurses from Leeds"      20 people of each party, who are told that they are one of these
    parley.run("two_way", personas=[{"party": "green", "name": "Ann", "job": "nurse"}, ...], society="uk")  or a DataFrame

The set is written as a folder of personas (agents/persona.py) into the user's cache, under a digest of what it says.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from parley.agents.datafiles import save_text, table_rows
from parley.agents.persona import all_personas, persona_set
from parley.agents.planted_people import plain_people
from parley.agents.society import DEFAULT, PARTIES, Society
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.llm.user_file import UserTable, file_spec, read_user_table, user_cache

GROUP = re.compile(r"([1-9]\d{0,3}) (\S.*)")
"""A number of people, and who they are."""
TABLES = (".csv", ".gz", ".bz2", ".jsonl", ".json", ".parquet", ".sav", ".dta", ".xlsx", ".xls", ".ods")
PARTY, NAME, BACKSTORY, LANGUAGE = NEEDED = ("party", "name", "backstory", "language")
SENTENCE = (".", "!", "?")
"""How the value of a further column ends that is a sentence already."""
Person = Mapping[str, str]
PAGE = "docs/howto.md"


def given_people(personas: Any) -> str:
    """Return `personas` of a call in Python as a field of a scenario: a DataFrame or a list of dicts becomes a table.

    Errors: UserError for any other value that is no text.
    """
    if isinstance(personas, str):
        return personas
    rows = personas.to_dict("records") if hasattr(personas, "to_dict") else personas
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise UserError(
            "personas must be the name or the path of a set, a DataFrame, or a list of dicts with party and name"
        )
    text = io.StringIO()
    table = csv.DictWriter(text, dict.fromkeys(str(key) for row in rows for key in row), lineterminator="\n")
    table.writeheader()
    table.writerows([{str(key): _written(value) for key, value in row.items()} for row in rows])
    return str(save_text(_cached(text.getvalue()) / "people.csv", text.getvalue()))


def _written(value: Any) -> Any:
    """Return a value as a table has it: nothing for a missing one, which a DataFrame has as NaN."""
    return "" if value is None or value != value else value


def is_own_set(personas: str) -> bool:
    """Return whether people are the user's: of a table, of a line or of a folder by its path.

    >>> is_own_set("people.csv"), is_own_set("20 nurses from Leeds"), is_own_set("./mine"), is_own_set("uk/voters")
    (True, True, True, False)
    """
    own = GROUP.fullmatch(personas) or file_spec(personas).path.suffix.lower() in TABLES
    return bool(own) or personas.startswith((".", "/", "~"))


def people_folder(personas: str, society: Society) -> Path:
    """Return the folder of a set of personas, a table or a line, as a scenario of the society names it. Errors: UserError."""
    return own_people(personas, society) or persona_set(society.qualified(personas))


def own_people(personas: str, society: Society) -> Path | None:
    """Return the folder of the personas of a table or of a line; None for the name or the folder of a set. Errors: UserError."""
    if file_spec(personas).path.suffix.lower() in TABLES:
        return _folder(_people_of_table(read_user_table(personas, [PARTY], PAGE), society), society)
    if group := GROUP.fullmatch(personas):
        return _folder(_people_of_group(int(group[1]), personas, society), society)
    return None


def _people_of_table(table: UserTable, society: Society) -> dict[str, list[Person]]:
    """Return the people of each party, each with a sentence for every further column. Errors: UserError for an unknown party."""
    columns = {name: table.texts(name) for name in table.columns}
    people: dict[str, list[Person]] = {}
    for row, values in zip(table.rows, zip(*columns.values(), strict=True), strict=True):
        entry = dict(zip(columns, values, strict=True))
        party = _party(entry[PARTY], society, f"{table.file}, row {row}")
        members, language = people.setdefault(party, []), society.spoken(entry.get(LANGUAGE, ""))
        name = entry.get(NAME) or _name(party, len(members), society)
        facts = [
            value if value.endswith(SENTENCE) else language.fill("fact", name=column, value=value)
            for column, value in entry.items()
            if column not in NEEDED and value
        ]
        own = entry.get(BACKSTORY) or language.fill("plain_person", name=name, person=society.parties[party].person)
        members.append({NAME: name, BACKSTORY: " ".join([own, *facts]), LANGUAGE: entry.get(LANGUAGE, "")})
    return people


def _people_of_group(number: int, group: str, society: Society) -> dict[str, list[Person]]:
    """Return so many people of each party but the Default, who all are members of a group."""
    people: dict[str, list[Person]] = {}
    for party in [party for party in society.parties if party != DEFAULT]:
        names = [_name(party, place, society) for place in range(number)]
        plain = plain_people(names, society.parties[party].person, society.language)
        member = society.language.fill("member_of", group=group)
        people[party] = [{NAME: each[NAME], BACKSTORY: f"{each[BACKSTORY]} {member}"} for each in plain]
    return people


def _party(text: str, society: Society, where: str) -> str:
    by_label = {label.lower(): party for party in society.parties for label in (party, society.label(party))}
    if text.lower() not in by_label:
        known = ", ".join(society.parties)
        raise UserError(
            f"{where}: {text!r} is not a party of the society {society.name}, which has {known}. For people of "
            f"other parties, write a society of your own with run.py new society ./mine ({PAGE})"
        )
    if (party := by_label[text.lower()]) == DEFAULT:
        others = ", ".join(name for name in society.parties if name != DEFAULT)
        raise UserError(
            f"{where}: {text!r} is the party of agents without a persona, whose answers show the model's own "
            f"opinion. Give this person one of the parties {others} ({PAGE})"
        )
    return party


def _name(party: str, place: int, society: Society) -> str:
    """Return the first name of the nth person of a party; with a second one when all are used up."""
    names = list(society.parties[party].names)
    if place >= len(names) ** 2:
        raise UserError(
            f"the party {party} has {len(names)} first names, which are enough for {len(names) ** 2} people: give "
            "fewer people, or a table with names"
        )
    turn, place_in_turn = divmod(place, len(names))
    name = names[place_in_turn]
    return name if not turn else f"{name} {next(islice(cycle(names), place_in_turn + turn, None))}"


def _folder(people: Mapping[str, Sequence[Person]], society: Society) -> Path:
    """Write a set of personas, with the society's Defaults where it has none, and return its folder."""
    if DEFAULT in society.parties and DEFAULT not in people:
        defaults = all_personas(DEFAULT, society.folder / PARTIES)
        people = {**people, DEFAULT: [{NAME: person.name, BACKSTORY: person.backstory} for person in defaults]}
    texts = {party: table_rows("persona", map(_filled, members)) for party, members in people.items()}
    folder = _cached(society.name, *[part for item in texts.items() for part in item])
    for party, text in texts.items():
        save_text(folder / f"{party}.toml", text)
    return folder


def _filled(person: Person) -> Person:
    return {key: text for key, text in person.items() if text}


def _cached(*parts: str) -> Path:
    """Return a place in the user's cache that depends on what is kept there."""
    return user_cache() / "personas" / digest(*parts).hex()
