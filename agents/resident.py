"""The agent of people who meet in several places: it talks at tables, posts in a network, writes to a mediator.

It has one memory. Where it begins to meet others, its prompt says so once (`enter`), and from then on it hears them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from parley.agents.agent import DebateAgent, Debater, describe_debate
from parley.agents.memory import Memory, make_memory
from parley.agents.network_agent import LATELY, NAMED, NetworkDebater, describe_network
from parley.agents.participant import Participant
from parley.agents.persona import Persona
from parley.agents.platform_agent import PlatformDebater
from parley.agents.probe import Probe
from parley.agents.speech import DebateStyle, Speech
from parley.agents.topic import Topic
from parley.agents.traits import Traits
from parley.llm.request import Reply, Request

PRIVATE = ("opinion", "critique")
"""The forms of what it writes for a mediator."""


class Company(NamedTuple):
    """Whom an agent meets in a place.

    others    the names of those whom it hears there at first
    people    how many people are there
    changing  whether it may come to hear others
    about     what it is told of the others; "": nothing
    """

    kind: Literal["table", "network", "medium", "mediated"]
    others: tuple[str, ...]
    people: int
    changing: bool = False
    about: str = ""

    def sentence(self, topic: Topic) -> str:
        """Return what an agent is told of this place where it is in others too."""
        language = topic.language
        if self.kind == "table":
            told = language.fill("at_table", names=language.join(self.others)) if self.others else ""
        elif self.kind == "mediated":
            told = language.fill("in_private", number=self.people, question=topic.question)
        else:
            told = describe_network(self.people, len(self.others), self.changing, language, self._prompt(topic))
        return f"{told} {self.about}".strip()

    def opening(self, persona: Persona, topic: Topic, style: DebateStyle) -> str:
        """Return the opening of an agent that is only in this place: the same as in an environment of this kind."""
        language = topic.language
        if self.kind == "mediated":
            return language.prompt("deliberation").fill(number=self.people, question=topic.question)
        named, about = self.named, self.about
        if self.kind != "table" and (self.changing or len(named) < self.people - 1):
            told = describe_network(self.people, len(self.others), self.changing, language, self._prompt(topic))
            about = f"{told} {about}".strip()
        return describe_debate(persona, topic, named, style, about)

    @property
    def named(self) -> tuple[str, ...]:
        """The names that its prompt lists."""
        return self.others if self.kind == "table" or len(self.others) <= NAMED else ()

    def _prompt(self, topic: Topic) -> Any:
        return (PlatformDebater if self.kind == "medium" else NetworkDebater).about(topic.language)


class Resident(PlatformDebater, Participant):
    """An agent who meets others in several places, and remembers what it heard in each.

    away: whether it misses this stage; it comes back after it. Who has left, by an intervention, keeps its seats, as elsewhere.
    """

    away = _left = False

    def __init__(
        self, model: Any, persona: Persona, topic: Topic, style: DebateStyle, adapter: str = "", voice: str = ""
    ):
        DebateAgent.__init__(self, model, persona, topic, style, adapter=adapter, voice=voice)
        self.place = ""
        self._lately = []
        self.position: float | None = None
        self.statement: str | None = None
        self.said: dict[str, str] = {}
        self.answers: dict[str, str] = {}
        self._open, self._form, self._about = False, "", ""
        self._given = ""

    @property
    def absent(self) -> bool:
        """Whether it has left, or misses this stage."""
        return self._left or self.away

    @absent.setter
    def absent(self, value: bool) -> None:
        self._left = value

    def assign_traits(self, character: Traits) -> None:
        super().assign_traits(character)
        self._given = self.memory.opening

    def enter(self, companies: Sequence[Company]) -> None:
        """Begin to meet these people; without any, it is alone and only answers surveys."""
        self._others = tuple(dict.fromkeys(name for company in companies for name in company.named))
        self._lately.extend(self._others)
        del self._lately[:-LATELY]
        opening = "\n\n".join(filter(None, [self._opening(companies), self._given]))
        self.memory.enter(opening, self.topic.language.words("new_part"))
        self.said, self.statement, self._open = {}, None, False

    def forget(self) -> None:
        """Forget all that was said, as if this were the beginning."""
        self.memory = make_memory(self.style.memory, "", self.topic.language, self.style.importance, self.style.reflect)
        self.states, self._last_attitudes = {}, {}

    def recall(self, memory: Memory) -> None:
        """Remember what is in this memory in place of its own: that of the same person on another topic."""
        self.memory = memory

    def _opening(self, companies: Sequence[Company]) -> str:
        if len(companies) == 1:
            return companies[0].opening(self.persona, self.topic, self.style)
        told = " ".join(company.sentence(self.topic) for company in companies)
        return describe_debate(self.persona, self.topic, (), self.style, told)

    def instruction(self, form: str) -> str:
        return Participant.instruction(self, form) if form in PRIVATE else Debater.instruction(self, form)

    def compose_speech(self, seed: int, form: str = "reply") -> Request:
        if form in PRIVATE:
            return Participant.compose_speech(self, seed, form)
        self._form = form
        return DebateAgent.compose_speech(self, seed, form)

    def absorb_speech(self, reply: Reply) -> Speech:
        return (Participant if self._form in PRIVATE else DebateAgent).absorb_speech(self, reply)

    def archetype_key(self, probe: Probe) -> str:
        return DebateAgent.archetype_key(self, probe)
