"""The agent of a network: it hears some of the other agents, and may come to hear others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.agents.agent import Debater
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.speech import DebateStyle
from parley.agents.topic import Topic
from parley.llm.prompts import Template

NAMED = 5
"""The prompt has the names of the others if the agent hears no more than this."""
LATELY = 32
"""A reply may go on in the name of an agent who said one of so many last lines."""


class NetworkDebater(Debater):
    """An agent who hears some of the others. If it hears all of them, and they are few, it gets the same prompt as at a table."""

    @staticmethod
    def about(language: Language) -> Template:
        """Return the prompt that describes the network to it."""
        return language.prompt("network")

    def __init__(
        self,
        model: Any,
        persona: Persona,
        topic: Topic,
        hears: Sequence[str],
        people: int,
        changing: bool,
        style: DebateStyle,
        adapter: str = "",
        voice: str = "",
        about_others: str = "",
    ):
        """hears: the names that it hears at the start; people: how many take part; changing: it may come to hear others."""
        named = hears if len(hears) <= NAMED else ()
        if changing or len(named) < people - 1:
            told = describe_network(people, len(hears), changing, topic.language, self.about(topic.language))
            about_others = f"{told} {about_others}".strip()
        super().__init__(model, persona, topic, named, style, adapter, voice, about_others)
        self._lately = list(named)

    def hear(self, name: str, text: str, form: str = "reply") -> None:
        super().hear(name, text, form)
        self._lately.append(name)
        del self._lately[:-LATELY]

    def _tempting(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._lately))


def describe_network(people: int, heard: int, changing: bool, language: Language, about: Template) -> str:
    """Return the sentences that describe the network to an agent.

    >>> from parley.agents.language import ENGLISH
    >>> describe_network(60, 0, True, ENGLISH, NetworkDebater.about(ENGLISH))
    '60 people take part in all, and you hear none of them at first.'
    """
    at_first = language.words("at_first") if changing else ""
    return about.fill(people=people, number=heard or language.words("none"), at_first=at_first)
