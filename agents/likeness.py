"""Are two sentences the same, and does one take a side? By words alone: a paraphrase in other words is not found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

ALIKE = 0.75
"""Share of words in common (Jaccard) from which two sentences are the same."""
_SIDED = re.compile(
    r"^(?:don't|isn't|aren't|shouldn't|wouldn't|doesn't|hasn't|haven't|can't|why (?:should|must|are|is|do|does|have|has)\b)"
    r"|\b(?:do you agree|wouldn't you|don't you|obviously|clearly|so-called|radical|extremist|disastrous|failed|corrupt|woke)\b",
    re.I,
)


def takes_a_side(question: str) -> bool:
    """Loaded words, or a form that asks for consent ("Don't you ...", "Why should ...")."""
    return _SIDED.search(question) is not None


def alike(one: str, other: str) -> bool:
    """At least ALIKE of their words in common; order, numbers and punctuation aside.

    >>> alike("Should zoos be banned?", "Should all zoos be banned?")  # 4 of 5
    True
    >>> alike("Should zoos be banned?", "Should guns be banned?")  # 3 of 5
    False
    """
    first, second = _words(one), _words(other)
    return len(first & second) >= ALIKE * len(first | second)


def twin(sentence: str, known: Iterable[str]) -> str | None:
    """The first of the known sentences that is the same; None when there is none."""
    return next((one for one in known if alike(sentence, one)), None)


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", text.lower()))
