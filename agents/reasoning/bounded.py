"""bounded: a few words to oneself before every utterance.

Option: words (40), how many are asked for.

Source: "Solver-Sampler mismatch" (2025), which compares no, bounded and native reflection: `think=none`, this, and a model that
thinks by itself (recorded as `thought`). Departure: the bound is asked for in words, and held in tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.agents.reasoning.base import Note, plain_note
from parley.agents.topic import PROMPTS
from parley.llm.prompts import prompt


@dataclass(frozen=True)
class Bounded:
    """Free text; three tokens a word at the most."""

    words: int = 40
    name = "bounded"

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ValueError("words must be at least 1")

    @property
    def tokens(self) -> int:
        return 3 * self.words

    def ask(self, frame: str) -> str:
        return prompt(PROMPTS, "think_bounded").fill(frame=frame, words=self.words)

    def read(self, text: str) -> Note:
        return plain_note(text)
