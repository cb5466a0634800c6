"""The words around an answer to a closed question, in all languages: data in agents/languages/<code>/answers.toml."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.language import LANGUAGES


class AnswerWords(NamedTuple):
    """Alternations of regular expressions, and patterns that are made of them.

    others     what follows in its clause is what other people say
    elsewhere  the same, or it is denied
    numbered   a noun before a number: "message #2"
    """

    cues: str
    leads: str
    nouns: str
    tails: str
    reasons: str
    marks: str
    alternatives: str
    denied: re.Pattern[str]
    others: re.Pattern[str]
    elsewhere: re.Pattern[str]
    numbered: re.Pattern[str]


@cache
def answer_words() -> AnswerWords:
    """Return the words of all languages, because a model may answer in another language than that of the question."""
    tables = [read_toml(path) for path in sorted(LANGUAGES.glob("*/answers.toml"))]

    def either(name: str) -> str:
        return "|".join(word for table in tables for word in table[name])

    def whole(pattern: str) -> re.Pattern[str]:
        return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.I)

    denials, others = either("denials"), either("others")
    numbered = re.compile(rf"(?<![\w-])(?:{either('nouns')}|posts) ?#?(?=\d)|#(?=\d)", re.I)
    return AnswerWords(
        cues=either("cues"),
        leads=either("leads"),
        nouns=either("nouns"),
        tails=either("tails"),
        reasons=either("reasons"),
        marks=either("marks"),
        alternatives=either("alternatives"),
        denied=whole(denials),
        others=whole(others),
        elsewhere=whole(f"{denials}|{others}"),
        numbered=numbered,
    )
