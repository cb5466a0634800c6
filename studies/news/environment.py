"""story: people pass a story on from day to day; each rewrites the version that it got.

Options
    parties     as for network: the parties of the people, in turn
    size        how many people there are (40)
    graph       who gets the story from whom, as for network (environments/graphs.py)
    origins     how many people read the true report before the first day (2)
    activation  who is active on a day: every, share, poisson, hawkes (environments/activation.py)
    order       as for round_table; all write at the same time, so it only numbers the versions (reshuffled)
    mix         as for network

A round is a day. Each active person gets the version that one of those whom it hears carried at the end of the day before,
drawn at random; where none of them carries one, it takes up its own. A person who passes stories on then writes a version of its
own, and carries that one. Roles decide who passes on (tellers.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from parley.environments._linked_people import LinkedPeople, society_of
from parley.environments._social_graph import Feed, Pairs, SocialGraph
from parley.environments.activation import ACTIVATION
from parley.environments.base import Order, Room, Turn, in_range
from parley.environments.graphs import GRAPHS
from parley.model.events.texts import RETELLING

if TYPE_CHECKING:
    from parley.llm.driver import Conversation
    from parley.model.debate import DebateModel
    from parley.model.events import Event
    from parley.model.room import RoomState
    from parley.model.scenario import Scenario

    from .tellers import Storyteller


EXAMPLE = "blackout"
"""An item of news that messages name."""


@dataclass(frozen=True)
class Story(LinkedPeople):
    """A story that goes round; options: see the top of this file."""

    parties: tuple[str, ...] = ("first", "second")
    size: int = 40
    graph: Annotated[str, GRAPHS] = "small_world"
    origins: int = 2
    activation: Annotated[str, ACTIVATION] = "every"
    order: Order = "reshuffled"
    mix: str = ""

    controls: ClassVar = {
        "origins": ("People who read the true report first", "These people begin the story before the first round.")
    }
    by_attitude = by_text = False
    lasting = 0

    def __post_init__(self) -> None:
        in_range(1, 1e6, origins=self.origins)
        self.check_people()

    @property
    def changing(self) -> bool:
        return self._graph.changing

    @property
    def varies(self) -> bool:
        """Whether chance decides how many write on a day: those whom the story has not reached do not."""
        return True

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        """Yield a turn for each active person: those who would write if the story had reached all of them."""
        return self.retellings(self.active_members(room, round_))

    @staticmethod
    def retellings(people: Sequence[int]) -> Iterator[Turn]:
        """Yield the turns of people who write on a day, all at the same time."""
        return (Turn(member, (), RETELLING, together=number > 0) for number, member in enumerate(people))

    def first_people(self, society: SocialGraph, people: Sequence[int]) -> list[int]:
        """Return who of these people reads the true report before the first day."""
        return sorted(society.draw("origins").sample(people, min(self.origins, len(people))))

    def source(self, society: SocialGraph, reader: int, carriers: Collection[int], round_: int) -> int | None:
        """Return from whom a person gets the story on a day; None where the story does not reach it."""
        near = [other for other in society.links.hears[reader] if other in carriers]
        if near:
            return society.draw("source", round_, reader).choice(near)
        return reader if reader in carriers else None

    def rewired(self, room: Room, round_: int) -> tuple[Pairs, Pairs]:
        return society_of(room).planned_changes(round_) if round_ > 1 else ((), ())

    def seat(self) -> type[Storyteller]:
        """Return the class of the people."""
        from .tellers import Storyteller

        return Storyteller

    def play(self, room: RoomState, view: Room, model: DebateModel) -> Conversation[list[Event]]:
        """Play a day."""
        from .round import run_story_round

        return run_story_round(room, self, view)

    def problems(self, scenario: Scenario) -> Iterator[str]:
        """Yield what does not fit together in a scenario, and what to set."""
        if other := next((topic.slug for topic in scenario.subject.all_topics if topic.news is None), ""):
            yield f"a story begins with the true report of an item of news, and {other} is none: set topic={EXAMPLE}"
        for who in scenario.surrogate_by_party:
            yield f"a surrogate moves opinions but cannot rewrite a story: give {who} a model"
        if scenario.speech.format != "free":
            yield "a structured debate has statements in turn, and a story is passed on: set format=free"

    def feeds(self, room: Room, round_: int) -> Iterator[Feed]:
        return iter(())
