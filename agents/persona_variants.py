"""Writes two sets of personas: `enhanced`, with variants by gender and age (UCL study, 3.1 and A.3), and `twins`.

Enhanced personas have about 100 words. Their slots are the study's: identity, family and place, history, beliefs,
conflict, news. The wording of both prompts is our own (prompts/persona_enhanced.txt, persona_variant.txt). Departures:
the debated topics stay out, because a stated view would settle the debate; there are three personas per leaning
(theirs: one), so that a party can meet itself.

Variants of the enhanced set differ in whole sentences. In `twins` a man and a woman have the same text except for the words
that say so in the first sentence: one word in English, article, noun and pronoun in German (sentences.toml of the language).
There are many people per party (twenty in `us`), so the person can be the unit of a comparison (studies/structured/README.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from parley.agents.datafiles import build_from_table, save_text
from parley.agents.language import Language
from parley.agents.persona import PEOPLE, Persona
from parley.agents.persona_generator import (
    check_unused,
    is_valid_backstory,
    names_party,
    persona_rows,
    sentences_of,
    validation_error,
)
from parley.agents.planted_people import VARIANTS
from parley.agents.society import Society
from parley.agents.topic import Topic, load_topic, society_topics
from parley.llm.driver import Conversation, drive
from parley.llm.errors import UserError, unknown_name
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive

TOKENS = 300
SHORTEST, LONGEST = 60, 140
"""Words of a persona; the prompt asks for 100."""


@dataclass(frozen=True)
class VariantRecipe:
    """What the prompt says about all personas of a party (`enhanced` in its file)."""

    names: list[str]
    twins: list[str]
    alignment: str
    leaning: str
    location: str
    news: str


def recipe(party: str, society: Society) -> VariantRecipe:
    """Return the recipe of a party. Errors: UserError on a party without one, or a society without any."""
    recipes = {name: party_data.enhanced for name, party_data in society.parties.items() if party_data.enhanced}
    if not recipes:
        raise UserError(
            f"no party of {society.name} has a table [enhanced] with instructions to the writer: add one (docs/societies.md)"
        )
    if party not in recipes:
        raise unknown_name("party with a table [enhanced]", party, recipes)
    return build_from_table(VariantRecipe, recipes[party], f"enhanced in parties/{party}.toml")


def write_enhanced(party: str, folder: Path, backend: Backend, model: str, seed: int, society: Society) -> Path:
    """Write `<folder>/<party>.toml`: every name, then its variants. Errors: UserError if the file exists."""
    path = check_unused(folder, party)
    plain = invented_person(party, recipe(party, society).names, backend, seed, society)
    pairs = [(person, replace(person, **traits)) for traits in VARIANTS for person in plain]
    stories = drive([request_variant(person.backstory, other, seed, society) for person, other in pairs], backend)
    people = [*plain, *_told([other for _, other in pairs], stories)]
    head = f"# Enhanced personas ({party}), written by {model} to the prompts persona_enhanced.txt and persona_variant.txt\n"
    return save_text(path, head + "# (python run.py study personas --set enhanced).\n" + persona_rows(people))


def invented_person(party: str, names: Sequence[str], backend: Backend, seed: int, society: Society) -> list[Persona]:
    """Return a new person for each name, without gender or age. Errors: UserError, see `is_valid_backstory`."""
    blank = [Persona("", party, name, "") for name in names]
    return _told(blank, drive([request_persona(person, seed, society) for person in blank], backend))


def _told(people: list[Persona], stories: list[str]) -> list[Persona]:
    return [replace(person, backstory=story) for person, story in zip(people, stories, strict=True)]


def request_persona(person: Persona, seed: int, society: Society) -> Conversation[str]:
    """Return the backstory of a new person, after a conversation. Errors: UserError, see `is_valid_backstory`."""
    kind = recipe(person.party, society)
    slots = {"name": person.name, "leaning": kind.leaning, "location": kind.location, "news": kind.news}
    about = {"alignment": kind.alignment, "demonym": society.demonym, "topics": _debated(society)}
    text = society.language.filled("persona_enhanced", **slots, **about)
    return _asked(text, person, seed, "persona", cast(Facts, slots), society)


def request_variant(backstory: str, person: Persona, seed: int, society: Society) -> Conversation[str]:
    """Return a backstory rewritten for the gender or age of `person`, after a conversation. Errors: as `request_persona`."""
    word, form = _word(person, society.language), "gendered" if person.gender else "aged"
    who = variant_words(society.language, form).format(word=word, age=person.age)
    slots = {"persona": backstory, "who": who, "word": word, "topics": _debated(society)}
    text = society.language.filled("persona_variant", **slots)
    return _asked(text, person, seed, "persona_variant", {"persona": backstory, "variant": word}, society)


def _asked(text: str, person: Persona, seed: int, purpose: str, facts: Facts, society: Society) -> Conversation[str]:
    word = _word(person, society.language)

    def compose(attempt: int) -> Request:
        attempt_seed = derive(seed, "enhanced", person.party, person.name, word, attempt)
        return Request((Message("user", text),), Sampling(1.0, TOKENS), attempt_seed, (), purpose, facts=facts)

    who = f"{person.name} ({' '.join([person.party, word]).strip()})"
    return is_valid_backstory(compose, lambda reply: variant_problem(reply, person, society), who)


def variant_problem(reply: Reply, person: Persona, society: Society) -> str | None:
    """Return what is wrong with a reply as the backstory of this person, or None."""
    text, language = reply.text or "", society.language
    first, words, word = sentences_of(text)[0], len(text.split()), _word(person, language)
    genders = [variant_words(language, gender) for gender in PEOPLE]
    stated = {gender for gender in genders if re.search(rf"\b{gender}\b", first, re.I)}
    stated |= {variant_words(language, "age").format(age=age) for age in re.findall(r"\b\d\d\b", first)}
    if wrong := validation_error(reply, person.name, language):
        return wrong
    if not SHORTEST <= words <= LONGEST:
        return f"has {words} words, not {SHORTEST} to {LONGEST}"
    if stated != ({word} - {""}):
        return f"does not state {word or 'neither gender nor age'} in its first sentence, and that alone"
    if not names_party(text, person.party, society):
        return "does not name the party"
    topics = map(load_topic, society_topics(society))
    named = [topic for topic in topics if _named(topic).lower() in text.lower()]
    return f"names {named[0].title}, which is debated" if named else None


def _word(person: Persona, language: Language) -> str:
    """Return the words of a variant: man, woman, 21-year-old; empty for a person without one."""
    if person.gender:
        return variant_words(language, person.gender)
    return variant_words(language, "age").format(age=person.age) if person.age else ""


def variant_words(language: Language, name: str) -> str:
    """Return an entry of [variants] in sentences.toml. Errors: UserError if it is missing.

    >>> from parley.agents.language import ENGLISH
    >>> variant_words(ENGLISH, "female")
    'woman'
    """
    variants = language.entry("variants")
    if name not in variants:
        raise UserError(
            f"[variants] in sentences.toml of the language {language.code} lacks {name}: copy and translate the English line"
        )
    return str(variants[name])


def _named(topic: Topic) -> str:
    """Return the title of a topic without the words before it: partial-birth abortions, Klimawandel."""
    before = topic.language.entry("before_topic")
    return next((topic.title.removeprefix(word) for word in before if topic.title.startswith(word)), topic.title)


def _debated(society: Society) -> str:
    return ", ".join(_named(load_topic(slug)) for slug in society_topics(society))


def write_twins(party: str, folder: Path, backend: Backend, model: str, seed: int, society: Society) -> Path:
    """Write `<folder>/<party>.toml`: each person, then as men, then as women. Errors: UserError if the file exists."""
    path = check_unused(folder, party)
    plain = invented_person(party, recipe(party, society).twins, backend, seed, society)
    people = [*plain, *[gender_twin(person, gender, society) for gender in PEOPLE for person in plain]]
    head = f"# Twins ({party}), written by {model} to the prompt persona_enhanced.txt; a man and a woman differ in gender alone\n"
    return save_text(path, head + "# (python run.py study personas --set twins).\n" + persona_rows(people))


def gender_twin(person: Persona, gender: str, society: Society) -> Persona:
    """Return the person as a man or a woman. Errors: UserError if the first sentence lacks the words of [twins].

    >>> from parley.agents.society import load_society
    >>> sam = Persona("", "default", "Sam", "You are Sam, an American. You read.")
    >>> gender_twin(sam, "female", load_society("us")).backstory
    'You are Sam, an American woman. You read.'
    """
    (needed, form), *others = society.language.entry("twins")[gender]
    demonym, first = society.demonym, sentences_of(person.backstory)[0]
    gendered, replaced = re.subn(
        needed.format(demonym=re.escape(demonym)), form.format(demonym=demonym), first, count=1
    )
    if not replaced:
        raise UserError(
            f"the first sentence of {person.name} ({person.party}) lacks the words "
            f"{needed.format(demonym=demonym)!r}, which the gender replaces: use these words in the leaning in "
            "[enhanced] of the party's file"
        )
    for pattern, other in others:
        gendered = re.sub(pattern, other, gendered, count=1)
    return replace(person, gender=gender, backstory=person.backstory.replace(first, gendered, 1))
