"""What an ability is, and how a note in labelled parts is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from parley.agents.reply_cleaning import is_refusal

INSIGHTS = 3
_MARK = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s*")


class Note(NamedTuple):
    """What an agent keeps to itself: one line, or None and the reason why there is none."""

    text: str | None
    reason: str | None = None


class Ability(Protocol):
    """One question before every utterance, put on a copy of what is remembered. Stateless: the agent keeps the note.

    The note stands before what the utterance is asked for, and before this question the next time; it is never remembered as
    something said, and nobody else reads it.
    """

    @property
    def name(self) -> str:
        """Its module's name: the purpose of its requests and of what is recorded."""

    @property
    def tokens(self) -> int:
        """The longest answer."""

    def ask(self, frame: str) -> str:
        """The question. frame: debate, conversation."""

    def read(self, text: str) -> Note:
        """The note in a reply."""


def plain_note(text: str) -> Note:
    """A reply as a note of one line; nothing of an empty one or a refusal."""
    line = " ".join(text.split())
    if not line:
        return Note(None, "empty")
    return Note(None, "refusal") if is_refusal(line) else Note(line)


def labelled_parts(text: str, labels: Sequence[str]) -> Note:
    r"""A reply in labelled parts as one line. Each label stands there once, in any order, and says something.

    >>> labelled_parts("**Desire:** to win.\nBelief: It is bad.", ("Belief", "Desire")).text
    'Belief: It is bad. Desire: to win.'
    >>> labelled_parts("Belief: yes.", ("Belief", "Desire")).reason
    'no_desire'
    """
    if is_refusal(text):
        return Note(None, "refusal")
    _, *found = _labels(tuple(labels)).split(text)
    said: dict[str, list[str]] = {label: [] for label in labels}
    for label, part in zip(found[::2], found[1::2], strict=True):
        said[label.capitalize()].append(" ".join(part.strip("*_# \n").split()))
    for label, told in said.items():
        if len(told) != 1 or not told[0]:
            return Note(None, f"{'several' if len(told) > 1 else 'no'}_{label.lower()}")
    return Note(" ".join(f"{label}: {told[0]}" for label, told in said.items()))


def read_insights(text: str) -> Note:
    r"""Up to INSIGHTS lines of a reply, without list numbers and lines that only introduce them; None where there are none.

    >>> read_insights("Here they are:\n1. Bob yields.\n\n- Cid does not.").text
    'Bob yields.\nCid does not.'
    """
    if is_refusal(text):
        return Note(None, "refusal")
    lines = [_MARK.sub("", line).strip() for line in text.splitlines()]
    told = [" ".join(line.split()) for line in lines if line and not line.endswith(":")][:INSIGHTS]
    return Note("\n".join(told)) if told else Note(None, "empty")


@lru_cache(maxsize=16)
def _labels(labels: tuple[str, ...]) -> re.Pattern[str]:
    """A label as models write it at the start of a line or behind a sentence: `Belief:`, `**Belief:**`, `2. BELIEF :`."""
    start = r"(?:(?:^|\n)[\s>•-]*(?:\d+[.)]\s*)?[*_#]*\s*|(?<=[.!?])\s+[*_]*)"
    return re.compile(rf"{start}({'|'.join(labels)})[*_]*\s*:[*_]*", re.I)
