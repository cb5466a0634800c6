"""Undresses the answer to a closed question: `{"rating": 7, "reason": "3 cases"}` and `\boxed{7}` are 7."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache
from typing import Any, NamedTuple

from parley.agents.datafiles import read_toml
from parley.agents.language import LANGUAGES

LONGEST = 20_000
"""Characters of an answer to a closed question. A longer reply (of a model that loops) is no answer: `too_long`."""
ANSWER_KEYS = frozenset({
    "rating", "answer", "final_answer", "score", "response", "value", "number", "choice", "option", "decision", "selection",
    "vote", "pick", "act", "action", "post", "ranking", "order", "antwort", "bewertung", "wahl", "respuesta", "réponse", "note",
})  # fmt: skip
"""The names under which a JSON object with several values has its answer: one of them, or nothing is guessed."""
ORDERED_KEYS = ("ranking", "order")
CALL_KEYS = ("arguments", "parameters", "input")
"""The names under which a call of a tool, written as JSON, has its arguments."""
MARK = "Final answer:"
"""What is written for any mark of a final answer, on a line of its own."""
_FENCE = re.compile(r"^[ \t]*```[ \t]*\w*[ \t]*$", re.M)
_BOXED = re.compile(r"\$*\\boxed\{(?:\\(?:text|textbf|mathbf|mathrm)\{)?([^{}$\\\n]{1,200})\}{1,2}\$*")
_MATHS = re.compile(r"\\[()\[\]]")
_TAGGED = re.compile(
    r"<(answer|final_answer|final|response|rating|choice|option|vote)>([^<>]{1,2000})</(?:answer|final_answer|final|response"
    r"|rating|choice|option|vote)>", re.I,
)  # fmt: skip
_TAG = re.compile(r"</?[a-zA-Z_]{1,20}>")
_RAISED = str.maketrans(dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "^"))  # or NFKC would read 7² as 72
_SAME = str.maketrans({"’": "'", "‐": "-", "−": "-", "`": " ", "。": ".", "、": ","})
_MARKDOWN = re.compile(r"\*+|\b_+|_+\b|\.{2,}")
_HAN = "零一二三四五六七八九十"
_HAN_NUMBER = re.compile(rf"(?:^|(?<=[:是为為选選打给給])) ?(?:([{_HAN}]|十[一二])|(\d{{1,3}})) ?分?(?=$|[.,!])", re.M)
"""A numeral in Chinese, or a number with the word for points, in the place of an answer."""


def undressed(text: str) -> str:
    r"""Return a reply with its answer alone where it is a JSON object, and with one mark for all marks of a final answer.

    >>> undressed('{"rating": 7, "reason": "I saw 3 cases"}'), undressed(r"I saw 3. So $\boxed{7}$").split("\n")
    ('7', ['I saw 3. So ', 'Final answer: 7', ''])
    """
    text = _FENCE.sub("", text) if "```" in text else text
    if "{" in text:
        text = _MATHS.sub("", _BOXED.sub(rf"\n{MARK} \1\n", text)) if "\\boxed" in text else _answer_of(text)
    return _TAG.sub(" ", _TAGGED.sub(rf"\n{MARK} \2\n", text)) if "<" in text else text


def tidy(text: str) -> str:
    """Return a text with plain spaces, digits, hyphens and apostrophes, without empty lines and emphasis.

    >>> tidy("**８**\\n\\n– ٧"), tidy("我打七分"), tidy("_Well_ ... no")
    ('8\\n– 7', '我打 7', 'Well no')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_RAISED)).translate(_SAME)
        text = re.sub(r"\d", lambda digit: str(unicodedata.decimal(digit[0])), text)
    lines = [" ".join(line.split()) for line in _MARKDOWN.sub(" ", text.replace("`", " ")).splitlines()]
    plain = "\n".join(filter(None, lines))
    return plain if plain.isascii() else _HAN_NUMBER.sub(_from_han, plain)


def _from_han(match: re.Match[str]) -> str:
    """Write a Chinese numeral from 0 to 12 in digits."""
    han = match[1] or ""
    number = match[2] or (10 + _HAN.index(han[1]) if len(han) > 1 else _HAN.index(han))
    return f" {number}" if match.start() else str(number)


def _answer_of(text: str) -> str:
    """Return the answer of a reply that is one JSON object, or the reply with the marks of its answers in place of its object."""
    start, end = text.find("{"), text.rfind("}") + 1
    try:
        answers = _answers_in(json.loads(text[start:end], object_pairs_hook=_Pairs))
    except (ValueError, RecursionError):
        return text
    before, after = text[:start].strip("* \t\r\n"), text[end:].strip("* \t\r\n")
    if len(answers) == 1 and not before and not after:
        return answers[0]
    return "\n".join([before, *(f"{MARK} {answer}" for answer in answers), after]) if answers else text


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object: of a key that it has twice both."""


def _answers_in(pairs: object) -> list[str]:
    """Return the answers in an object, "" for null; none where its values may be something else."""
    if not isinstance(pairs, _Pairs):
        return []
    for call in [value for key, value in pairs if key in CALL_KEYS]:
        inner = json.loads(call, object_pairs_hook=_Pairs) if isinstance(call, str) else call
        if isinstance(inner, _Pairs):
            return _answers_in(inner)
    answers = list[str]()
    for key, value in pairs:
        if len(pairs) == 1 or key.lower() in ANSWER_KEYS:
            values = value if type(value) is list else [value]
            if not all(isinstance(value, str | int | float | None) for value in values):
                return []
            texts = ["" if value is None else str(value) for value in values]
            answers += [" > ".join(texts)] if key.lower() in ORDERED_KEYS else texts
    return answers


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
