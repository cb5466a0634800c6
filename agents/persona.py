"""Personas and parties as data: the persona of an agent, and the name and colour of a party.

A set of personas is a folder of agents/personas/ with a TOML file per party. A table `[party]` at the top of the file
may give the party's name and colour.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from parley.agents.datafiles import HERE, build_from_table, read_toml, require_section
from parley.llm.errors import UserError, unknown_name
from parley.llm.prompts import prompt

NO_NAMES: Mapping[str, str] = {}
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
ACRONYM = 3
"""A party id of at most so many letters is an acronym: cdu is CDU."""


@dataclass(frozen=True)
class Party:
    """The name that people read (AfD), and the colour in figures (#rrggbb). Both may be empty."""

    name: str = ""
    colour: str = ""


@cache
def load_party(party: str, folder: Path) -> Party:
    """Return name and colour from the file of a party's personas. Errors: UserError on an unknown key or a wrong
    colour.
    """
    where = f"[party] of {party}.toml"
    known = build_from_table(Party, require_section(read_toml(folder / f"{party}.toml"), "party", where), where)
    if known.colour and not _COLOUR.fullmatch(known.colour):
        raise UserError(f"colour in {where} must be written as #rrggbb, not {known.colour!r}")
    return known


def party_name(party: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the name of a party: the given one, or its id, in capitals if it has at most three letters.

    >>> party_name("democrat"), party_name("cdu"), party_name("gruene", {"gruene": "Grüne"})
    ('Democrat', 'CDU', 'Grüne')
    """
    if party in names:
        return names[party]
    return party.upper() if len(party) <= ACRONYM else party.replace("_", " ").title()


def article(word: str) -> str:
    """Return a or an, by how the word is pronounced; the letters of an acronym are spelled.

    >>> article("Independent"), article("SPD"), article("CDU"), article("AfD")
    ('an', 'an', 'a', 'an')
    """
    spelled = word[:2].isupper() and len(word) > 1
    return "an" if word[:1].upper() in set("AEFHILMNORSX" if spelled else "AEIO") else "a"


PERSONAS = HERE / "personas"
VOTERS = PERSONAS / "voters"
DEFAULT = "default"
PEOPLE = {"male": "man", "female": "woman"}
_AGE = re.compile(r"\b[1-9]\d\b(?! years (?:as|in|of|on)\b)")  # not the 31 years of "retired after 31 years as a clerk"


@dataclass(frozen=True)
class Persona:
    """The persona of an agent. `backstory` is the whole system message: "You are an American." for the Default (001,
    4.2).

    `gender` (male, female) and `age` are set if the backstory states them: the variants of the UCL study (002, 3.1).
    `llm` is the model that speaks for this person ("": that of its seat or party): NAME[:MODEL][,key=value].
    """

    id: str
    party: str
    name: str
    backstory: str
    gender: str = ""
    age: int = 0
    llm: str = ""

    @property
    def variant(self) -> str:
        """Either "male", "female", or an age such as "67"; empty if the backstory states neither."""
        return self.gender or (str(self.age) if self.age else "")


def persona_set(name: str) -> Path:
    """Return the folder of a set of personas: one of agents/personas/, or your own by its path. Errors: UserError."""
    if "/" in name:
        if not parties(Path(name)):
            raise UserError(f"{name} is not a set of personas: it has no <party>.toml with [[persona]] tables")
        return Path(name)
    known = sorted(path.name for path in PERSONAS.iterdir() if path.is_dir())
    if name not in known:
        raise unknown_name("set of personas", name, known)
    return PERSONAS / name


def parties(folder: Path = VOTERS) -> list[str]:
    """Return the parties that a set has personas for. A TOML file with keys but without `persona` is no party."""
    return sorted(path.stem for path in folder.glob("*.toml") if _is_party(path))


def _is_party(path: Path) -> bool:
    """Return whether a file is one of a party; a broken or empty file is one, so that reading it reports the error."""
    try:
        values = read_toml(path)
    except UserError:
        return True
    return not values or "persona" in values


def party_of(seat: str) -> str:
    """Return the party of a seat: `republican` for `republican:male`."""
    return seat.partition(":")[0]


@cache
def load_personas(seat: str, folder: Path = VOTERS) -> tuple[Persona, ...]:
    """Return the personas for a seat, PARTY or PARTY:VARIANT (see `Persona.variant`), in file order.

    PARTY means any persona of the party; of a name with several variants, the one without gender and age. Errors:
    UserError on an unknown party or variant, a broken file, or a name of which only variants exist.
    """
    party, _, traits = seat.partition(":")
    if party not in parties(folder):
        raise unknown_name("party", party, parties(folder))
    people = all_personas(party, folder)
    entries = Counter(person.name for person in people)
    plain = {person.name for person in people if not person.variant}
    open_ = [one for one in people if one.variant == traits or (not traits and entries[one.name] == 1)]
    known = sorted({f"{party}:{one.variant}" if one.variant else party for one in people})
    if not open_:
        raise unknown_name(f"seat with the personas of {folder.name}", seat, known)
    if torn := [name for name, number in entries.items() if not traits and number > 1 and name not in plain]:
        choices = ", ".join(f"{party}:{one.variant}" for one in people if one.name == torn[0])
        raise UserError(
            f"{torn[0]} of {party}.toml has an entry each for {choices} and none for the seat {party}: "
            "name one of these seats, or add an entry without gender and age"
        )
    return tuple(open_)


@cache
def all_personas(party: str, folder: Path) -> tuple[Persona, ...]:
    """Return all personas of a party, in all variants, in file order. Errors: UserError if the file is broken."""
    entries = read_toml(folder / f"{party}.toml").get("persona", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError(f"{folder / party}.toml needs a [[persona]] table for each persona")
    people = tuple(
        build_from_table(
            Persona, {**entry, "id": f"{party}_{number:02}", "party": party}, f"persona {number} of {party}.toml"
        )
        for number, entry in enumerate(entries, 1)
    )
    if not people or len({(one.name, one.gender, one.age) for one in people}) < len(people):
        raise UserError(f"{folder / party}.toml needs at least one persona, each with its own name")
    if wrong := [one for one in people if one.gender not in ("", *PEOPLE) or (one.gender and one.age)]:
        raise UserError(
            f"{wrong[0].name} of {party}.toml: gender must be male or female, and cannot be combined with an age"
        )
    return people


def rename_persona(person: Persona, number: int) -> Persona:
    """Return a persona under a new name, for its second, third, ... agent (`number` 1, 2, ...) in one population.

    A name of agents/names.toml is added, and a further one when they are used up: Wyatt, Wyatt Darlene, Wyatt Travis.
    The backstory has the new name too. 0 returns the persona as it is.
    """
    if not number:
        return person
    more = [name for name in _first_names() if name != person.name]
    added: list[str] = []
    while number:
        number, place = divmod(number - 1, len(more))
        added.append(more[place])
    name = " ".join([person.name, *added])
    return replace(person, name=name, backstory=re.sub(rf"\b{re.escape(person.name)}\b", name, person.backstory))


@cache
def _first_names() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in read_toml(HERE / "names.toml").values() for name in names))


def persona_reminder(backstory: str) -> str:
    """Return the reminder of who an agent is."""
    return prompt(HERE / "prompts", "reminder").fill(persona=backstory)


def genders(people: Sequence[Persona]) -> str:
    """Return one sentence on who is a man and who is a woman, without people whose persona does not say.

    >>> genders([Persona("", "", "Ann", "", "female"), Persona("", "", "Bob", "")])
    'Ann is a woman.'
    """
    known = [f"{one.name} is a {PEOPLE[one.gender]}" for one in people if one.gender]
    if not known:
        return ""
    return f"{', '.join(known[:-1])} and {known[-1]}." if len(known) > 1 else f"{known[0]}."


def demographics(people: Sequence[Persona]) -> str:
    """Return a sentence on each person: gender, age and party, as far as the persona states them.

    >>> demographics([Persona("", "democrat", "Ann", "You are Ann, 34, a nurse."), Persona("", "default", "Bob", "")])
    'Ann is a Democrat and 34 years old.'
    """
    told = [(one.name, _facts(one)) for one in people]
    return " ".join(f"{name} is {' and '.join(facts)}." for name, facts in told if facts)


def _facts(one: Persona) -> list[str]:
    """Return gender, party and age. If `age` is not set, it is the only number of two digits in the first sentence."""
    numbers = _AGE.findall(re.split(r"(?<=[.!?])\s", one.backstory, maxsplit=1)[0])
    age, name = one.age or (int(numbers[0]) if len(numbers) == 1 else 0), party_name(one.party)
    gender = f"a {PEOPLE[one.gender]}" if one.gender else ""
    party = "" if one.party == DEFAULT else f"{article(name)} {name}"
    return [fact for fact in (gender, party, f"{age} years old" if age else "") if fact]


def introduction(people: Sequence[Persona], as_: str) -> str:
    """Return a sentence on each person. `as_`: person, ai, copy, or even (a copy, and what follows for the chances).

    >>> introduction([Persona("", "", "Ann", "")], "ai")
    'Ann is an AI.'
    """
    told = {"ai": "an AI", "person": "a person"}.get(as_, "an exact copy of you, under another name")
    even = " So neither of you has the better chance: it is exactly one half." if as_ == "even" else ""
    return " ".join(f"{one.name} is {told}." for one in people) + even
