"""random_opinion: the opinion of one member, drawn at random, word for word.

The revision repeats the draft. This is the only mediator with which the members read what one of them wrote.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from parley.agents.mediators.base import Mediator, MediatorBrief, Seed, Statement
from parley.llm.driver import Conversation, ask_all


@dataclass(frozen=True)
class RandomOpinion(Mediator):
    """See the module's manual page."""

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        yield from ask_all(())
        if brief.previous is not None:
            return Statement(brief.previous)
        opinions = [member.opinion for member in brief.members if member.opinion is not None]
        if not opinions:
            return Statement(None, "no_opinions")
        return Statement(random.Random(seed("lot")).choice(opinions))
