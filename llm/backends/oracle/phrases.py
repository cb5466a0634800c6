"""The sentence banks: sentences by grade, and the grade of a sentence heard.

The banks of a society are its folder `oracle/` (agents/societies/NAME/oracle) on top of those of its language
(banks/<code>/): a file of both has the tables of both, key by key, and the society's win. Then each party adds what its own file
says (party_files.py). People who speak another language than the society have the banks of that language, and those of the
society's folder languages/CODE/oracle; all people understand the sentences on a topic in every language of the society.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from parley.llm.backends.oracle import own_topics
from parley.llm.backends.oracle.bank_files import (
    ParametersFile,
    SocietyFile,
    check_file,
    check_identity,
    check_topic_file,
    read_file,
)
from parley.llm.backends.oracle.news_bank import LANGUAGES, Item, planted_on, read_items, sentences_on
from parley.llm.backends.oracle.own_topics import ByTopic
from parley.llm.backends.oracle.party_files import JOINED, NO_PARTY, PartyFiles
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.llm.seeding import digest

FOLDER = Path(__file__).parent / "banks"
SOCIETIES = Path(__file__).parents[3] / "agents" / "societies"
TRANSLATED = "languages"
"""The folder of a society with a folder for each language that only some of its people speak."""
US = "us"
"""The society of the studies."""
GRADES = (0, 2, 4, 6, 8, 10)
NEAR = 0.33
"""A party whose side is at most this far from the middle is neither left nor right."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SLOT = re.compile(r"\{(\w+)\}")
Changes = tuple[tuple[re.Pattern[str], str], ...]
"""Patterns, each with what replaces it, in the order in which they apply."""


def sentences(text: str) -> list[str]:
    """Return the sentences of a line. The banks hold no abbreviation with a full stop, so a full stop ends a sentence."""
    return _SENTENCE_END.split(text.strip())


def expand(template: str, slots: dict[str, list[str]]) -> list[str]:
    """Return every filling of a template: "in {a}" with a = [x, y] gives "in x", "in y"."""
    names = list(dict.fromkeys(_SLOT.findall(template)))
    fillings = itertools.product(*[slots[name] for name in names])
    return [template.format(**dict(zip(names, filling, strict=True))) for filling in fillings]


@dataclass(frozen=True)
class TopicBank:
    """The sentences of a topic. `recognise` are the phrases that show that a text is about it.

    `retold`: of an item of news, the sentences of the true report (grade 0) and those that a story gets as it is passed on,
    which the speaker understands and does not say of itself.
    """

    slug: str
    title: str
    recognise: tuple[str, ...]
    stance: str
    labels: tuple[str, ...]
    propositions: dict[str, int]
    by_grade: dict[int, tuple[tuple[str, ...], ...]]
    fillers: tuple[str, ...]
    retold: Mapping[str, float]

    def stance_sentence(self, point: int) -> str:
        """Return the sentence that answers a survey, and that debaters also say: point 0-10 as a word."""
        return self.stance.replace("{label}", self.labels[point])

    @cached_property
    def grades(self) -> dict[str, float]:
        """The grade of every sentence of this topic: the six grades, and 0-10 for the stance sentence.

        A question that the speaker answers itself, in the same line of the bank, is known by the question.
        """
        graded = {
            sentences(line)[0]: float(grade) for grade, bank in self.by_grade.items() for form in bank for line in form
        }
        return (
            {**self.retold} | graded | {self.stance_sentence(point): float(point) for point in range(len(self.labels))}
        )

    @cached_property
    def forms(self) -> dict[str, str]:
        """The first filling of a sentence's form, by sentence: two sentences of one form have the same."""
        return {sentences(line)[0]: form[0] for bank in self.by_grade.values() for form in bank for line in form}

    def direction(self, text: str) -> int | None:
        """Return the direction (1 or -1) of the longest proposition in a text in small letters; None without one."""
        phrases = [phrase for phrase in self.propositions if phrase in text]
        return self.propositions[max(phrases, key=len)] if phrases else None

    def grade(self, line: str) -> float | None:
        """Return the mean grade of the sentences of a line that the bank knows; None when it knows none."""
        grades = [self.grades[sentence] for sentence in sentences(line) if sentence in self.grades]
        return sum(grades) / len(grades) if grades else None


class Banks:
    """What the speaker knows of a society: its parties, its sentences, its parameters."""

    def __init__(self, society: str, spoken: str = ""):
        folder = SOCIETIES / society if (SOCIETIES / society / "society.toml").is_file() else Path(society).expanduser()
        if not (about := read_file(folder / "society.toml")):
            raise UserError(f"oracle: {society} is not a society, because {folder}/society.toml does not exist")
        check_file(SocietyFile, about, folder / "society.toml")
        usual = str(about.get("language", "en"))
        self.society, self.home, self.spoken = society, folder, "" if spoken == usual else spoken
        self.language = self.spoken or usual
        self.folder = (folder / TRANSLATED / self.spoken if self.spoken else folder) / "oracle"
        self.prefix = "" if society == US else f"{society.rstrip('/')}/"
        self._folders = (FOLDER / self.language, self.folder)
        self._data: dict[str, dict[str, Any]] = {}
        self.checked = False
        self.demonym = str(about.get("demonym", about.get("title", society)))
        self.parties = PartyFiles(folder, about.get("debaters", ()), self.language if self.spoken else "")
        self.sides = {party: party_file.side for party, party_file in self.parties.files.items()}
        self._words = {party: _whole_words(party_file.words) for party, party_file in self.parties.speakers.items()}
        self._party = lru_cache(maxsize=4096)(self._count_party_words)
        self.changes = cache(self._changes)
        self.recognised = lru_cache(maxsize=1 << 16)(self._recognise)

    def data(self, name: str) -> dict[str, Any]:
        """Return a bank file as a dict: that of the language with that of the society, and what its parties add."""
        if name not in self._data:
            self._data[name] = self.parties.joined(name, self._file(name), self._file("party"))
        return self._data[name]

    def _file(self, name: str) -> dict[str, Any]:
        table: dict[str, Any] = {}
        language, society_folder = self._folders
        shared = [self.home / "oracle"] if name == "parameters" else []  # numbers are the same in all languages
        for folder in (language, *shared, society_folder):
            table = _merged(table, read_file(folder / f"{name}.toml"))
        return table

    def in_language(self, spoken: str) -> Banks:
        """Return what the speaker knows in another language of the society; "" for that of the society. Errors: UserError."""
        if spoken in ("", self.language):
            return self
        other = banks(self.society, spoken)
        if not other.checked:
            other.check()
            other.checked = True
        return other

    @cached_property
    def topics(self) -> dict[str, TopicBank]:
        """Every topic bank by slug. The sentences of the society's other languages are understood, and not said."""
        codes = ["", *sorted(path.parent.name for path in self.home.glob(f"{TRANSLATED}/*/oracle"))]
        others = [banks(self.society, code)._own_topics for code in codes if code != self.spoken]
        foreign = {
            slug: {line: grade for topics in others if slug in topics for line, grade in topics[slug].grades.items()}
            for slug in self._own_topics
        }
        known = {
            slug: replace(bank, retold={**foreign[slug], **bank.retold}) if foreign[slug] else bank
            for slug, bank in self._own_topics.items()
        }
        return ByTopic(known, self._topic_of_user)

    def _topic_of_user(self, title: str) -> TopicBank:
        path, bank = FOLDER / self.language / "topic.toml", self.data("topic")
        if not bank:
            raise UserError(f"the oracle has no sentences for topics of your own in the language {self.language}")
        return _load_topic(title, own_topics.sentences_on(title, bank), path, {})

    @cached_property
    def _own_topics(self) -> dict[str, TopicBank]:
        """The topic banks in this language: topics of debates, and items of news (`oracle/news`, or else news_bank.py)."""
        paths = sorted(path for folder in ("topics", "news") for path in (self.folder / folder).glob("*.toml"))
        files = {path.stem: (read_file(path), path) for path in paths}
        where = FOLDER / self.language / "news.toml"
        made = {name: (sentences_on(item, self.data("news")), where) for name, item in self.items.items()}
        topics = {
            f"{self.prefix}{name}": (*source, self._retold(name)) for name, source in {**files, **made, **files}.items()
        }
        return {slug: _load_topic(slug, *source) for slug, source in topics.items()}

    def _retold(self, name: str) -> dict[str, float]:
        """Return the grades of the sentences with which an item of news is retold; {} for another topic."""
        if name not in self.items:
            return {}
        added = {line: float(degree) for (_, degree), line in self.added.items()}
        return added | dict.fromkeys(sentences(self.items[name].report), 0.0)

    @cached_property
    def added(self) -> dict[tuple[str, int], str]:
        """The sentence that a story gets as it is passed on, by dimension and degree from 1."""
        bank = self.data("retelling")
        return {
            (name, degree): form.replace("{degree}", word)
            for name, form in bank.get("dimensions", {}).items()
            for degree, word in enumerate(bank["degrees"], 1)
        }

    @cached_property
    def items(self) -> dict[str, Item]:
        """The items of news of the language and of the society, by name; none in a language without banks/<code>/news.toml."""
        folders = (LANGUAGES / self.language, self.folder.parent)
        return read_items(*[folder / "topics" / "news" for folder in folders]) if self.data("news") else {}

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The planted parameters of each topic, by slug: those of oracle/parameters.toml, and by party start, stubbornness and
        positions (how often backstories state each level). Errors: UserError for a wrong file.
        """
        stated = self.data("parameters")
        news = {name: planted_on(item, self.data("news")) for name, item in self.items.items()}
        stated = {**stated, "topics": {**news, **stated.get("topics", {})}}
        check_file(ParametersFile, stated, self.folder / "parameters.toml")
        planted = self.parties.planted(stated)["topics"]
        known = {f"{self.prefix}{slug}": table for slug, table in planted.items()}
        return ByTopic(known, lambda _: own_topics.planted_on(self.data("topic"), self.parties))

    def check(self) -> None:
        """Errors: UserError for parameters, sentences of a topic or identities that cannot be used."""
        if lacking := [name for name in ("language", "deliberation", "common", "party") if not self._file(name)]:
            raise UserError(
                f"the oracle has no sentences in the language {self.language}: copy {lacking[0]}.toml and the "
                f"other files of llm/backends/oracle/banks/en to {self.folder}, and translate them"
            )
        check_identity(self.data("common"), [*self._words, NO_PARTY], self.folder / "common.toml")
        _ = self.parameters, self.topics, [self.data(name) for name in JOINED]  # reading them checks them

    @property
    def deliberation(self) -> Mapping[str, Any]:
        """The words and the law of private deliberations."""
        return self.data("deliberation")

    def law(self, name: str) -> float:
        """Return a number of the planted law of deliberations."""
        return float(self.deliberation["law"][name])

    def pattern(self, name: str) -> re.Pattern[str]:
        """Return a pattern of the language (language.toml), such as how a persona tells its age."""
        return _compiled(self.words(name))

    def scale_words(self, name: str) -> tuple[str, ...]:
        """Return the labels that show which end of a scale is strong: `high` or `low`. Judges' scales are in English."""
        return (*self.data("language")[name], *read_file(FOLDER / "en" / "language.toml")[name])

    @cached_property
    def agreement_labels(self) -> re.Pattern[str]:
        """What the labels of a scale of agreement have, in this language or in English."""
        english = read_file(FOLDER / "en" / "language.toml")["agreement"]
        return _compiled(f"{self.words('agreement')}|{english}")

    def words(self, name: str) -> str:
        """Return a text of the language (language.toml)."""
        return str(self.data("language")[name])

    def is_ballot(self, labels: Sequence[str]) -> bool:
        """Return whether the labels of a scale are yes and no, in any order."""
        return sorted(label.lower() for label in labels) == sorted(self.words(name).lower() for name in ("yes", "no"))

    def _changes(self, name: str) -> Changes:
        """Return a list of changes of the language (language.toml)."""
        return changes_of(self.data("language")[name])

    @cached_property
    def asks_for_party(self) -> re.Pattern[str]:
        """What a question for one party looks like; its first group is the word for the party."""
        words = sorted(
            (word for party_file in self.parties.speakers.values() for word in party_file.words), key=len, reverse=True
        )
        return _compiled(self.words("side").replace("PARTY", "|".join(map(re.escape, words))))

    @cached_property
    def labels(self) -> list[str]:
        """What people of each party are called."""
        return [party_file.label for party_file in self.parties.speakers.values()]

    def party(self, text: str) -> str:
        """Return the party that a text names more often than any other; NO_PARTY for none, and for several alike."""
        return self._party(text)

    def _count_party_words(self, text: str) -> str:
        counts = {party: len(words.findall(text)) for party, words in self._words.items()}
        most = max(counts.values(), default=0)
        named = [party for party, count in counts.items() if count == most]
        return named[0] if most and len(named) == 1 else NO_PARTY

    def names_party(self, text: str, party: str) -> bool:
        """Return whether a text has a word of the party."""
        words = self._words.get(party)
        return bool(words and words.search(text))

    def leaning(self, party: str) -> str:
        """Return the leaning of a party (left, right, neutral), by its place from left to right."""
        side = self.sides.get(party) or 0.0
        return "right" if side > NEAR else "left" if side < -NEAR else "neutral"

    def _recognise(self, text: str) -> str | None:
        """Return the slug of the topic that a text is about: the one whose phrase comes first in it."""
        return first_phrase(text, {slug: (bank.title.lower(), *bank.recognise) for slug, bank in self.topics.items()})

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all bank files and of what parties add: part of the model's identity."""
        translated = [
            folder for name in ("oracle", "parties") for folder in sorted(self.home.glob(f"{TRANSLATED}/*/{name}"))
        ]
        folders = [*self._folders, *translated]
        files = [path for folder in folders for path in sorted(folder.rglob("*.toml"))]
        texts = [text for path in files for text in (path.name, path.read_text(encoding="utf-8"))]
        return digest(*texts, repr(self.items), self.parties.fingerprint()).hex()

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return banks, (self.society, self.spoken)


@cache
def banks(society: str = US, spoken: str = "") -> Banks:
    """Return the banks of a society, by name or by path. Errors: UserError if it is none.

    spoken: the code of a language that only some of its people speak; "": that of the society.
    """
    return Banks(society, spoken)


@cache
def topic_bank(slug: str) -> TopicBank | None:
    """Return the bank of a topic as records name it (`racism`, `germany/tempolimit`); None where there is none."""
    society = slug.rpartition("/")[0] or US
    return None if slug.endswith(".toml") else banks(society).topics.get(slug)


def _merged(base: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return two tables as a single one, key by key; `other` wins."""
    both = {
        key: _merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
        for key, value in other.items()
    }
    return {**base, **both}


def _whole_words(words: Sequence[str]) -> re.Pattern[str]:
    longest = sorted(words, key=len, reverse=True)
    return _compiled(rf"\b(?:{'|'.join(map(re.escape, longest))})\b")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)


def changes_of(listed: Iterable[Sequence[str]], flags: int = re.I) -> Changes:
    """Return pairs [pattern, replacement] as changes."""
    return tuple([(re.compile(pattern, flags), form) for pattern, form in listed])


def changed(text: str, changes: Changes) -> str:
    """Return a text after changes, in their order.

    >>> changed("It cannot.", changes_of([["cannot", "can not"]]))
    'It can not.'
    """
    for pattern, form in changes:
        text = pattern.sub(form, text)
    return text


def _load_topic(slug: str, raw: dict[str, Any], path: Path, retold: Mapping[str, float]) -> TopicBank:
    check_topic_file(raw, path)
    slots, templates = raw.get("slots", {}), raw["grades"]
    return TopicBank(
        slug=slug,
        title=raw["title"],
        recognise=tuple(raw["recognise"]),
        stance=raw["stance"],
        labels=tuple(raw["labels"]),
        propositions={entry["phrase"]: entry["direction"] for entry in raw["propositions"]},
        by_grade={grade: tuple(tuple(expand(form, slots)) for form in templates[f"g{grade}"]) for grade in GRADES},
        fillers=tuple(itertools.chain.from_iterable(slots.values())),
        retold=retold,
    )


def first_phrase(text: str, phrases: dict[str, Iterable[str]]) -> str | None:
    """Return the name whose phrase comes first in a text; where two start together, the one with the longer phrase."""
    lower = text.lower()
    places = [
        (lower.find(phrase), -len(phrase), name)
        for name, name_phrases in phrases.items()
        for phrase in name_phrases
        if phrase in lower
    ]
    return min(places)[2] if places else None


def unknown_sentence(text: str) -> Reply:
    """Return the named failure of a text that holds no sentence of the banks."""
    return Reply.failed("no_known_sentence", text[:120])
