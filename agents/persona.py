"""Personas as data. A set of personas is a folder with a TOML file per party: one of a society, or your own by its path.

The set `voters` of a society is in the files of its parties (parties/<code>.toml).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from parley.agents.datafiles import build_from_table, read_toml
from parley.agents.language import ENGLISH, Language
from parley.agents.planted_people import people_in_variants, plain_people
from parley.agents.society import (
    DEFAULT,
    FILE,
    PARTIES,
    PEOPLE_TABLE,
    SETS,
    SOCIETIES,
    US,
    VOTERS,
    Society,
    article,
    home_of,
    load_society,
    society_folder,
    society_of,
    split_name,
)
from parley.llm.errors import UserError, unknown_name
from parley.llm.file_cache import read_once
from parley.llm.trust import check_data, own_or_copy

US_VOTERS = SOCIETIES / US / PARTIES
"""The folder of the set `voters` of the society `us`."""
PEOPLE = {"male": "man", "female": "woman"}
_AGE = re.compile(r"\b[1-9]\d\b(?! years (?:as|in|of|on)\b)")  # not the 31 years of "retired after 31 years as a clerk"


@dataclass(frozen=True)
class Persona:
    """The persona of an agent. `backstory` is the whole system message: "You are an American." for the Default (001,
    4.2).

    `gender` (male, female) and `age` are set if the backstory states them: the variants of the UCL study (002, 3.1).
    `llm` is the model that speaks for this person ("": that of its seat or party): NAME[:MODEL][,key=value].
    `language` is the code of the language in which this person is asked, "" for that of the society.
    `society` is the one whose set of personas it is of.
    """

    id: str
    party: str
    name: str
    backstory: str
    gender: str = ""
    age: int = 0
    llm: str = ""
    language: str = ""
    society: str = field(default=US, repr=False)

    @property
    def variant(self) -> str:
        """Either "male", "female", or an age such as "67"; empty if the backstory states neither."""
        return self.gender or (str(self.age) if self.age else "")


def persona_set(name: str) -> Path:
    """Return the folder of a set of personas: NAME (of `us`), SOCIETY/NAME, or a path of your own. Errors: UserError."""
    folder = Path(name).expanduser()
    if name.startswith((".", "/", "~")):
        check_data(folder := own_or_copy(folder))
    if name.startswith((".", "/", "~")) and ((known_parties := parties(folder)) or not _in_society(name)):
        if not known_parties:
            raise UserError(f"{name} is not a set of personas: it has no <party>.toml with [[persona]] tables")
        return folder
    society, inside = split_name(name)
    loaded_society = load_society(society)
    if inside not in loaded_society.persona_sets:
        raise unknown_name(f"set of personas of {loaded_society.name}", inside, loaded_society.persona_sets)
    return loaded_society.folder / PARTIES if inside == VOTERS else loaded_society.folder / SETS / inside


def set_path(folder: Path) -> str:
    """Return a folder of personas as a path that is no name: `runs/q/people` would be the set `people` of a society `runs/q`.

    >>> set_path(Path("runs/q/people"))
    './runs/q/people'
    """
    return str(folder) if folder.is_absolute() else f"./{folder}"


def _in_society(name: str) -> bool:
    return (Path(split_name(name)[0]).expanduser() / FILE).is_file()


def parties(folder: Path = US_VOTERS) -> list[str]:
    """Return the parties that a set has personas for. A TOML file with keys but without `persona` is no party.

    In the sets of a society these are all its parties: their people are made up where no file has them.
    """
    home = _makes_people(folder)
    return sorted({*(path.stem for path in folder.glob("*.toml") if _is_party(path)), *(home.parties if home else ())})


def _makes_people(folder: Path) -> Society | None:
    """Return the society that a set lies in (parties/, personas/SET/); None for any other folder."""
    place = folder.parent if folder.name == PARTIES else folder.parent.parent
    inside = folder.name == PARTIES or folder.parent.name == SETS
    return society_of(place / FILE) if inside and (place / FILE).is_file() else None


def persona_file(party: str, folder: Path) -> Path:
    """Return the file that the people of a party in a set come from: for people who are made up, that of the party."""
    path, home = folder / f"{party}.toml", _makes_people(folder)
    return home.folder / PARTIES / path.name if home and not path.is_file() else path


def _is_party(path: Path) -> bool:
    """Return whether a file is one of a party; a broken or empty file is one, so that reading it reports the error."""
    try:
        values = read_toml(path)
    except UserError:
        return True
    return not values or PEOPLE_TABLE in values


def set_name(folder: Path) -> str:
    """Return what a set of personas is called: `voters` for the files of the parties, else the name of its folder."""
    return VOTERS if folder.name == PARTIES else folder.name


def party_of(seat: str) -> str:
    """Return the party of a seat: `labour` for `labour:male`."""
    return seat.partition(":")[0]


@read_once(lambda seat, folder=US_VOTERS: home_of(folder / FILE) or folder)
def load_personas(seat: str, folder: Path = US_VOTERS) -> tuple[Persona, ...]:
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
    open_ = [person for person in people if person.variant == traits or (not traits and entries[person.name] == 1)]
    seats = sorted({f"{party}:{person.variant}" if person.variant else party for person in people})
    if not open_:
        raise unknown_name(f"seat with the personas of {set_name(folder)}", seat, seats)
    if torn := [name for name, number in entries.items() if not traits and number > 1 and name not in plain]:
        choices = ", ".join(f"{party}:{person.variant}" for person in people if person.name == torn[0])
        raise UserError(
            f"{torn[0]} of {party}.toml has entries for {choices}, but no entry for the seat {party}: name one of "
            "these seats, or add an entry without gender and age"
        )
    return tuple(open_)


@read_once(lambda party, folder: home_of(folder / FILE) or folder)
def all_personas(party: str, folder: Path) -> tuple[Persona, ...]:
    """Return all personas of a party, in all variants, in file order. Errors: UserError if the file is broken."""
    home = society_of(folder / party) or load_society(US)
    spoken = home.parties[party].language if party in home.parties else ""
    people = tuple([
        _person({"language": spoken, **entry, "id": f"{party}_{number:02}", "party": party}, number, home)
        for number, entry in enumerate(_entries(party, folder), 1)
    ])  # fmt: skip
    if not people or len({(person.name, person.gender, person.age) for person in people}) < len(people):
        raise UserError(f"{folder / party}.toml needs at least one persona, and each persona needs a different name")
    if wrong := [person for person in people if person.gender not in ("", *PEOPLE) or (person.gender and person.age)]:
        raise UserError(
            f"{wrong[0].name} of {party}.toml: give gender = 'male', gender = 'female' or an age, but not a gender and an age"
        )
    return people


def _person(entry: Mapping[str, Any], number: int, home: Society) -> Persona:
    """Return the person of a table. Errors: UserError for a language without prompts."""
    person = build_from_table(Persona, entry, f"persona {number} of {entry['party']}.toml")
    _ = home.spoken(person.language)  # it has to have prompts
    return replace(person, society=home.name)


def _entries(party: str, folder: Path) -> list[dict[str, Any]]:
    """Return the tables of a party's people, as its file has them, or made up of its names and its `person`."""
    path, home = folder / f"{party}.toml", _makes_people(folder)
    if not (home and not path.is_file()):
        entries = read_toml(path).get(PEOPLE_TABLE, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise UserError(f"{path} needs a table for each persona: write [[persona]] before each")
        if entries or not home:
            return entries
    if (party_data := home.parties.get(party)) is None:
        raise unknown_name("party", party, home.parties)
    make = plain_people if folder.name == PARTIES else people_in_variants
    return make(party_data.names, party_data.person, home.spoken(party_data.language))


def rename_persona(person: Persona, number: int) -> Persona:
    """Return a persona under a new name, for its second, third, ... agent (`number` 1, 2, ...) in one population.

    A first name of the society is added, and a further one when they are used up: Wyatt, Wyatt Darlene, Wyatt Travis.
    The backstory has the new name too. 0 returns the persona as it is.
    """
    if not number:
        return person
    names, place_of = _first_names(person.society)
    own = place_of.get(person.name, len(names))  # its own name is passed over
    others, added = len(names) - (own < len(names)), list[str]()
    while number:
        number, place = divmod(number - 1, others)
        added.append(names[place + (place >= own)])
    name = " ".join([person.name, *added])
    return replace(person, name=name, backstory=re.sub(rf"\b{re.escape(person.name)}\b", name, person.backstory))


@read_once(society_folder)
def _first_names(society: str) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return all first names of a society, and the place of each."""
    names = tuple(dict.fromkeys(chain.from_iterable(load_society(society).names.values())))
    return names, {name: place for place, name in enumerate(names)}


def add_history(person: Persona, history: str, language: Language) -> Persona:
    """Return a persona who knows what it wrote before, on one line after its backstory; without a history, the persona as it is.

    >>> add_history(Persona("", "green", "Ann", "You are Ann."), "Trees first!", ENGLISH).backstory
    'You are Ann. What you have written before, in your own words: "Trees first!"'
    """
    if not (text := " ".join(history.split())):
        return person
    return replace(person, backstory=f"{person.backstory} {language.fill('history', text=text)}")


def persona_reminder(backstory: str, language: Language) -> str:
    """Return the reminder of who an agent is."""
    return language.prompt("reminder").fill(persona=backstory)


def genders(people: Sequence[Persona], language: Language = ENGLISH) -> str:
    """Return one sentence on who is a man and who is a woman, without people whose persona does not say.

    >>> genders([Persona("", "", "Ann", "", "female"), Persona("", "", "Bob", "")])
    'Ann is a woman.'
    """
    sentences = [
        language.fill("is", name=person.name, facts=language.words(person.gender)) for person in people if person.gender
    ]
    return f"{language.join([sentence.removesuffix('.') for sentence in sentences])}." if sentences else ""


def demographics(people: Sequence[Persona], society: Society) -> str:
    """Return a sentence on each person: gender, age and party, as far as the persona states them.

    >>> ann = Persona("", "green", "Ann", "You are Ann, 34, a nurse.")
    >>> demographics([ann, Persona("", "default", "Bob", "")], load_society("us"))
    'Ann is a Green and 34 years old.'
    """
    language = society.language
    told = [(person.name, _facts(person, society)) for person in people]
    lines = [(name, f" {language.words('and')} ".join(facts)) for name, facts in told if facts]
    return " ".join(language.fill("is", name=name, facts=facts) for name, facts in lines)


def _facts(person: Persona, society: Society) -> list[str]:
    """Return gender, party and age. If `age` is not set, it is the only number of two digits in the first sentence."""
    numbers = _AGE.findall(re.split(r"(?<=[.!?])\s", person.backstory, maxsplit=1)[0])
    age, name = person.age or (int(numbers[0]) if len(numbers) == 1 else 0), society.label(person.party)
    language = society.language
    gender = language.words(person.gender) if person.gender else ""
    party = "" if person.party == DEFAULT else language.fill("party", article=article(name), party=name)
    return [fact for fact in (gender, party, language.fill("age", age=age) if age else "") if fact]


def introduction(people: Sequence[Persona], as_: str, language: Language = ENGLISH) -> str:
    """Return a sentence on each person. `as_`: person, ai, copy, or even (a copy, and what follows for the chances).

    >>> introduction([Persona("", "", "Ann", "")], "ai")
    'Ann is an AI.'
    """
    told = language.words("copy" if as_ == "even" else as_)
    even = language.words("even") if as_ == "even" else ""
    return " ".join(language.fill("is", name=person.name, facts=told) for person in people) + even
