"""Surveys of one room, as generators that yield requests and return events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from parley.agents.debater import Rating
from parley.agents.standin import StandIn
from parley.agents.topic import Probe
from parley.llm.driver import Conversation, ask_all
from parley.llm.request import Reply, Request
from parley.model.events import Event, Rated
from parley.model.room import Desk, RoomState, note

Key = TypeVar("Key")


def hold_survey(room: RoomState, round_: int, probe: Probe, asks: int, desk: Desk) -> Conversation[list[Event]]:
    """Ask all who are there at once; an answer that cannot be read is asked again, up to `asks` times in all.

    Stand-ins are not asked: they answer.
    """
    calls: list[Event] = []
    rated: dict[int, Rated] = {}

    def compose(agent: int, attempt: int) -> Request:
        return room.members[agent].compose_survey(probe, room.seed(desk, agent, probe.name, attempt), attempt > 0)

    def absorb(agent: int, request: Request, reply: Reply) -> bool:
        earlier = (*rated[agent].earlier, rated[agent].raw) if agent in rated else ()
        rating = room.members[agent].absorb_survey(reply, probe)
        rated[agent] = _rated(room, round_, agent, rating, len(earlier) + 1, earlier)
        note(calls, room, round_, agent, request, reply, desk)
        return rated[agent].rating is not None or reply.failure is not None

    there = {agent: member for agent, member in room.members.items() if not member.absent}
    stand_ins = {agent: member for agent, member in there.items() if isinstance(member, StandIn)}
    yield from ask_until([agent for agent in there if agent not in stand_ins], compose, absorb, asks)
    for agent, member in stand_ins.items():
        rating = member.rate(probe, room.seed(desk, agent, probe.name))
        rated[agent] = _rated(room, round_, agent, rating, 0, ())
    events = [rated[agent] if agent in rated else _absent(room, round_, agent, probe) for agent in room.members]
    return [*events, *calls]


def _absent(room: RoomState, round_: int, agent: int, probe: Probe) -> Rated:
    """Nobody is there to be asked."""
    nothing = None, None, None, None, "absent", None, room.members[agent].manner.reader
    return Rated(room.id, round_, room.iteration, agent, probe.name, *nothing, 0)


def hold_surveys(
    room: RoomState, round_: int, probes: Sequence[Probe], asks: int, desk: Desk
) -> Conversation[list[Event]]:
    """One survey after the other, each of every member; nobody is told an answer, an own earlier one neither."""
    events: list[Event] = []
    for probe in probes:
        events += yield from hold_survey(room, round_, probe, asks, desk)
    return events


def ask_until(
    waiting: list[Key],
    compose: Callable[[Key, int], Request],
    absorb: Callable[[Key, Request, Reply], bool],
    asks: int,
) -> Conversation[None]:
    """Ask everything that waits at once, and again what `absorb` is not content with, up to `asks` times in all."""
    for attempt in range(asks):
        requests = [compose(key, attempt) for key in waiting]
        replies = yield from ask_all(requests)
        asked = zip(waiting, requests, replies, strict=True)
        waiting = [key for key, request, reply in asked if not absorb(key, request, reply)]
        if not waiting:
            break


def _rated(
    room: RoomState, round_: int, agent: int, rating: Rating, asked: int, earlier: tuple[str | None, ...]
) -> Rated:
    values = (
        rating.value,
        rating.attitude,
        rating.expected,
        rating.probabilities,
        rating.reason,
        rating.raw,
        rating.how,
    )
    return Rated(room.id, round_, room.iteration, agent, rating.probe, *values, asked, earlier, rating.covered)
