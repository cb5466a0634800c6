"""One period of sequential social learning, as a generator: a state is drawn, then people get signals and choose in turn.

The state is drawn from a random stream of the room and the round, and whether a signal is right from one of the room, the round
and the place in the order. So two conditions with the same seed differ only in what the condition changes: a signal that is right
stays right when it becomes more precise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from parley.environments.base import MEDIATOR, Turn
from parley.llm.driver import Conversation
from parley.llm.seeding import derive, stream
from parley.model.agent_factory import named_voice
from parley.model.debate import DebateModel
from parley.model.events import Event
from parley.model.room import RoomState, record_call

from .environment import PLANNER, Herding
from .events import Decided, StateDrawn
from .law import A, B, public_belief
from .members import Decision, HerdMember, HerdPlanner, Made, Situation
from .optimum import Aim, best_precision


class Planned(NamedTuple):
    """The precision of the next signal; why a planner that was asked could not be read, and its reply."""

    precision: float
    reason: str | None = None
    raw: str | None = None


@dataclass(slots=True)
class _Period:
    """A period of a room: its rules, its planner if that is a model, the right option, and the choices so far."""

    room: RoomState
    rules: Herding
    planner: HerdPlanner | None
    state: str
    people: int
    made: tuple[Made, ...] = ()

    def situation(self, position: int) -> Situation:
        """Return what all people know when the person at this place, counted from 1, is to choose."""
        return Situation(self.rules.prior, self.rules.ties, self.people, self.people - position + 1, self.made)

    @property
    def aim(self) -> Aim:
        rules = self.rules
        return Aim(rules.precisions, rules.precision, rules.cost, rules.aim, rules.ties)

    @property
    def belief(self) -> float:
        """The public belief, as log-odds."""
        return public_belief(self.rules.prior, [(made.act, made.precision) for made in self.made], self.rules.ties)


def make_planner(model: DebateModel, rules: Herding, topic: str) -> HerdPlanner | None:
    """Return the planner of a room; None unless a model is the planner."""
    if rules.planner != "model":
        return None
    language, voice = model.setup.subject.topic_named(topic).language, named_voice(model, PLANNER)
    return HerdPlanner(language, model.style.sampling, rules.precisions, rules.precision, rules.cost, rules.aim, voice)


def run_period(
    room: RoomState, rules: Herding, turns: Iterator[Turn], planner: HerdPlanner | None = None
) -> Conversation[list[Event]]:
    """Run a period. A person without a readable choice is recorded, and no one sees a choice of it."""
    order, seed = list(turns), room.context.seed
    state = A if stream(seed, "state", room.id, room.round).random() < rules.prior else B
    events: list[Event] = [StateDrawn(room.id, room.round, state, rules.prior)]
    period = _Period(room, rules, planner, state, len(order))
    for position, turn in enumerate(order, 1):
        room.iteration += 1
        planned = yield from _plan(period, position, events)
        yield from _decide(period, position, turn.speaker, planned, events)
    return events


def _plan(period: _Period, position: int, events: list[Event]) -> Conversation[Planned]:
    """Return the precision of the next signal, as the planner sets it. One that cannot be read changes nothing."""
    rules = period.rules
    if rules.planner == "optimum":
        return Planned(best_precision(period.belief, period.people - position + 1, period.aim))
    if period.planner is None:
        return Planned(rules.precision)
    room, reason, raw = period.room, None, None
    for attempt in range(room.context.asks):
        seed = derive(room.context.seed, room.id, "planner", room.iteration, attempt)
        request = period.planner.compose(period.situation(position), seed, attempt > 0)
        (reply,) = yield (request,)
        record_call(events, room, MEDIATOR, request, reply)
        level, reason = period.planner.absorb(reply)
        raw = reply.text
        if level is not None:
            return Planned(level, None, raw)
        if reply.failure:
            break
    return Planned(rules.precision, reason, raw)


class _Asked(NamedTuple):
    """A choice, how often it was asked for, and the unreadable replies before it."""

    decision: Decision
    asked: int = 0
    earlier: tuple[str | None, ...] = ()


def _decide(period: _Period, position: int, agent: int, planned: Planned, events: list[Event]) -> Conversation[None]:
    """Draw the signal of a person, ask for its choice, record it, and let the others see it."""
    room, member = period.room, cast(HerdMember, period.room.members[agent])
    signal, belief = _signal(period, position, planned.precision), 1 / (1 + math.exp(-period.belief))
    place = (room.id, room.round, room.iteration, agent, position)
    seen = (belief, planned.precision, period.aim.price(planned.precision), signal)
    if blocked := member.blocked_reason("decision"):
        choice = _Asked(Decision(None, blocked, None))
    else:
        choice = yield from _ask(period, position, agent, planned.precision, signal, events)
    made = choice.decision
    read = (made.act, made.reason, made.probability, made.covered, made.raw, made.how, choice.asked, choice.earlier)
    fields: list[Any] = [*place, *seen, *read, planned.reason, planned.raw]
    events.append(Decided(*fields))
    if made.act:
        period.made += (Made(member.name, made.act, planned.precision),)


def _ask(
    period: _Period, position: int, agent: int, precision: float, signal: str, events: list[Event]
) -> Conversation[_Asked]:
    """Ask a person for its choice, and again where the reply cannot be read."""
    room, member = period.room, cast(HerdMember, period.room.members[agent])
    situation, answered = period.situation(position), _Asked(Decision(None, "empty", None))
    for attempt in range(room.context.asks):
        earlier = (*answered.earlier, answered.decision.raw) if attempt else ()
        seed = room.seed(agent, "decision", attempt)
        request = member.compose_decision(situation, signal, precision, seed, attempt > 0)
        (reply,) = yield (request,)
        record_call(events, room, agent, request, reply)
        answered = _Asked(member.absorb_decision(reply), attempt + 1, earlier)
        if answered.decision.act or reply.failure:
            break
    return answered


def _signal(period: _Period, position: int, precision: float) -> str:
    """Return the option to which a private signal points."""
    room = period.room
    right = stream(room.context.seed, "signal", room.id, room.round, position).random() < precision
    return period.state if right else B if period.state == A else A
