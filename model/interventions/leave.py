"""leave: those that it is for are not there from this round on (see join.py for what that means).

never   nobody leaves: what a leave is compared with
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parley.model.interventions.base import Act, Presence, View
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Leave(Presence):
    """Some agents are away from this round on: their turns are silent and their ratings missing (reason `absent`).

    Parameters
    ----------
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Examples
    --------
    >>> Leave(round=3, to=("default",)).kind
    'leave'
    """

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        for agent in agents:
            room.members[agent].absent = True
        yield Act(agents)
