"""People whose position on a topic is known: their persona states it in a sentence of agents/languages/<code>/planted.toml.

A model that plays people has to answer by that sentence. The persona says nothing else about the topic, and no party. One wording
uses the words of the survey, the other one different words.
"""

from __future__ import annotations

from typing import NamedTuple

from parley.agents.datafiles import require_section
from parley.agents.topic import Topic
from parley.llm.errors import UserError
from parley.llm.seeding import stream

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
            f"no person can be given a known position on {topic.slug}: {where} has sentences for {axes}, not for {topic.axis}"
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
