"""What the files of the parties add to the banks, and what follows where they are silent.

A file has a part [oracle] with planted numbers and sentences. Without it, a party still speaks: its people say who they are by
`person`, answer on themes as people without a party do, and begin where its `side` puts them (`derived_start`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import linear_regression
from typing import Any

from parley.llm.backends.oracle.bank_files import PartyFile, check_file, read_file
from parley.llm.errors import UserError, unknown_name

NO_PARTY = "none"
"""The party of a persona that names none."""
MIDDLE, FARTHEST = 5.0, 4.0
"""The middle of the axis of a topic, and how far from it a party at the end of its side begins if no other party is planted."""
JOINED = ("common", "self", "values", "backstory", "enhanced", "deliberation")
"""The banks to which parties add sentences."""
NUMBERS = ("start", "stubbornness")
"""What a party's part [oracle] says in no language. Its `levels` have the names of levels in the language."""
Bank = dict[str, Any]


class PartyFiles:
    """The files of the parties of a society, and their sentences and numbers in the shape of the banks.

    debaters come first, in the order in which the society names them, and the other parties by their codes. In a language that
    only some people of the society speak, a party says what languages/CODE/parties has for it, else what its file has if this is
    the language of the party, else the plain sentences of the language.
    """

    def __init__(self, folder: Path, debaters: Sequence[str], spoken: str = ""):
        self.folder = folder / "parties"
        translated = folder / "languages" / spoken / "parties"
        paths = {path.stem: path for path in sorted(self.folder.glob("*.toml"))}
        ordered = dict.fromkeys([*(party for party in debaters if party in paths), *paths])
        self.files = {party: _party_file(paths[party], spoken, translated) for party in ordered}
        self.speakers = {party: party_file for party, party_file in self.files.items() if party_file.words}
        self._debaters = [party for party in debaters if party in self.files]
        joins = (self._identity, self._votes, self._themes, self._backstory, self._enhanced, self._answers)
        self._joins: dict[str, Callable[[Bank, Bank], Bank]] = dict(zip(JOINED, joins, strict=True))

    def joined(self, name: str, bank: Bank, generic: Bank) -> Bank:
        """Return a bank with what the parties add to it; `generic` are the language's sentences for parties that say nothing."""
        join = self._joins.get(name)
        return join(bank, generic) if join and bank else bank

    def fingerprint(self) -> str:
        """Return everything that the speaker reads in these files, as one text."""
        return repr({party: party_file.model_dump() for party, party_file in self.files.items()})

    def _own(self, lines: Callable[[PartyFile], list[str]], generic: Iterable[str]) -> dict[str, list[str]]:
        """Return the lines of each party; where it has none, the generic ones about its `person`."""
        told = {
            party: [line.replace("{person}", party_file.person) for line in generic]
            for party, party_file in self.speakers.items()
        }
        return {party: lines(party_file) or told[party] for party, party_file in self.speakers.items()}

    def _identity(self, bank: Bank, generic: Bank) -> Bank:
        party_lines = self._own(lambda party_file: party_file.oracle.identity, generic.get("identity", ()))
        identities = bank.get("identity", {})
        without = identities.get(NO_PARTY) or generic.get("nobody", [])
        return {**bank, "identity": _before_no_party(party_lines, {**identities, NO_PARTY: without})}

    def _votes(self, bank: Bank, generic: Bank) -> Bank:
        votes = bank.get("party", {})
        asked_phrases = [phrase for party_file in self.speakers.values() for phrase in party_file.oracle.asked]
        party_votes = self._own(lambda party_file: party_file.oracle.votes, generic.get("votes", ()))
        return {**bank, "party": {**votes, "recognise": [*votes.get("recognise", ()), *asked_phrases], **party_votes}}

    def _themes(self, bank: Bank, generic: Bank) -> Bank:
        themes = bank.get("themes", {})
        for party, party_file in self.speakers.items():
            for theme in party_file.oracle.themes:
                if theme not in themes:
                    raise unknown_name(f"theme in oracle.themes of {self.path(party)}", theme, themes)
        for theme, lines in themes.items():
            if not lines.get(NO_PARTY):
                raise UserError(
                    f"oracle/values.toml: themes.{theme} has no lines for {NO_PARTY} (people without a party)"
                )
        return {**bank, "themes": {theme: self._theme(theme, lines) for theme, lines in themes.items()}}

    def _theme(self, theme: str, lines: Bank) -> Bank:
        party_lines = {
            party: party_file.oracle.themes.get(theme) or lines[NO_PARTY] for party, party_file in self.speakers.items()
        }
        return _before_no_party(party_lines, lines)

    def _backstory(self, bank: Bank, generic: Bank) -> Bank:
        backstories = generic.get("backstory", {})
        party_backstories = {
            party: {
                kind: party_file.oracle.backstory.get(kind)
                or [line.replace("{person}", party_file.person) for line in lines]
                for kind, lines in backstories.items()
            }
            for party, party_file in self.speakers.items()
        }
        return {**bank, "party": party_backstories} if "slots" in bank else bank

    def _enhanced(self, bank: Bank, generic: Bank) -> Bank:
        no_party_lines = bank.get(NO_PARTY, {})
        party_lines = {
            party: {kind: party_file.oracle.enhanced.get(kind) or lines for kind, lines in no_party_lines.items()}
            for party, party_file in self.speakers.items()
        }
        return {**bank, **party_lines} if no_party_lines else bank

    def _answers(self, bank: Bank, generic: Bank) -> Bank:
        """Let the words of a party show the answer that its people give to an item of the questionnaire."""
        items = {
            item: {answer: list(texts) for answer, texts in table.items()}
            for item, table in bank.get("items", {}).items()
        }
        for party_file in self.speakers.values():
            words = rf"\b(?:{'|'.join(map(re.escape, party_file.words))})\b"
            for item, answer in party_file.oracle.answers.items():
                items.setdefault(item, {}).setdefault(answer, []).append(words)
        return {**bank, "items": items}

    def planted(self, bank: Bank) -> Bank:
        """Return the parameters (oracle/parameters.toml) with each party's start, stubbornness and levels in every topic."""
        topics = bank["topics"]
        for party, party_file in self.speakers.items():
            for key in ("start", "stubbornness", "levels"):
                for slug in getattr(party_file.oracle, key):
                    if slug not in topics:
                        raise unknown_name(f"topic in oracle.{key} of {self.path(party)}", slug, topics)
        return {**bank, "topics": {slug: self._topic(slug, table) for slug, table in topics.items()}}

    def _topic(self, slug: str, table: Bank) -> Bank:
        parts = {party: party_file.oracle for party, party_file in self.speakers.items()}
        return {
            **table,
            "start": {party: self.start(party, slug, float(table["bias"])) for party in parts},
            "stubbornness": {
                party: oracle.stubbornness[slug] for party, oracle in parts.items() if slug in oracle.stubbornness
            },
            "positions": {party: oracle.levels[slug] for party, oracle in parts.items() if slug in oracle.levels},
        }

    def start(self, party: str, slug: str, bias: float) -> float:
        """Return where a party begins on a topic: the planted number, else the one that follows from its side."""
        party_file = self.speakers[party]
        stated_starts = [
            (other.side, other.oracle.start[slug]) for other in self.speakers.values() if slug in other.oracle.start
        ]
        placed = [(side, start) for side, start in stated_starts if side is not None]
        return party_file.oracle.start.get(slug, derived_start(party_file.side, placed, self._direction(slug), bias))

    def _direction(self, slug: str) -> float:
        """Return 1 where the right is the high end of a topic's axis, -1 where the left is, 0 where its file does not say."""
        high = read_file(self.folder.parent / "topics" / f"{slug}.toml").get("high_party")
        if high not in self._debaters or len(self._debaters) != 2:
            return 0.0
        high_side, other = (
            self.files[party].side or 0.0 for party in sorted(self._debaters, key=lambda party: party != high)
        )
        return float((high_side > other) - (high_side < other))

    def without_start(self, party: str, topics: Iterable[str]) -> list[str]:
        """Return the topics for which the file of a party plants no start."""
        return [slug for slug in topics if slug not in self.speakers[party].oracle.start]

    def path(self, party: str) -> str:
        """Return the file of a party as messages name it."""
        return f"parties/{party}.toml"


def derived_start(side: float | None, placed: Sequence[tuple[float, float]], direction: float, bias: float) -> float:
    """Return where a party begins on a topic for which its file plants no number, 0 to 10.

    placed: side and planted start of the other parties. With two sides or more it is the level at the party's side on the
    straight line through them; else as far from the middle as its side, toward the end that `direction` (1, -1) gives it. Without
    a side or a direction it is the bias.

    >>> derived_start(0.0, [(-0.5, 8.0), (0.5, 2.0)], 0, 6.0), derived_start(0.5, [], -1, 6.0), derived_start(None, [], 1, 6.0)
    (5.0, 3.0, 6.0)
    """
    if side is None:
        return bias
    if len({place for place, _ in placed}) > 1:
        slope, level = linear_regression(*zip(*placed, strict=True))
        value = level + slope * side
    elif direction:
        value = MIDDLE + FARTHEST * direction * side
    else:
        return bias
    return round(min(max(value, 0.0), 10.0), 1)


def level_shares(levels: Mapping[str, float], start: float) -> dict[str, float]:
    """Return how often people of a party state each level, if its file does not say: the two around its start, with this mean.

    >>> level_shares({"small": 3.0, "big": 6.0, "very big": 9.0}, 5.0)
    {'small': 0.33, 'big': 0.67, 'very big': 0.0}
    """
    values = sorted(levels.values())
    start = min(max(start, values[0]), values[-1])
    low = max(value for value in values if value <= start)
    high = min((value for value in values if value > start), default=low)
    upper = (start - low) / (high - low) if high > low else 1.0
    shares = {low: 1 - upper, high: upper}
    return {level: round(shares.get(value, 0.0), 2) for level, value in levels.items()}


def _party_file(path: Path, spoken: str, translated: Path) -> PartyFile:
    values = read_file(path)
    check_file(PartyFile, values, path)
    if spoken:
        numbers = {name: value for name, value in values.get("oracle", {}).items() if name in NUMBERS}
        spoken_values = values if values.get("language") == spoken else {**values, "oracle": numbers}
        translation = read_file(translated / path.name)
        values = {
            **spoken_values,
            **translation,
            "oracle": {**spoken_values.get("oracle", {}), **translation.get("oracle", {})},
        }
        check_file(PartyFile, values, translated / path.name)
    return PartyFile.model_validate(values)


def _before_no_party(party_table: Bank, table: Bank) -> Bank:
    """Return a table by party with the parties' own entries, and that of people without a party at its end."""
    return {
        **{key: value for key, value in table.items() if key != NO_PARTY},
        **party_table,
        NO_PARTY: table.get(NO_PARTY, []),
    }
