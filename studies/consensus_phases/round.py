"""One round with two answers, as a generator: all people are told of the others, and answer at once.

A person without a readable answer keeps its last one; until it has one, the others do not see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from parley.environments.base import Turn
from parley.llm.driver import Conversation, ask_all
from parley.llm.seeding import stream
from parley.model.events import Event
from parley.model.room import RoomState, record_call

from .environment import FOR, ORDERS, SIDES, TwoAnswers
from .events import TookSide
from .members import Answer, Shown, SideMember


class Asked(NamedTuple):
    """A person's place in the order, what it is told, its answer, the calls, and the unreadable replies before it."""

    iteration: int
    agent: int
    shown: Shown
    answer: Answer
    asked: int = 0
    earlier: tuple[str | None, ...] = ()


def run_round(room: RoomState, rules: TwoAnswers, turns: Iterator[Turn]) -> Conversation[list[Event]]:
    """Let all people answer, and keep what they answered for the next round."""
    held: dict[int, str] = room.kept.setdefault("sides", _at_start(room, rules))
    events: list[Event] = []
    people = []
    for place, turn in enumerate(turns):
        room.iteration += 1
        blocked = room.members[turn.speaker].blocked_reason("side")
        shown = _shown(room, rules, turn.speaker, place, held)
        people.append(Asked(room.iteration, turn.speaker, shown, Answer(None, blocked or "empty", None)))
    answers = yield from _ask(room, people, events)
    for person in answers:
        made, at = person.answer, (room.id, room.round, person.iteration, person.agent)
        read = (
            made.side,
            made.reason,
            made.probability,
            made.covered,
            made.raw,
            made.how,
            person.asked,
            person.earlier,
        )
        fields: list[Any] = [*at, *person.shown, *read]
        events.append(TookSide(*fields))
        if person.answer.side:
            held[person.agent] = person.answer.side
    return events


def _at_start(room: RoomState, rules: TwoAnswers) -> dict[int, str]:
    return {} if rules.begins == "alone" else dict.fromkeys(room.members, rules.begins)


def _shown(room: RoomState, rules: TwoAnswers, agent: int, place: int, held: dict[int, str]) -> Shown:
    """Return what a person is told in this round."""
    if rules.told == "curve":
        question, order = divmod((room.round - 1) % rules.curve_rounds, ORDERS)
        first = SIDES[(order + place) % ORDERS]
        return Shown(rules.numbers[question - 1], rules.size - 1, first) if question else Shown(0, 0, first)
    first = stream(room.context.seed, "listed first", room.id, room.round, room.seats[agent]).choice(SIDES)
    sides = [side for other, side in held.items() if other != agent]
    return Shown(sides.count(FOR), len(sides), first)


def _ask(room: RoomState, people: list[Asked], events: list[Event]) -> Conversation[list[Asked]]:
    """Ask all people at once, and those again whose reply cannot be read, as often as the run allows."""
    answers = list(people)
    open_ = [place for place, person in enumerate(people) if person.answer.reason == "empty"]
    for attempt in range(room.context.asks):
        requests = []
        for place in open_:
            person = people[place]
            seed = room.seed(person.agent, "side", attempt, person.iteration)
            requests.append(_member(room, person.agent).compose_side(person.shown, seed, attempt > 0))
        replies = (yield from ask_all(requests)) if requests else []
        still = []
        for place, request, reply in zip(open_, requests, replies, strict=True):
            before = answers[place]
            record_call(events, room, before.agent, request, reply)
            answer = _member(room, before.agent).absorb_side(reply, before.shown.listed_first)
            earlier = (*before.earlier, before.answer.raw) if attempt else ()
            answers[place] = before._replace(answer=answer, asked=attempt + 1, earlier=earlier)
            if answer.side is None and not reply.failure:
                still.append(place)
        open_ = still
    return answers


def _member(room: RoomState, agent: int) -> SideMember:
    return cast(SideMember, room.members[agent])
