"""The planted law of competing messages: how often a message is embellished, what an audience makes of it, how a judge errs.

A message states FACTS sentences of the text that it may state, and with the probability `embellish` one embellishment of the bank
(banks/<code>/competition.toml). A reader prefers the first of two messages with the probability

    logistic(craves * (embellishments of the first - of the second) + longer * log2(words of the first / of the second)
             + QUIRK * (noise of reader and first message - of second) + place)

with `longer`, `place` and QUIRK of persuasion_law.py. A judge's verdict is turned round with the probability `misjudges`.
"""

from __future__ import annotations

from typing import NamedTuple

from parley.llm.backends.oracle.persuasion_law import MOST
from parley.llm.errors import UserError

FACTS = 2
"""Sentences of the text in a message."""


class CompetitionLaw(NamedTuple):
    """The planted law; see the top of this file. craves: logits for each embellishment of a message."""

    embellish: float = 0.3
    craves: float = 0.0
    misjudges: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a probability that is none, and for logits beyond MOST."""
        if not (0 <= self.embellish <= 1 and 0 <= self.misjudges <= 1):
            raise UserError("oracle: embellish and misjudges must be from 0 to 1, as in oracle,embellish=0.5")
        if not abs(self.craves) <= MOST:
            raise UserError(f"oracle: craves must be a number from -{MOST:g} to {MOST:g}, as in oracle,craves=2")


RIVALS = CompetitionLaw()
"""The law unless other numbers are planted."""
