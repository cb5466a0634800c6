"""Where the speaker stands in whatever it takes part in, a debate on a topic that it knows or a private deliberation.

All on one measure: 0 at the low end of the axis (of the topic, or a firm no), 1 at the high end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parley.llm.backends.oracle.deliberation import HIGH, LOW, bank, now, read, statements
from parley.llm.backends.oracle.dynamics import dither
from parley.llm.backends.oracle.phrases import topics
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.request import Reply

if TYPE_CHECKING:
    from parley.llm.backends.oracle.backend import Oracle

LOST = 0.3
"""The gap beyond which it disagrees."""


class Standing(NamedTuple):
    """`share` is where it stands, `line` the sentence that says it, `unread` counts lines not understood."""

    share: float
    line: str
    unread: int

    @property
    def conviction(self) -> float:
        """How far from the middle: 0.5 there, 1 at either end."""
        return max(self.share, 1 - self.share)

    @property
    def notes(self) -> dict[str, int]:
        return {"unread": self.unread} if self.unread else {}


def standing(reading: Reading, oracle: Oracle) -> Standing | None:
    """Its own, by the planted law; None where the conversation is about nothing that it knows."""
    issue = reading.facts.get("issue")
    if issue is not None:
        share = (now(reading.persona, issue, statements(reading), oracle.pull) - LOW) / (HIGH - LOW)
        return Standing(share, said_line(reading, share), 0)
    if reading.topic is None:
        return None
    value, unread = oracle.attitude(reading)
    return Standing(value / 10, said_line(reading, value / 10), unread)


def said_line(reading: Reading, share: float) -> str:
    """The sentence that says where somebody stands, to the nearest point that has a word."""
    if "issue" in reading.facts:
        stance = bank()["stances"][str(dither(LOW + share * (HIGH - LOW), 1, None))]
        line = bank()["said"]["own"][0].format(stance=stance)
        return f"{line[0].upper()}{line[1:]}."
    return topics()[reading.topic or ""].stance_sentence(dither(10 * share, 1, None))


def share_of(reading: Reading, text: str) -> float | None:
    """Where a text stands; None when nothing in it is known."""
    issue = reading.facts.get("issue")
    if issue is not None:
        stance = read(text, issue).stance
        return None if stance is None else (stance - LOW) / (HIGH - LOW)
    grade = topics()[reading.topic].grade(text) if reading.topic else None
    return None if grade is None else grade / 10


def apart(reading: Reading, oracle: Oracle) -> float | None:
    """How far from where it stands what was heard last is, 0 to 1; None when nothing was heard, or nothing that could be read."""
    own, other = standing(reading, oracle), share_of(reading, reading.heard[-1][1]) if reading.heard else None
    return None if own is None or other is None else abs(own.share - other)


def unknown(reading: Reading) -> Reply:
    """The named failure of a question about nothing that it knows."""
    return Reply.failed("unknown_ask", reading.ask[:120])


def too_few_words(reading: Reading) -> Reply:
    """The named failure of a length in which nothing can be said."""
    return Reply.failed("too_few_words", f"no sentence of at most {reading.words} words is known")


def fitted(parts: list[tuple[int, str]], words: int) -> str:
    """The sentences that fit into the words asked for, what matters most first, in their own order; "" when none does."""
    room, kept = words, set[int]()
    for _, place in sorted((rank, place) for place, (rank, _) in enumerate(parts)):
        length = len(parts[place][1].split())
        if length <= room:
            kept.add(place)
            room -= length
        elif not kept:
            return ""
    return " ".join(text for place, (_, text) in enumerate(parts) if place in kept)
