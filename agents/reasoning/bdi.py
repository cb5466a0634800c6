"""bdi: belief, desire and intention before every utterance.

Source: POSIM (2025), whose agents keep belief, desire and intention; the architecture is Bratman's (1987). Departures: one
request for all three; the intention ends in a reply (theirs in the actions of a social medium); the state is text, no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.agents.reasoning.base import Note, labelled_parts
from parley.agents.topic import PROMPTS
from parley.llm.prompts import prompt


@dataclass(frozen=True)
class BeliefDesireIntention:
    """Three labelled sentences."""

    name = "bdi"
    tokens = 150

    def ask(self, frame: str) -> str:
        return prompt(PROMPTS, "think_bdi").fill(frame=frame)

    def read(self, text: str) -> Note:
        """The three parts in one line; a reply that lacks one, or has one twice, is no note."""
        return labelled_parts(text, ("Belief", "Desire", "Intention"))
