"""Understands replies in other languages than English, as far as needed: refusals, and the words around a rating.

The words are data (agents/languages/<code>/reader.toml). A text is translated into the English words that the reader of
ratings knows, so its rules are the same in every language. Unknown words stay as they are and are not read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.language import LANGUAGES as FOLDER

ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBER = rf"(?:\d+(?:[.,]\d+)?|{'|'.join(ENGLISH)})"


class Language(NamedTuple):
    """Number words and further words with their English ones, and refusals. Each refusal contains one of the hints."""

    numbers: dict[str, str]
    number: re.Pattern[str]
    english: list[tuple[re.Pattern[str], str]]
    hints: list[str]
    refusals: list[re.Pattern[str]]
    declines: list[re.Pattern[str]]


def _read() -> list[Language]:
    languages = []
    for path in sorted(FOLDER.glob("*/reader.toml")):
        table = read_toml(path)
        numbers = {word: english for word, english in zip(table["numbers"], ENGLISH, strict=True) if word}
        words = [(re.compile(pattern.replace("NUMBER", _NUMBER)), english) for pattern, english in table["english"]]
        compiled = [[re.compile(pattern) for pattern in table[name]] for name in ("refusals", "declines")]
        whole = re.compile(rf"\b(?:{'|'.join(numbers)})\b")
        languages.append(Language(numbers, whole, words, table["hints"], *compiled))
    return languages


LANGUAGES = _read()


def in_english(text: str) -> str:
    """Translate the words around a rating in a plain lower-case text.

    >>> in_english("auf einer skala von 1 bis 11 würde ich 5 sagen"), in_english("sieben von elf")
    ("on a scale of 1 to 11 i'd say 5", 'seven out of eleven')
    """
    for language in LANGUAGES:
        for word in set(language.number.findall(text)):
            text = re.sub(rf"\b{word}\b", language.numbers[word], text)
    for language in LANGUAGES:
        for pattern, english in language.english:
            text = pattern.sub(english, text)
    return text


def replace_number_words(text: str) -> bool:
    """Return whether a plain lower-case text has a number word of another language."""
    return any(language.number.search(text) for language in LANGUAGES)


def refuses_elsewhere(text: str) -> bool:
    """Return whether a plain lower-case text in another language refuses to play a role."""
    return any(
        any(pattern.search(text) for pattern in language.refusals)
        for language in LANGUAGES
        if any(map(text.__contains__, language.hints))
    )


def declines_elsewhere(text: str) -> bool:
    """Return whether a plain lower-case text in another language refuses to give a rating."""
    patterns = (pattern for language in LANGUAGES for pattern in (*language.declines, *language.refusals))
    return any(pattern.search(text) for pattern in patterns)
