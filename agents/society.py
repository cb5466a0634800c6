"""A society as a folder: parties, personas, topics, questionnaire, names and the language of a country or a made-up place.

The shipped ones are in agents/societies/; one of your own is chosen by its path (`--society ./germany`). A name inside a society
is written SOCIETY/NAME (`germany/tempolimit`); without a society it is one of `us`.

    society.toml      title, country, language, who debates
    parties/          a TOML file per party: its look and words, its people, what the rule-based speaker says for it
    topics/           a TOML file per topic; items of news in topics/news/
    personas/SET/     further sets of personas, a TOML file per party
    questionnaire.toml, validation.toml
    oracle/           what the rule-based speaker knows of it (docs/oracle.md)
    languages/CODE/   topics/, oracle/ and parties/ in a language that only some of its people speak (docs/societies.md)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parley.agents.datafiles import HERE, build_from_table, read_toml, require_section
from parley.agents.language import ENGLISH, Language, load_language
from parley.llm.errors import UserError, unknown_name
from parley.llm.file_cache import read_once
from parley.llm.typed import as_hint

SOCIETIES = HERE / "societies"
FILE = "society.toml"
US = "us"
PARTIES, SETS = "parties", "personas"
"""The folder of the parties' files; the folder of further sets of personas."""
PEOPLE_TABLE, SPEAKER_TABLE = "persona", "oracle"
"""Parts of a party's file that others read: its people (persona.py), and what the oracle says for it (oracle/party_files.py)."""
VOTERS, SIMPLE = "voters", "simple"
"""The set of personas in the parties' files; the set that is made up where a society has none."""
DEFAULT = "default"
"""The id of the neutral seat in every society."""
SEATS = ("first", "second")
"""What scenarios call the two parties that debate (`debaters` in society.toml)."""
ACRONYM = 3
"""A party id of at most so many letters is an acronym: cdu is CDU."""
_SEAT = re.compile(rf"^(?:{'|'.join(SEATS)})(?=[: ]|$)")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


class PartyNames(dict[str, str]):
    """The names of parties by id, and in `plurals` what several of their people are called."""

    def __init__(
        self, labels: Mapping[str, str] = MappingProxyType({}), plurals: Mapping[str, str] = MappingProxyType({})
    ):
        super().__init__(labels)
        self.plurals = dict(plurals)

    @classmethod
    def from_header(cls, parties: Mapping[str, Mapping[str, str]]) -> PartyNames:
        """Return the names in the header of a record, of those parties that it names."""
        labels = {party: about["name"] for party, about in parties.items() if about.get("name")}
        return cls(labels, {party: about["plural"] for party, about in parties.items() if about.get("plural")})


NO_NAMES = PartyNames()


@dataclass(frozen=True)
class Party:
    """A party, or a kind of people: what its file says (parties/<code>.toml).

    label      what one of its people is called: Green      plural   what several are called
    person     how one of its people is described: a voter of the Green Party
    colour     and marker, line: its look in figures (#rrggbb, Matplotlib's markers of up to four seats, dash)
    side       its place from left (-1) to right (1); None: it has none
    words      the words, in small letters, by which a text names it
    names      first names for its people; without them those of its personas
    language   the code of the language in which its people are asked; "": that of the society
    positions  what prompts of its personas say that they think, by topic, in the words of the survey
    enhanced   what the prompt of the writer of the sets `enhanced` and `twins` says (persona_variants.py)
    """

    label: str
    person: str
    plural: str = ""
    colour: str = ""
    marker: str = ""
    line: str = ""
    side: float | None = None
    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    language: str = ""
    positions: Mapping[str, str] = field(default_factory=dict)
    enhanced: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Society:
    """What society.toml says, with its folder. `name` is that of the folder, or the path of one of your own.

    parties   by code: debaters first, then from left to right, the neutral seat last
    politics  what questions on its politics are about: US politics
    debaters  the two parties that sit where a scenario says `first` and `second`
    topics    the topics that are debated where none is named
    """

    name: str
    folder: Path
    title: str
    country: str
    demonym: str
    politics: str
    language: Language
    debaters: tuple[str, str]
    topics: tuple[str, ...]
    parties: Mapping[str, Party] = field(default_factory=dict)

    def qualified(self, name: str) -> str:
        """Return the name of a topic or a set of personas as it is written outside of the society.

        >>> load_society("us").qualified("racism"), load_society("us").qualified("./mine.toml")
        ('racism', './mine.toml')
        """
        bare = is_sentence(name) and split_name(name)[0] == US
        is_path = not bare and ("/" in name or name.endswith(".toml"))
        return name if self.name == US or is_path or (is_sentence(name) and not bare) else f"{self.name}/{name}"

    def seat(self, seat: str) -> str:
        """Return the seat of a scenario in this society: that of the first debater for `first`, any other as it is.

        >>> load_society("germany").seat("second:female"), load_society("germany").seat("first 2")
        ('cdu:female', 'spd 2')
        """
        named = dict(zip(SEATS, self.debaters, strict=True))
        return _SEAT.sub(lambda match: named[match[0]], seat)

    def label(self, party: str) -> str:
        """Return what one of a party's people is called; for an unknown party its id."""
        party_data = self.parties.get(party)
        return party_data.label if party_data and party_data.label else party_name(party)

    def plural(self, party: str) -> str:
        """Return what several of a party's people are called."""
        party_data = self.parties.get(party)
        return party_data.plural if party_data and party_data.plural else f"{self.label(party)}s"

    def spoken(self, code: str) -> Language:
        """Return the language with this code, a shipped one or one of the society's folder; "": that of the society.

        Errors: UserError for any other language.
        """
        return load_language(code, self.folder) if code else self.language

    def translated(self, language: str) -> Path:
        """Return the folder with the society's own texts in a language that only some of its people speak."""
        return self.folder / "languages" / language

    def other(self, party: str) -> str:
        """Return the other one of the two debaters; for any other party the debater that is farther from it (`side`).

        Of two that are as far, and where a side is not known, that is the first.
        """
        first, second = self.debaters
        if party in self.debaters:
            return second if party == first else first
        return second if self._distance(party, second) > self._distance(party, first) else first

    def _distance(self, party: str, other: str) -> float:
        """Return how far two parties are apart from left to right (0 to 2); 0 where a side is not known."""
        first_side, second_side = (
            party_data.side if (party_data := self.parties.get(name)) else None for name in (party, other)
        )
        return abs(first_side - second_side) if first_side is not None and second_side is not None else 0.0

    def read(self, file: str) -> dict[str, Any]:
        """Return a data file of the society. Errors: UserError if it is missing or broken."""
        return read_toml(self.folder / file)

    @property
    def names(self) -> Mapping[str, Sequence[str]]:
        """First names for agents, by party."""
        return {party: party_data.names for party, party_data in self.parties.items()}

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Pickle only the name: another process reads the society itself."""
        return load_society, (self.name,)

    @property
    def persona_sets(self) -> list[str]:
        """The names of its sets of personas, sorted."""
        return sorted({VOTERS, SIMPLE, *(path.name for path in self.folder.glob(f"{SETS}/*") if path.is_dir())})

    def header_entries(self, parties: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return label, plural and look of parties, for the header of a record; "" where the society does not say."""
        keys = {"name": "label", "plural": "plural", "colour": "colour", "marker": "marker", "line": "line"}
        listed_parties = {party: self.parties[party] for party in parties if party in self.parties}
        return {
            party: {key: getattr(party_data, name) for key, name in keys.items()}
            for party, party_data in listed_parties.items()
        }


@cache
def society_names() -> list[str]:
    """Return the names of the shipped societies, sorted."""
    return sorted(path.parent.name for path in SOCIETIES.glob(f"*/{FILE}"))


def society_folder(name: str) -> Path:
    """Return the folder of a society, by name or by path. Errors: UserError if there is none."""
    if name in society_names():
        return SOCIETIES / name
    folder = Path(name).expanduser()
    if "/" in name or folder.is_dir():
        if not (folder / FILE).is_file():
            raise UserError(f"{name} is not a society: it has no {FILE} (parley new society {name} writes one)")
        return folder
    raise unknown_name("society", name, society_names())


def split_name(name: str) -> tuple[str, str]:
    """Return the society and the name in it: ("germany", "tempolimit"); a bare name is one of `us`.

    >>> split_name("racism"), split_name("./lands/germany/tempolimit")
    (('us', 'racism'), ('./lands/germany', 'tempolimit'))
    >>> split_name("germany/Soll es ein Tempolimit und/oder eine Maut geben?")
    ('germany', 'Soll es ein Tempolimit und/oder eine Maut geben?')
    """
    if is_sentence(name):  # a slash in it may be one of its words
        ends = (place for place, sign in enumerate(name) if sign == "/")
        end = next((place for place in ends if _is_society(name[:place])), None)
        return (US, name) if end is None else (name[:end], name[end + 1 :])
    society, slash, inside = name.rpartition("/")
    return (society, inside) if slash else (US, name)


def is_sentence(name: str) -> bool:
    """Return whether the name of a topic is a sentence: the topic in one line (agents/own_topic.py).

    >>> is_sentence("Should cities ban cars?"), is_sentence("climate_change"), is_sentence("./my topics/mine.toml")
    (True, False, False)
    """
    return " " in name.strip() and name.rstrip().endswith((".", "?", "!"))


def _is_society(name: str) -> bool:
    return name in society_names() or (Path(name).expanduser() / FILE).is_file()


@read_once(lambda name=US: society_folder(name))
def load_society(name: str = US) -> Society:
    """Read a society, by name or by path. Errors: UserError if it is unknown or broken."""
    folder = society_folder(name)
    where = f"{FILE} of {folder.name}"
    values = read_toml(folder / FILE)
    if PARTIES in values:
        raise UserError(f"{where}: write each party into its own file, {PARTIES}/<code>.toml (docs/societies.md)")
    parties = {path.stem: read_party(path) for path in sorted((folder / PARTIES).glob("*.toml"))}
    debaters = values.get("debaters")
    two = (
        isinstance(debaters, list) and len(debaters) == 2 and all(debater in parties for debater in map(str, debaters))
    )
    if not two or DEFAULT not in parties:
        raise UserError(f"{where} needs debaters = [two of its parties], and a file {PARTIES}/{DEFAULT}.toml")
    title = str(values.get("title", folder.name.title()))
    given = {
        "title": title,
        "country": title,
        "demonym": title,
        "topics": (),
        "politics": f"politics in {values.get('country', title)}",
        **values,
        "name": name.rstrip("/") if name not in society_names() else name,
        "folder": folder,
        "language": load_language(str(values.get("language", ENGLISH.code)), folder),
        "parties": MappingProxyType({party: parties[party] for party in _ordered(parties, map(str, debaters or ()))}),
    }
    return build_from_table(Society, given, where)


def _ordered(parties: Mapping[str, Party], debaters: Iterable[str]) -> list[str]:
    """Return parties in the order in which they are shown: debaters, from left to right, those without a side, the Default."""
    first = list(debaters)
    sides = {party: party_data.side for party, party_data in parties.items()}
    others = sorted(
        set(parties) - {*first, DEFAULT}, key=lambda party: (sides[party] is None, sides[party] or 0.0, party)
    )
    return [*first, *others, DEFAULT]


def read_party(path: Path) -> Party:
    """Read the file of a party. Errors: UserError on an unknown or missing key or a wrong value."""
    values, about = read_toml(path), f"{PARTIES}/{path.name}"
    people = values.pop(PEOPLE_TABLE, [])
    values.pop(SPEAKER_TABLE, None)
    positions = as_hint(f"positions in {about}", values.pop("positions", {}), dict[str, str])
    enhanced = require_section(values, "enhanced", about)
    party = build_from_table(Party, {**values, "positions": positions, "enhanced": enhanced}, about)
    if party.colour and not _COLOUR.fullmatch(party.colour):
        raise UserError(f"colour in {about} is {party.colour!r}, but must be written as #rrggbb")
    if party.side is not None and not -1 <= party.side <= 1:
        raise UserError(f"side in {about} is {party.side}, but must be from -1 (left) to 1 (right)")
    if party.names or not isinstance(people, list):
        return party
    named = [str(entry["name"]) for entry in people if isinstance(entry, dict) and "name" in entry]
    return replace(party, names=tuple(dict.fromkeys(named)))


def home_of(path: Path) -> Path | None:
    """Return the folder of the society that a file of a topic or a folder of personas lies in; None outside of any."""
    if path.is_relative_to(SOCIETIES):  # without a look at the disk: this is asked for each agent
        return SOCIETIES.joinpath(*path.relative_to(SOCIETIES).parts[:1])
    return next((folder for folder in path.resolve().parents if (folder / FILE).is_file()), None)


def society_of(path: Path) -> Society | None:
    """Return the society that a file of a topic or a folder of personas lies in; None outside of any."""
    if not (folder := home_of(path)):
        return None
    return load_society(folder.name if folder.parent == SOCIETIES.resolve() else str(folder))


def party_name(party: str, names: Mapping[str, str] = NO_NAMES) -> str:
    """Return the name of a party: the given one, or its id, in capitals if it has at most three letters.

    >>> party_name("green"), party_name("cdu"), party_name("gruene", {"gruene": "Grüne"})
    ('Green', 'CDU', 'Grüne')
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
