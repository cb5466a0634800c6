"""mute: from this round on the turns of those that it is for are silent (`muted`). They hear, and are asked as before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parley.model.interventions.base import Act, Intervention, View
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Mute(Intervention):
    """From this round on the turns of some agents are silent (reason `muted`). They hear, and are surveyed as before.

    A silent turn counts as one, so that nobody else's turn is another than without it.

    Parameters
    ----------
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Examples
    --------
    >>> Mute(round=2, to=("default",)).kind
    'mute'
    """

    reaches_absent = True

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        for agent in agents:
            room.members[agent].muted = True
        yield Act(agents)
