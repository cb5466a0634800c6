"""Where the speaker stands in whatever it takes part in: a debate on a topic that it knows, or a private deliberation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llm.backends.oracle.asks.civic_speech import question_of, statements
from llm.backends.oracle.banks import topics
from llm.backends.oracle.civic import HIGH, LOW, bank, now
from llm.backends.oracle.mind import dither
from llm.backends.oracle.reading import Reading

if TYPE_CHECKING:
    from llm.backends.oracle.speaker import Oracle


class Standing(NamedTuple):
    """`share` is the attitude from 0 to 1 on its axis, `line` the sentence that says it, `unread` counts lines not understood."""

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
    question = question_of(reading)
    if question is not None:
        stands = now(reading.persona, question, statements(reading), oracle.pull)
        stance = bank()["stances"][str(dither(stands, 1, None))]
        return Standing((stands - LOW) / (HIGH - LOW), f"{bank()['said']['own'][0].format(stance=stance)}.", 0)
    if reading.topic is None:
        return None
    value, unread = oracle.attitude(reading)
    return Standing(value / 10, topics()[reading.topic].stance_sentence(dither(value, 1, None)), unread)
