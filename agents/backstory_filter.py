"""Whether generated personas are believable: length, age against work and family, and sentences that many have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from parley.agents.datafiles import HERE, read_toml
from parley.llm.errors import UserError

SHARED = 0.25
"""In a set of personas fewer than this share of all sentences occur in more than one persona."""
_AGE = re.compile(r"\b(1[89]|[2-9]\d)\b(?! (?:years ago|years of|percent|hours|minutes|miles))")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Clash(NamedTuple):
    """`words` do not go with an age of `low` to `high` years, unless the text also has `unless`."""

    low: int
    high: int
    words: re.Pattern[str]
    unless: re.Pattern[str] | None
    why: str


def find_clash(text: str) -> str | None:
    """What cannot be true of one person, in words; None when nothing is found. A text without an age is not checked for it.

    >>> find_clash("Your name is Brenda, and at 73 you are a data analyst. You share a house with a college friend.")
    'is 73 and shares a home as students do'
    >>> find_clash("You are Ann, 24, and you share a house with a college friend.")
    """
    age = age_of(text)
    for one in _clashes():
        everywhere = (one.low, one.high) == (0, 120)
        if not everywhere and (age is None or not one.low <= age <= one.high):
            continue
        if one.words.search(text) and not (one.unless and one.unless.search(text)):
            return one.why if everywhere else f"is {age} and {one.why.removeprefix('is ')}"
    return None


def age_of(text: str) -> int | None:
    """The age that the first two sentences state: their first number from 18 to 99; None where there is none."""
    found = _AGE.search(" ".join(sentences_of(text)[:2]))
    return int(found[1]) if found else None


def length_problem(text: str, shortest: int, longest: int) -> str | None:
    """What is wrong with the number of words; None when nothing is."""
    words = len(text.split())
    return None if shortest <= words <= longest else f"has {words} words, not {shortest} to {longest}"


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, as they are."""
    return _SENTENCE.split(" ".join(text.split()))


def share_of_sentences(text: str, known: Collection[str]) -> float:
    """The share of the sentences of a text that are among `known` ones."""
    own = sentences_of(text)
    return sum(sentence in known for sentence in own) / len(own)


def shared_sentences(texts: Iterable[str]) -> float:
    """The share of all sentences of the texts that occur in more than one of them; 0 of no text.

    >>> shared_sentences(["You are Ann. You vote.", "You are Bob. You vote."])
    0.5
    """
    split = [sentences_of(text) for text in texts]
    texts_with = Counter(sentence for own in split for sentence in set(own))
    every: Sequence[str] = [sentence for own in split for sentence in own]
    return sum(texts_with[sentence] > 1 for sentence in every) / len(every) if every else 0.0


@cache
def _clashes() -> tuple[Clash, ...]:
    """Errors: UserError on an entry of clashes.toml that lacks something."""
    found = []
    for number, entry in enumerate(read_toml(HERE / "clashes.toml")["clash"], 1):
        try:
            unless = re.compile(entry["unless"], re.I) if "unless" in entry else None
            found.append(Clash(entry["from"], entry["to"], re.compile(entry["words"], re.I), unless, entry["why"]))
        except (KeyError, re.error) as error:
            raise UserError(f"clash {number} of clashes.toml needs from, to, words and why: {error}") from error
    return tuple(found)
