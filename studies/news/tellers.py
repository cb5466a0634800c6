"""The agent of a story: it gets a version of the story, and writes its own.

The instruction has the version that it got, so that the prompt has it whatever the agent forgets. A bystander reads
what it gets, and passes nothing on.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from parley.agents.language import Language, language_of_study
from parley.llm.prompts import Template
from parley.llm.purposes import Facts
from parley.model.agent_factory import NetworkSeat
from parley.model.events.texts import RETELLING

BYSTANDER = "bystander"
"""The role of those who pass nothing on."""


class StoryFacts(Facts, total=False):
    """What a prompt to pass a story on states."""

    corrected: bool  # whether the person has heard a line from outside


def own_words(language: Language) -> Language:
    """Return the prompts and short texts of the study in a language."""
    return language_of_study(language, Path(__file__).parent)


class Version(NamedTuple):
    """A version of a story as an agent gets it: from whom, and its text."""

    name: str
    text: str


class Storyteller(NetworkSeat):
    """An agent who gets a story and passes it on."""

    got: Version | None = None
    corrected = False
    """Whether the agent has read a line from outside about the story."""

    @staticmethod
    def about(language: Language) -> Template:
        return own_words(language).prompt("story")

    @property
    def passes_on(self) -> bool:
        """Whether it writes a version of its own."""
        return self.character.role.partition("+")[0] != BYSTANDER

    def receive(self, version: Version) -> None:
        """Get a version. Who passes nothing on remembers it; others have it before them when they write."""
        self.got = version
        self._facts |= StoryFacts(source=version.text, corrected=self.corrected)
        if not self.passes_on:
            self.hear(*version)

    def hear_outside(self, name: str, text: str, form: str, value: float | None = None) -> None:
        self.corrected = True
        super().hear_outside(name, text, form, value)

    def instruction(self, form: str) -> str:
        if form != RETELLING or self.got is None:
            return super().instruction(form)
        slots = {"name": self.got.name, "text": self.got.text, "words": self.style.words}
        return own_words(self.topic.language).prompt(RETELLING).fill(**slots)
