"""The agent of a network: it hears some of the people who take part, and may come to hear others."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from parley.agents.agent import Debater, DebateStyle
from parley.agents.persona import Persona
from parley.agents.topic import PROMPTS, Topic
from parley.llm.prompts import prompt

NAMED, LATELY = 5, 32
"""Up to how many others are told by name; of who said one of so many lines heard last an agent might be tempted to
write some.
"""


class NetworkDebater(Debater):
    """`hears` are those whom it hears at the start, `people` how many take part, `changing` whether it may come to hear
    others.

    Where it hears everybody, and they are few, it is told what it would be told at a table.
    """

    def __init__(
        self,
        model: Any,
        persona: Persona,
        name: str,
        topic: Topic,
        hears: Sequence[str],
        people: int,
        changing: bool,
        manner: DebateStyle,
        adapter: str = "",
        voice: str = "",
        known: str = "",
    ):
        named = hears if len(hears) <= NAMED else ()
        told = [_told(people, len(hears), changing), known]
        everybody = len(named) == people - 1 and not changing
        super().__init__(
            model, persona, name, topic, named, manner, adapter, voice, known if everybody else " ".join(told).strip()
        )
        self._lately = deque(named, LATELY)

    def hear(self, name: str, text: str, form: str = "reply") -> None:
        self.memory.hear(name, text)
        self._lately.append(name)

    def _tempting(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._lately))


def _told(people: int, heard: int, changing: bool) -> str:
    """What is said of the network.

    >>> _told(60, 0, True)
    '60 people take part in all, and you hear none of them at first.'
    """
    slots = {"people": people, "number": heard or "none", "at_first": " at first" if changing else ""}
    return prompt(PROMPTS, "network").fill(**slots)
