"""Steering: sentences of a persona that tell an agent how to debate, found by a list of words, and struck out.

The list is languages/<code>/steering.toml. Example: of "You are Alex, a local citizen. You are stubborn and never change your
mind." the first sentence is left. A finding that needs such sentences is one that its author wrote into the prompt.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from parley.agents.datafiles import read_toml
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.persona_generator import sentences_of
from parley.llm.errors import UserError

LIST, STRUCK = "steering", "struck"


def has_list(language: Language) -> bool:
    """Return whether a language has a list of steering words."""
    return _file(language).is_file()


def word_list(language: Language) -> Path:
    """Return the file with a language's list of steering words. Errors: UserError if there is none."""
    if not has_list(language):
        raise UserError(
            f"the language {language.code} has no list of steering words: add a file {LIST}.toml like the English file"
        )
    return _file(language)


def steering_sentences(text: str, language: Language) -> list[str]:
    """Return the sentences of a text that contain a steering word. Errors: UserError if the language has no list."""
    return [sentence for sentence in sentences_of(text) if _pattern(language).search(sentence)]


def strike(persona: Persona, language: Language) -> str:
    """Return a persona's backstory without its steering sentences. Errors: UserError if nothing is left, or without a list."""
    left = [sentence for sentence in sentences_of(persona.backstory) if not _pattern(language).search(sentence)]
    if persona.backstory and not left:
        raise UserError(
            f"steering=struck deletes every sentence of the persona {persona.name} of {persona.party}: add a first "
            "sentence that describes who the person is"
        )
    return " ".join(left)


def _file(language: Language) -> Path:
    return language.folder / f"{LIST}.toml"


@cache
def _pattern(language: Language) -> re.Pattern[str]:
    words = read_toml(word_list(language)).get("words")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise UserError(f'{LIST}.toml of the language {language.code} needs a list words = ["...", "..."]')
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})", re.IGNORECASE)
