"""What somebody outside of the package writes: one of each kind, in one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, ClassVar

import networkx as nx

from parley.agents.language import Language
from parley.agents.mediators import MEDIATORS
from parley.agents.mediators.base import Mediator, MediatorBrief, Seed, Statement
from parley.agents.reasoning import Note, plain_note
from parley.environments.base import Group, Room, Turn
from parley.environments.graphs import Graph
from parley.llm.driver import Conversation
from parley.llm.request import Reply, Request, Usage, check_replies
from parley.llm.seeding import stream
from parley.model.interventions.base import Act, Intervention, View, line_events
from parley.model.room import RoomState


class Coin:
    """Every allowed answer is equally likely."""

    in_flight = 0
    MANNER = ("batch",)

    def __init__(self, line: str = "I could not say.", batch: int = 1):
        self.line = line

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "coin", "line": self.line}

    def seedless(self, request: Request) -> bool:
        return False

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return check_replies([self._reply(request) for request in requests], len(requests))

    def _reply(self, request: Request) -> Reply:
        if not request.answers:
            return Reply(self.line, usage=Usage(0, len(self.line.split())))
        answer = stream(request.seed, "coin").choice(request.answers)
        shares = dict.fromkeys(request.answers, 1 / len(request.answers))
        return Reply(request.answer_prefix + answer, usage=Usage(0, 1), answers=shares)


@dataclass(frozen=True)
class Whispers:
    """A circle: everybody is heard by the next in it alone."""

    narrow: ClassVar[bool] = True
    seats: tuple[str, ...] = ("republican", "democrat", "default")

    def __post_init__(self) -> None:
        if not self.seats:
            raise ValueError("seats must name at least one party")

    def groups(self) -> tuple[Group, ...]:
        return (Group("+".join(self.seats), tuple(self.seats)),)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        for place, speaker in enumerate(room.seated):
            following = room.seated[(place + 1) % len(room.seated)]
            yield Turn(speaker, (following,) if following != speaker else ())


@dataclass(frozen=True)
class Second(Mediator):
    """Lets another mediator write, and adds a word. Its option is a mediator with options of its own."""

    of: Annotated[Mediator, MEDIATORS]
    word: str = "Agreed"

    def calls(self, members: int) -> int:
        return self.of.calls(members)

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        found = yield from self.of.speak(brief, seed)
        return found._replace(text=f"{self.word}: {found.text}") if found.text else found


@dataclass(frozen=True, kw_only=True)
class Rumour(Intervention):
    """A line that nobody signs."""

    text: str = "They say that it will rain."

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        yield line_events(room, agents, "Somebody", self.text)


@dataclass(frozen=True)
class Doubt:
    """One sentence of doubt before every utterance."""

    words: int = 20
    name: ClassVar[str] = "doubt"

    @property
    def tokens(self) -> int:
        return 3 * self.words

    def ask(self, frame: str, language: Language) -> str:
        return f"Privately, before you go on in this {frame}: what speaks against your own view? At most {self.words} words."

    def read(self, text: str, language: Language) -> Note:
        return plain_note(text)


@dataclass(frozen=True)
class Star(Graph):
    """One in the middle, whom all hear, and who hears all."""

    def build(self, seats: tuple[str, ...], rng: Random) -> nx.Graph:
        return nx.star_graph(len(seats) - 1)
