"""links: in a network, these agents no longer hear some others from this round on, or begin to hear them.

change   remove, or add
hear     parties or seat labels of the others; default: all
number   how many others for each agent, drawn at random for each (0: all of them)
both     whether the links in the other direction change too (false)

The agents are not informed. This works only where links decide who hears whom: in a network or medium (environments/network.py),
also where that is one of several places, for those who are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from parley.agents.speech import HEARD
from parley.environments._social_graph import Links as Ties
from parley.environments._social_graph import Pairs
from parley.model.events import Linked, Unlinked
from parley.model.interventions.base import Act, Intervention, LinkChange, View
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Links(LinkChange, Intervention):
    """Links removed or added; see the module's manual page."""

    networked: ClassVar[bool] = True

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        if room.society is None:  # a stage without links, in a repeated intervention
            yield Act(agents, reason="no_link_to_change")
            return
        links = room.society.links
        draw = room.society.draw(HEARD, self.kind, self.change, room.round, self.to, self.hear)
        others = tuple([other for other in self.addressed(room, self.hear) if other in links.hears])
        pairs = dict.fromkeys(
            pair for agent in agents if agent in links.hears for pair in self._pairs_of(agent, others, links, draw)
        )
        changed: Pairs = tuple([pair for pair in pairs if self._can_change(links, *pair)])
        if not changed:
            yield Act(agents, reason="no_link_to_change")
            return
        remove = self.change == "remove"
        links.change(*((changed, ()) if remove else ((), changed)))
        event = (Unlinked if remove else Linked)(room.id, room.round, changed)
        yield Act(agents, f"{self.change} {len(changed)}", events=(event,))

    def _pairs_of(self, agent: int, others: tuple[int, ...], links: Ties, draw: Random) -> Iterator[tuple[int, int]]:
        """The pairs that may change for one agent."""
        candidates = [other for other in others if other != agent and self._can_change(links, agent, other)]
        for other in draw.sample(candidates, min(self.number, len(candidates))) if self.number else candidates:
            yield agent, other
            if self.both:
                yield other, agent

    def _can_change(self, links: Ties, source: int, target: int) -> bool:
        """Whether there is a link to remove, or none yet where one is to be added."""
        return (target in links.hears[source]) == (self.change == "remove")
