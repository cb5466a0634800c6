"""Other languages than English, as far as a reply has to be understood: refusals, and the words around a rating.

The words are data (languages.toml). A text is put into the English words that the reader of ratings knows, so that its
rules, and all that it refuses, are the same in every language; what is not known stays as it is, and is not read.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBER = rf"(?:\d+(?:[.,]\d+)?|{'|'.join(ENGLISH)})"


class Language(NamedTuple):
    """Number words with their English ones, further words, and refusals with a hint that stands in each."""

    numbers: dict[str, str]
    number: re.Pattern[str]
    english: list[tuple[re.Pattern[str], str]]
    hints: list[str]
    refusals: list[re.Pattern[str]]
    declines: list[re.Pattern[str]]


def _read() -> list[Language]:
    told = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
    found = []
    for one in told.values():
        numbers = {word: english for word, english in zip(one["numbers"], ENGLISH, strict=True) if word}
        words = [(re.compile(pattern.replace("NUMBER", _NUMBER)), english) for pattern, english in one["english"]]
        compiled = [[re.compile(pattern) for pattern in one[name]] for name in ("refusals", "declines")]
        whole = re.compile(rf"\b(?:{'|'.join(numbers)})\b")
        found.append(Language(numbers, whole, words, one["hints"], *compiled))
    return found


LANGUAGES = _read()


def in_english(text: str) -> str:
    """A plain text in lower case with the words around a rating in English.

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
    """Is there a number word of another language than English in a plain text in lower case?"""
    return any(language.number.search(text) for language in LANGUAGES)


def refuses_elsewhere(text: str) -> bool:
    """Does a plain text in lower case say, in another language than English, that its speaker steps out of its role?"""
    return any(
        any(pattern.search(text) for pattern in language.refusals)
        for language in LANGUAGES
        if any(map(text.__contains__, language.hints))
    )


def declines_elsewhere(text: str) -> bool:
    """Does it say, in another language than English, that no rating is given?"""
    patterns = (pattern for language in LANGUAGES for pattern in (*language.declines, *language.refusals))
    return any(pattern.search(text) for pattern in patterns)
