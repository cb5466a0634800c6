"""latent: the own stance and feeling before every utterance.

Source: HumanLM (2025), which writes latent states (belief, emotion and others) before what a person says, and trains a model to
write them. Departures: two of the states; nothing is trained.
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.agents.reasoning.base import Note, labelled_parts
from parley.agents.topic import PROMPTS
from parley.llm.prompts import prompt


@dataclass(frozen=True)
class Latent:
    """Two labelled sentences."""

    name = "latent"
    tokens = 100

    def ask(self, frame: str) -> str:
        return prompt(PROMPTS, "think_latent").fill(frame=frame)

    def read(self, text: str) -> Note:
        """Both parts in one line; a reply that lacks one, or has one twice, is no note."""
        return labelled_parts(text, ("Stance", "Feeling"))
