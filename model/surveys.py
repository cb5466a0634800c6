"""Surveys of one room, as generators that yield requests and return events; at the end of a private deliberation
also the agreement
with every statement of the mediator, and the questionnaire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from parley.agents.agent import Rating
from parley.agents.participant import Participant, agreement_probe
from parley.agents.question import questionnaire
from parley.agents.surrogate_agent import SurrogateAgent
from parley.agents.topic import Probe
from parley.llm.driver import Conversation, ask_all
from parley.llm.request import Reply, Request
from parley.model.events import Answered, Event, Rated
from parley.model.room import RoomState, RunContext, record_call

Key = TypeVar("Key")


def run_survey(room: RoomState, round_: int, probe: Probe, asks: int, context: RunContext) -> Conversation[list[Event]]:
    """Ask all who are there at once; an answer that cannot be read is asked again, up to `asks` times in all.

    Stand-ins are not asked: they answer.
    """
    calls: list[Event] = []
    rated: dict[int, Rated] = {}

    def compose(agent: int, attempt: int) -> Request:
        return room.members[agent].compose_survey(probe, room.seed(context, agent, probe.name, attempt), attempt > 0)

    def absorb(agent: int, request: Request, reply: Reply) -> bool:
        earlier = (*rated[agent].earlier, rated[agent].raw) if agent in rated else ()
        rating = room.members[agent].absorb_survey(reply, probe)
        rated[agent] = _rated(room, round_, agent, rating, len(earlier) + 1, earlier)
        record_call(calls, room, round_, agent, request, reply, context)
        return rated[agent].rating is not None or reply.failure is not None

    there = {agent: member for agent, member in room.members.items() if not member.absent}
    stand_ins = {agent: member for agent, member in there.items() if isinstance(member, SurrogateAgent)}
    yield from ask_with_retries([agent for agent in there if agent not in stand_ins], compose, absorb, asks)
    for agent, member in stand_ins.items():
        rating = member.rate(probe, room.seed(context, agent, probe.name))
        rated[agent] = _rated(room, round_, agent, rating, 0, ())
    events = [rated[agent] if agent in rated else _absent(room, round_, agent, probe) for agent in room.members]
    return [*events, *calls]


def _absent(room: RoomState, round_: int, agent: int, probe: Probe) -> Rated:
    """Nobody is there to be asked."""
    nothing = None, None, None, None, "absent", None, room.members[agent].manner.reader
    return Rated(room.id, round_, room.iteration, agent, probe.name, *nothing, 0)


def run_surveys(
    room: RoomState, round_: int, probes: Sequence[Probe], asks: int, context: RunContext
) -> Conversation[list[Event]]:
    """One survey after the other, each of every member; nobody is told an answer, an own earlier one neither."""
    events: list[Event] = []
    for probe in probes:
        events += yield from run_survey(room, round_, probe, asks, context)
    return events


def ask_with_retries(
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


def run_closing(room: RoomState, round_: int, asks: int, items: bool, context: RunContext) -> Conversation[list[Event]]:
    """Final ratings (1-7) of each statement that there was, then, if `items`, the questionnaire."""
    events: list[Event] = []
    for name, statement in room.statements.items():
        events += yield from run_survey(room, round_, agreement_probe(name, statement), asks, context)
    if items:
        events += yield from run_questionnaire(room, round_, asks, context)
    return events


def run_questionnaire(room: RoomState, round_: int, asks: int, context: RunContext) -> Conversation[list[Event]]:
    """Every item to every member, all at once; an answer that cannot be read is asked again, up to `asks` times in all."""
    items = {item.name: item for item in questionnaire()}
    members = {number: member for number, member in room.members.items() if isinstance(member, Participant)}
    answered: dict[tuple[int, str], Answered] = {}
    calls: list[Event] = []

    def compose(key: tuple[int, str], attempt: int) -> Request:
        agent, name = key
        return members[agent].compose_item(items[name], room.seed(context, agent, f"item {name}", attempt), attempt > 0)

    def absorb(key: tuple[int, str], request: Request, reply: Reply) -> bool:
        agent, name = key
        earlier = (*answered[key].earlier, answered[key].raw) if key in answered else ()
        answer = members[agent].absorb_item(reply, items[name])
        told = (*answer, reply.text, len(earlier) + 1, earlier)
        answered[key] = Answered(room.id, round_, agent, name, *told)
        record_call(calls, room, round_, agent, request, reply, context)
        return answer.text is not None or reply.failure is not None

    yield from ask_with_retries([(agent, name) for agent in members for name in items], compose, absorb, asks)
    return [*answered.values(), *calls]
