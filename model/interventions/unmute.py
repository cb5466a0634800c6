"""unmute: from this round on those that it is for have their say again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parley.model.interventions.base import Act, Intervention, View
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Unmute(Intervention):
    """The end of a mute."""

    reaches_absent = True

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        for agent in agents:
            room.members[agent].muted = False
        yield Act(agents)
