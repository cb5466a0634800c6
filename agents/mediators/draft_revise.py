"""draft_revise: one prompt for the draft and one for the revision.

This is the mediator of the study of digital representatives as it is described. Its model was fine-tuned and its
prompts are not published, so the wording is our own.

Options
    words   length of a statement that is asked for (100)
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from parley.agents.mediators.base import Mediator, MediatorBrief, Seed, Statement, load_instruction, request_texts
from parley.llm.driver import Conversation
from parley.llm.purposes import Facts
from parley.llm.request import Request

TOKENS_PER_WORD = 3


@dataclass(frozen=True)
class DraftRevise(Mediator):
    """See the module's manual page."""

    words: int = 100

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ValueError("words must be at least 1")

    def calls(self, members: int) -> int:
        return 1

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        if not any(member.opinion for member in brief.members):
            return Statement(None, "no_opinions")
        text, facts = self.instruction(brief, random.Random(seed("order")))

        def request(_: int, attempt: int) -> Request:
            return brief.request(text, self.words * TOKENS_PER_WORD, seed("statement", attempt), "statement", facts)

        (candidate,) = yield from request_texts(request, 1)
        return Statement(candidate.text, candidate.reason, candidate.raw)

    def instruction(self, brief: MediatorBrief, rng: random.Random) -> tuple[str, Facts]:
        """Return the prompt for a draft or a revision, and its facts. rng: of the order of the opinions."""
        return load_instruction(brief, self.words, rng)
