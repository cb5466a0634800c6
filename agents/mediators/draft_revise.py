"""draft_revise: a prompt for the draft and a prompt for the revision.

The mediator of the study of digital representatives as it is described: one draft, one revision, the mediator itself a
black box. Its model there was fine-tuned, its prompts are not published; the wording is our own.

Options
    words   length of a statement that is asked for (100)
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from parley.agents.mediators.base import Mediator, MediatorBrief, Seed, Statement, load_instruction, request_texts
from parley.llm.driver import Conversation
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
        if not any(heard.opinion for heard in brief.members):
            return Statement(None, "no_opinions")
        text, facts = load_instruction(brief, self.words, random.Random(seed("order")))

        def request(_: int, attempt: int) -> Request:
            return brief.request(text, self.words * TOKENS_PER_WORD, seed("statement", attempt), "statement", facts)

        (found,) = yield from request_texts(request, 1)
        return Statement(found.text, found.reason, found.raw)
