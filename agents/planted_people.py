"""People made without a model: of a party that has none, and people whose position on a topic is known.

People whose position on a topic is known: their persona states it in a sentence of agents/languages/<code>/planted.toml.

A model that plays people has to answer by that sentence. The persona says nothing else about the topic, and no party. One wording
uses the words of the survey, the other one different words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from parley.agents.datafiles import require_section
from parley.agents.language import Language
from parley.agents.topic import Topic
from parley.llm.errors import UserError
from parley.llm.seeding import stream

VARIANTS: tuple[dict[str, Any], ...] = ({"gender": "male"}, {"gender": "female"}, {"age": 21}, {"age": 35}, {"age": 67})
"""The variants of people in the UCL study (002, 3.1)."""
NAMES = 3
"""Names of the people of the set `simple`."""


def plain_people(names: Sequence[str], person: str, language: Language) -> list[dict[str, Any]]:
    """Return an entry of a persona file for each name: who it is, and the description of its party's people.

    >>> from parley.agents.language import ENGLISH
    >>> plain_people(["Ann"], "a voter of the Green Party", ENGLISH)
    [{'name': 'Ann', 'backstory': 'You are Ann. You are a voter of the Green Party.'}]
    """
    return [{"name": name, "backstory": language.fill("plain_person", name=name, person=person)} for name in names]


def people_in_variants(names: Sequence[str], person: str, language: Language) -> list[dict[str, Any]]:
    """Return entries for the first names, without and with each of the VARIANTS (every set but `voters`)."""
    first = list(names)[:NAMES]
    varied = [
        {"name": name, **variant, "backstory": _varied(name, person, variant, language)}
        for variant in VARIANTS
        for name in first
    ]
    return [*plain_people(first, person, language), *varied]


def _varied(name: str, person: str, variant: dict[str, Any], language: Language) -> str:
    trait = language.words(variant["gender"]) if "gender" in variant else language.fill("age", age=variant["age"])
    return language.fill("plain_person", name=f"{name}, {trait}", person=person)


FILE = "planted"
WORDINGS = ("survey words", "other words")


class PlantedPerson(NamedTuple):
    """A person, and what its persona states.

    topic    slug of the topic
    wording  one of WORDINGS
    level    place of the position from the low end of the topic's axis (0) to the high end (3); None: it states none
    name     its first name, the same at all levels of a topic and a wording
    person   who it is, in a sentence
    view     the position, in a sentence; "" for none
    """

    topic: str
    wording: str
    level: int | None
    name: str
    person: str
    view: str = ""

    @property
    def backstory(self) -> str:
        """The system message."""
        return f"{self.person} {self.view}".strip()

    @property
    def block(self) -> str:
        """Topic and wording: people of a block differ in the stated position and in nothing else."""
        return f"{self.topic}, {self.wording}"


def planted_people(topic: Topic, seed: int, stated: bool = True) -> list[PlantedPerson]:
    """Return the people of each wording, from the low end of the axis to the high end.

    stated: without it, one person of each wording who states no position. Errors: UserError for a topic on an axis for which the
    language has no sentences.

    >>> from parley.agents.topic import load_topic
    >>> planted_people(load_topic("racism"), 0)[3].backstory.partition(". ")[2]
    'In your view, racism is a very big problem.'
    """
    language, where = topic.language, f"{FILE}.toml of the language {topic.language.code}"
    entries = dict(language.data(FILE))
    if topic.axis not in entries:
        axes = ", ".join(name for name in entries if isinstance(entries[name], dict))
        raise UserError(
            f"no person can have a known position on {topic.slug}: {where} has sentences for {axes}, but not for {topic.axis}"
        )
    forms = require_section(entries, topic.axis, where)
    names = _names(topic)
    people = []
    for wording, sentence, levels in zip(WORDINGS, forms["sentences"], forms["levels"], strict=True):
        name = stream(seed, FILE, topic.slug, wording).choice(names)
        person = str(entries["person"]).format(name=name, country=language.country(topic.society.country))
        for level in range(len(levels)) if stated else (None,):
            view = (
                "" if level is None else sentence.format(title=topic.title, heading=topic.heading, level=levels[level])
            )
            people.append(PlantedPerson(topic.slug, wording, level, name, person, view))
    return people


def _names(topic: Topic) -> list[str]:
    """Return the first names of the society's people, sorted. Errors: UserError where it has none."""
    names = sorted({name for party in topic.society.names.values() for name in party})
    if not names:
        raise UserError(f"the society {topic.society.name} has no first names: add names = [...] to a file in parties/")
    return names
