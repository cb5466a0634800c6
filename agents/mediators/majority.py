"""majority: a baseline without a model. The statement is the question's declarative form or its negation.

It takes the side with more position scores (above or below 4); an even split is decided by lot. The revision repeats
the draft.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from parley.agents.mediators.base import Mediator, MediatorBrief, Seed, Statement
from parley.llm.driver import Conversation, ask_all

NEUTRAL = 4


@dataclass(frozen=True)
class Majority(Mediator):
    """See the module's manual page."""

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        yield from ask_all(())
        if brief.previous is not None:
            return Statement(brief.previous)
        positions = [member.position for member in brief.members if member.position is not None]
        if not positions:
            return Statement(None, "no_positions")
        ahead = sum((position > NEUTRAL) - (position < NEUTRAL) for position in positions)
        yes = ahead > 0 if ahead else random.Random(seed("lot")).random() < 0.5
        return Statement(brief.question.statement if yes else brief.question.against)
