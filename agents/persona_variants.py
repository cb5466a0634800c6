"""Writes two sets of personas: `enhanced`, with variants by gender and age (UCL study, 3.1 and A.3), and `twins`.

Enhanced personas have about 100 words. Their slots are the study's: identity, family and place, history, beliefs,
conflict, news. The wording of both prompts is our own (prompts/persona_enhanced.txt, persona_variant.txt). Departures:
the debated topics stay out, because a stated view would settle the debate; there are three personas per leaning
(theirs: one), so that a party can meet itself.

Variants of the enhanced set differ in whole sentences. In `twins` a man and a woman have the same text except for that
one word, and there are twenty people per party, so that the person can be the unit of a comparison
(docs/structured.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from parley.agents.datafiles import build_from_table, save_text
from parley.agents.persona import PEOPLE, Persona
from parley.agents.persona_generator import (
    check_unused,
    is_valid_backstory,
    names_party,
    persona_entry,
    validation_error,
)
from parley.agents.society import Society
from parley.agents.topic import load_topic, society_topics
from parley.llm.driver import Conversation, drive
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive

TOKENS = 300
SHORTEST, LONGEST = 60, 140
"""Words of a persona; the prompt asks for 100."""
VARIANTS: tuple[dict[str, Any], ...] = ({"gender": "male"}, {"gender": "female"}, {"age": 21}, {"age": 35}, {"age": 67})


@dataclass(frozen=True)
class VariantRecipe:
    """What the prompt says about all personas of a party (enhanced.toml of the society)."""

    names: list[str]
    twins: list[str]
    alignment: str
    leaning: str
    location: str
    news: str


def recipe(party: str, society: Society) -> VariantRecipe:
    """Return the recipe of a party. Errors: UserError on a party without one, or a society without any."""
    known = society.read("enhanced.toml")
    if party not in known:
        raise unknown_name("party", party, known)
    return build_from_table(VariantRecipe, known[party], f"{party} of enhanced.toml")


def write_enhanced(party: str, folder: Path, backend: Backend, model: str, seed: int, society: Society) -> Path:
    """Write `<folder>/<party>.toml`: every name, then its variants. Errors: UserError if the file exists."""
    path = check_unused(folder, party)
    plain = invented_person(party, recipe(party, society).names, backend, seed, society)
    asked = [(one, replace(one, **traits)) for traits in VARIANTS for one in plain]
    stories = drive([request_variant(one.backstory, other, seed, society) for one, other in asked], backend)
    people = [*plain, *_told([other for _, other in asked], stories)]
    head = f"# Enhanced personas ({party}), written by {model} to the prompts persona_enhanced.txt and persona_variant.txt\n"
    return save_text(path, head + "# (python run.py personas --set enhanced).\n" + "".join(map(persona_entry, people)))


def invented_person(party: str, names: Sequence[str], backend: Backend, seed: int, society: Society) -> list[Persona]:
    """Return a new person for each name, without gender or age. Errors: UserError, see `is_valid_backstory`."""
    blank = [Persona("", party, name, "") for name in names]
    return _told(blank, drive([request_persona(one, seed, society) for one in blank], backend))


def _told(people: list[Persona], stories: list[str]) -> list[Persona]:
    return [replace(one, backstory=story) for one, story in zip(people, stories, strict=True)]


def request_persona(person: Persona, seed: int, society: Society) -> Conversation[str]:
    """Return the backstory of a new person, after a conversation. Errors: UserError, see `is_valid_backstory`."""
    kind = recipe(person.party, society)
    slots = {"name": person.name, "leaning": kind.leaning, "location": kind.location, "news": kind.news}
    about = {"alignment": kind.alignment, "demonym": society.demonym, "topics": _debated(society)}
    text = society.language.prompt("persona_enhanced").fill(**slots, **about)
    return _asked(text, person, seed, "persona", cast(Facts, slots), society)


def request_variant(backstory: str, person: Persona, seed: int, society: Society) -> Conversation[str]:
    """Return a backstory rewritten for the gender or age of `person`, after a conversation. Errors: as
    `request_persona`.
    """
    who = f"a {PEOPLE[person.gender]}" if person.gender else f"somebody aged {person.age}"
    slots = {"persona": backstory, "who": who, "word": _word(person), "topics": _debated(society)}
    text = society.language.prompt("persona_variant").fill(**slots)
    return _asked(text, person, seed, "persona_variant", {"persona": backstory, "variant": _word(person)}, society)


def _asked(text: str, person: Persona, seed: int, purpose: str, facts: Facts, society: Society) -> Conversation[str]:
    def compose(attempt: int) -> Request:
        own = derive(seed, "enhanced", person.party, person.name, _word(person), attempt)
        return Request((Message("user", text),), Sampling(1.0, TOKENS), own, (), purpose, facts=facts)

    who = f"{person.name} ({' '.join([person.party, _word(person)]).strip()})"
    return is_valid_backstory(compose, lambda reply: variant_problem(reply, person, society), who)


def variant_problem(reply: Reply, person: Persona, society: Society) -> str | None:
    """Return what is wrong with a reply as the backstory of this person, or None."""
    text = reply.text or ""
    first, words = re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0], len(text.split())
    stated = {word for word in PEOPLE.values() if re.search(rf"\b{word}\b", first, re.I)}
    stated |= {f"{age}-year-old" for age in re.findall(r"\b\d\d\b", first)}
    if wrong := validation_error(reply, person.name, society.language):
        return wrong
    if not SHORTEST <= words <= LONGEST:
        return f"has {words} words, not {SHORTEST} to {LONGEST}"
    if stated != ({_word(person)} - {""}):
        return f"does not state {_word(person) or 'neither gender nor age'} in its first sentence, and that alone"
    if not names_party(text, person.party, society):
        return "does not name the party"
    topics = map(load_topic, society_topics(society))
    named = [topic for topic in topics if topic.title.removeprefix("banning ") in text.lower()]
    return f"names {named[0].title}, which is debated" if named else None


def _word(person: Persona) -> str:
    """Return the word of a variant: man, woman, 21-year-old; empty for a person without one."""
    return PEOPLE.get(person.gender, f"{person.age}-year-old" if person.age else "")


def _debated(society: Society) -> str:
    return ", ".join(load_topic(slug).title.removeprefix("banning ") for slug in society_topics(society))


def write_twins(party: str, folder: Path, backend: Backend, model: str, seed: int, society: Society) -> Path:
    """Write `<folder>/<party>.toml`: each person, then as men, then as women. Errors: UserError if the file exists."""
    path = check_unused(folder, party)
    plain = invented_person(party, recipe(party, society).twins, backend, seed, society)
    people = [*plain, *[gender_twin(one, gender, society.demonym) for gender in PEOPLE for one in plain]]
    head = f"# Twins ({party}), written by {model} to the prompt persona_enhanced.txt; a man and a woman differ in one word\n"
    return save_text(path, head + "# (python run.py personas --set twins).\n" + "".join(map(persona_entry, people)))


def gender_twin(person: Persona, gender: str, demonym: str) -> Persona:
    """Return the person as a man or a woman. Errors: UserError if the text lacks the demonym (American).

    >>> gender_twin(Persona("", "default", "Sam", "You are Sam, an American. You read."), "female", "American").backstory
    'You are Sam, an American woman. You read.'
    """
    if demonym not in person.backstory:
        raise UserError(
            f"the text of {person.name} ({person.party}) lacks the word {demonym}, which the gender would replace: "
            "add it to the text"
        )
    return replace(person, gender=gender, backstory=person.backstory.replace(demonym, f"{demonym} {PEOPLE[gender]}", 1))
