"""join: those that it is for come in before this round. Until then they are not there, from the start on (or since they left).

Whoever is not there has a seat and its turns, so that nobody else's turn is another than without it: they are silent (`absent`).
It hears nothing, neither of the room nor from outside, and is not asked: a rating of it is missing (`absent`), with no call to a
model.
Who comes in remembers what it heard before it left, or nothing. Nobody is told, and names of all seats are told at the start: to
announce it, give a message of the same round.

never   nobody comes: what a join is compared with (run.py intervene makes it so in the branch without)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parley.model.interventions.base import Act, Presence, View
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Join(Presence):
    """Some agents come in before this round. Until then their turns are silent and their ratings missing (reason `absent`).

    Parameters
    ----------
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Examples
    --------
    >>> Join(round=2, to=("default",)).kind
    'join'
    """

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        for agent in agents:
            room.members[agent].absent, room.members[agent].late = False, True
        yield Act(agents)
