"""What somebody who is about to speak asks itself first: requests, and the event that becomes of each reply.

Each kind is a function of a room, a round, a turn (iteration, agent, form) and the desk that gives the errands which are due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from parley.llm.request import Reply, Request
from parley.model.events import Event, Private, Summarised

if TYPE_CHECKING:
    from parley.agents.retrieval import Trace
    from parley.model.room import Desk, RoomState


class Errand(NamedTuple):
    """A request of an agent's to itself. `absorb` hands it the reply, and gives what is recorded."""

    agent: int
    request: Request
    absorb: Callable[[Reply], Event]


def summary(room: RoomState, round_: int, iteration: int, agent: int, form: str, desk: Desk) -> Iterator[Errand]:
    """A summary of what is about to be forgotten."""
    speaker = room.members[agent]
    if not speaker.memory.overflows:
        return

    def absorb(reply: Reply) -> Event:
        speaker.absorb_summary(reply)
        reason = reply.failure.name if reply.failure else None
        return Summarised(room.id, round_, iteration, agent, reply.text, reason)

    yield Errand(agent, speaker.compose_summary(room.seed(desk, agent, "summary", iteration=iteration)), absorb)


def importance(room: RoomState, round_: int, iteration: int, agent: int, form: str, desk: Desk) -> Iterator[Errand]:
    """How important is each line that was said since it last asked itself?"""
    speaker = room.members[agent]
    for number, trace in enumerate(speaker.unweighed()):
        yield _weighed(room, round_, iteration, agent, trace, room.seed(desk, agent, "importance", number, iteration))


def _weighed(room: RoomState, round_: int, iteration: int, agent: int, trace: Trace, seed: int) -> Errand:
    speaker = room.members[agent]

    def absorb(reply: Reply) -> Event:
        value, reason = speaker.absorb_importance(reply, trace)
        text = None if value is None else f"{value:g}"
        of = trace.text if trace.name is None else f"{trace.name}: {trace.text}"
        return Private(room.id, round_, iteration, agent, "importance", text, reason, raw_of(reply, text), of)

    return Errand(agent, speaker.compose_importance(trace, seed), absorb)


def reflection(room: RoomState, round_: int, iteration: int, agent: int, form: str, desk: Desk) -> Iterator[Errand]:
    """What it concludes from what was said, when that is due."""
    speaker = room.members[agent]
    if not speaker.reflects:
        return

    def absorb(reply: Reply) -> Event:
        text, reason = speaker.absorb_reflection(reply)
        return Private(room.id, round_, iteration, agent, "reflection", text, reason, raw_of(reply, text))

    yield Errand(agent, speaker.compose_reflection(room.seed(desk, agent, "reflection", iteration=iteration)), absorb)


def thought(room: RoomState, round_: int, iteration: int, agent: int, form: str, desk: Desk) -> Iterator[Errand]:
    """The note that an ability makes; none of somebody who cannot speak now."""
    speaker = room.members[agent]
    if speaker.ability is None or speaker.unable(form) is not None:
        return
    purpose = speaker.ability.name

    def absorb(reply: Reply) -> Event:
        text, reason = speaker.absorb_thought(reply)
        return Private(room.id, round_, iteration, agent, purpose, text, reason, raw_of(reply, text))

    request = speaker.compose_thought(room.seed(desk, agent, purpose, iteration=iteration))
    yield Errand(agent, request, absorb)


def raw_of(reply: Reply, text: str | None) -> str | None:
    """The reply where it differs from what was read of it."""
    return reply.text if reply.text != text else None


ERRANDS = (summary, importance, reflection, thought)
"""In the order in which they are run."""
