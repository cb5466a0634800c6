r"""Undresses the answer to a closed question: `{"rating": 7, "reason": "3 cases"}`, `\boxed{7}` and `7 points` are 7."""

from __future__ import annotations

import json
import re
from typing import Any

ANSWER_KEYS = ("rating", "answer", "score", "response", "value", "number", "choice")
"""The names under which a JSON object with several values has its answer: one of them, or nothing is guessed."""
_FENCE = re.compile(r"```(?:json)?\s*+(.*?)\s*+```", re.S)
_BOXED = re.compile(r"\$?\\boxed\{(?:\\text\{)?([^{}$\\]{1,200})\}{1,2}\$?")
_MATHS = re.compile(r"\\[()\[\]]")
_POINTS = re.compile(
    r"(?<=\d) (?:points?|punkte?n?|puntos?)(?=[.!]{0,3}(?:\n|$)|/| (?:out of|on (?:a|the|this) scale|because|sur|von|de)\b)"
)


def undressed(text: str) -> str:
    r"""Return a reply with its answer alone where it is a JSON object, and without the dress of formulas.

    >>> undressed('{"rating": 7, "reason": "I saw 3 cases"}'), undressed(r"So it is $\boxed{7}$.")
    ('7', 'So it is 7.')
    """
    if "{" not in text:
        return text
    return _MATHS.sub("", _BOXED.sub(r"\1", text)) if "\\boxed" in text else _answer_of(text)


def without_points(plain: str) -> str:
    """Return a plain lower-case text without the word points after a number that ends a clause: `7 points` is `7`.

    >>> without_points("7 points"), without_points("3 points: first")
    ('7', '3 points: first')
    """
    return _POINTS.sub("", plain)


def _answer_of(text: str) -> str:
    """Return the answer of a reply that is one JSON object and nothing else, or the reply."""
    fenced = _FENCE.fullmatch(text.strip("* \t\r\n"))
    try:
        values = json.loads(fenced[1] if fenced else text.strip("* \t\r\n`"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return text
    if not isinstance(values, dict):
        return text
    named = [values[key] for key in values if len(values) == 1 or key.lower() in ANSWER_KEYS]
    if len(named) != 1 or not isinstance(named[0], str | int | float | None):
        return text
    return "" if named[0] is None else str(named[0])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Errors: ValueError for a key that an object has twice: which of its values is meant cannot be told."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)
