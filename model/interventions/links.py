"""links: in a network, those that it is for no longer hear some others from this round on, or come to hear them.

change   remove, or add
hear     parties or seat labels of those others; all
number   how many others for each that it is for, drawn anew for each (0: all there are)
both     whether the others no longer hear them, or come to hear them, either (false)

Nobody is told. Only where links say who hears whom (environments/network.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Literal

from parley.environments._social_graph import Links as Ties
from parley.environments._social_graph import Pairs
from parley.llm.errors import UserError
from parley.model.events import Linked, Unlinked
from parley.model.interventions.base import ALL, HEARD, Act, Intervention, View, names_phrase
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Links(Intervention):
    """Links removed or added; see the module's manual page."""

    reaches_absent = True
    networked: ClassVar[bool] = True
    change: Literal["remove", "add"]
    hear: tuple[str, ...] = (ALL,)
    number: int = 0
    both: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hear", names_phrase(self.kind, "hear", self.hear))
        if self.number < 0:
            raise UserError("links: number must be at least 0")

    def whom(self) -> tuple[str, ...]:
        return (*self.to, *self.hear)

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        assert room.society is not None
        ties, draw = room.society.links, room.society.draw(HEARD, self.kind, self.change, round_, self.to, self.hear)
        others = self.meant(room, self.hear)
        pairs = dict.fromkeys(pair for agent in agents for pair in self._of(agent, others, ties, draw))
        changed: Pairs = tuple([pair for pair in pairs if self._there(ties, *pair) == (self.change == "remove")])
        if not changed:
            yield Act(agents, reason="no_link_to_change")
            return
        ties.change(*((changed, ()) if self.change == "remove" else ((), changed)))
        event = (Unlinked if self.change == "remove" else Linked)(room.id, round_, changed)
        yield Act(agents, f"{self.change} {len(changed)}", events=(event,))

    def _of(self, agent: int, others: tuple[int, ...], ties: Ties, draw: Random) -> Iterator[tuple[int, int]]:
        """The pairs that are to change for one of those that it is for."""
        remove = self.change == "remove"
        open_ = [other for other in others if other != agent and self._there(ties, agent, other) == remove]
        for other in draw.sample(open_, min(self.number, len(open_))) if self.number else open_:
            yield agent, other
            if self.both:
                yield other, agent

    @staticmethod
    def _there(ties: Ties, source: int, target: int) -> bool:
        return target in ties.hears[source]
