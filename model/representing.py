"""Who is represented in a session of private deliberations, and what its representative is told.

Representatives write in the last episode of a session. In those before it everybody writes for itself: that is what they may be
told of, so that nobody's representative learns from what a representative wrote.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parley.agents.participant import Participant
from parley.agents.proxy import Proxy
from parley.llm.randomness import stream
from parley.model.scenario import REPRESENTATIVE, Scenario

if TYPE_CHECKING:
    from parley.model.debate import DebateModel
    from parley.model.room import RoomState


def represent(model: DebateModel, rooms: Sequence[RoomState]) -> None:
    """Give the last room of every session its representatives, one or all."""
    if model.setup.represented == "none":
        return
    sessions: dict[str, list[RoomState]] = defaultdict(list)
    for room in rooms:
        sessions[model.tables[room.id].session].append(room)
    for *before, last in sessions.values():
        numbers = list(last.members)
        if model.setup.represented == "one":
            numbers = [stream(model.setup.seed, REPRESENTATIVE, last.id).choice(numbers)]
        last.proxies = {number: _proxy(model, last, before, number) for number in numbers}


def _proxy(model: DebateModel, room: RoomState, before: Sequence[RoomState], number: int) -> Proxy:
    """The representative of a member, with the same person in the rooms before: it sits at the same place there."""
    member, place, setup = room.members[number], list(room.members).index(number), model.setup
    past = [(setup.question(one.topic), list(one.members.values())[place]) for one in before]
    own = [(question, one) for question, one in past if isinstance(one, Participant)]
    assert isinstance(member, Participant)
    assert all(one.persona == member.persona for _, one in own)
    voice = REPRESENTATIVE if REPRESENTATIVE in model.voices else ""
    adapter = model.adapters.get(REPRESENTATIVE, "")
    return Proxy(member, setup.question(room.topic), own, setup.told, adapter, voice)


def lots(setup: Scenario, rooms: Sequence[RoomState]) -> list[list[RoomState]]:
    """The rooms of a round as they are held: all at once, unless representatives are told the critiques of the episodes before.

    Those are written in the same round, and so the last episodes come after the others when they have critiques to write.
    """
    later = [room.id for room in rooms if any(proxy.ready for proxy in room.proxies.values())]
    if "C" not in setup.told or not later:
        return [list(rooms)]
    return [[room for room in rooms if (room.id in later) == last] for last in (False, True)]
