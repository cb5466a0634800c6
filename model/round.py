"""One round of a room, as a generator that yields requests and returns events.

Before its turn an agent may be asked to summarise, to weigh a line, to reflect or to think: one function each, listed in
`PRE_TURN_REQUESTS`, which returns the requests that are due and the event made of each reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from parley.agents.agent import DebateAgent, Speech
from parley.agents.representative import ProxySeat
from parley.agents.surrogate_agent import SurrogateAgent
from parley.environments.base import MEDIATOR, Turn, concurrent_turns
from parley.environments.dyads import TALK
from parley.llm.driver import Conversation, ask_all
from parley.llm.request import Reply, Request
from parley.llm.seeding import derive
from parley.model.events import Chosen, Event, Private, Proposed, Ranked, Represented, Summarised, Utterance
from parley.model.room import RoomState, RunContext, record_call
from parley.model.surveys import run_surveys

if TYPE_CHECKING:
    from parley.agents.memory import Trace
    from parley.model.room import RoomState, RunContext


Result = TypeVar("Result")


class ScheduledTurn(NamedTuple):
    """A turn at its number, and who writes what is said: its speaker, or that one's representative."""

    iteration: int
    turn: Turn
    form: str
    writer: DebateAgent | ProxySeat


def run_round(
    room: RoomState, turns: Iterator[Turn], round_: int, context: RunContext, statement: str = "reply"
) -> Conversation[list[Event]]:
    """One round of turns: each speaker is asked, its words go to the hearers; a silent turn is recorded and heard by nobody.

    `statement` is what is asked for where the turn does not say it. Turns that go together are asked at once.
    """
    events: list[Event] = []
    for wave in concurrent_turns(turns):
        if wave[0].speaker == MEDIATOR:
            yield from _mediate(room, wave[0], round_, context, events)
        else:
            lot = _due(room, wave, statement)
            preparing = [due for due in lot if due.writer.prepares and not room.members[due.turn.speaker].absent]
            if preparing:
                yield from _prepare(room, preparing, round_, context, events)
            asked = [_asked(room, context, due) for due in lot]
            requests = tuple([one for one in asked if isinstance(one, Request)])
            _spoken(room, round_, lot, asked, (yield requests) if requests else (), context, events)
        if room.each_turn:
            events += yield from run_surveys(room, round_, room.each_turn, context.asks, context)
    return events


def _due(room: RoomState, wave: Sequence[Turn], statement: str) -> list[ScheduledTurn]:
    """Turns that go together, numbered."""
    lot = []
    for turn in wave:
        room.iteration += 1
        form = turn.form or statement
        if form == TALK:
            room.members[turn.speaker].hearers = tuple([room.members[one].name for one in turn.hearers])
        lot.append(ScheduledTurn(room.iteration, turn, form, room.writer(turn.speaker, form)))
    return lot


def _asked(room: RoomState, context: RunContext, due: ScheduledTurn) -> Request | Speech:
    """What a speaker is asked; what a stand-in says, and the silence of who cannot be asked."""
    reason = due.writer.blocked_reason(due.form)
    if reason is not None:
        return Speech(None, reason)
    seed = room.seed(context, due.turn.speaker, "speech", 0, due.iteration)
    return due.writer.say(seed) if isinstance(due.writer, SurrogateAgent) else due.writer.compose_speech(seed, due.form)


def _spoken(
    room: RoomState,
    round_: int,
    lot: Sequence[ScheduledTurn],
    asked: Sequence[Request | Speech],
    replies: Sequence[Reply],
    context: RunContext,
    events: list[Event],
) -> None:
    """What became of turns that go together: each remembers what it said before it hears the others."""
    left = iter(replies)
    said = [_outcome(due, one, left) for due, one in zip(lot, asked, strict=True)]
    for (iteration, turn, form, writer), request, (speech, reply) in zip(lot, asked, said, strict=True):
        if speech.text is not None:
            name = room.members[turn.speaker].name
            room.tell(turn, name, speech.text, form, iteration)
            if form != TALK:
                room.public.append((name, speech.text))
        if reply and isinstance(writer, ProxySeat):
            events.append(Represented(room.id, round_, iteration, turn.speaker, writer.knows, writer.told))
        raw = reply.text if reply and reply.text != speech.text else None
        events.append(Utterance(room.id, round_, iteration, turn.speaker, speech.text, speech.reason, raw, form))
        if reply and isinstance(request, Request):
            caller = -turn.speaker if isinstance(writer, ProxySeat) else turn.speaker
            record_call(events, room, round_, caller, request, reply, context)


def _outcome(due: ScheduledTurn, asked: Request | Speech, replies: Iterator[Reply]) -> tuple[Speech, Reply | None]:
    """What was said, and the reply that it was made of."""
    if isinstance(asked, Speech):
        return asked, None
    reply = next(replies)
    return due.writer.absorb_speech(reply), reply


def _mediate(room: RoomState, turn: Turn, round_: int, context: RunContext, events: list[Event]) -> Conversation[None]:
    """The mediator's statement, and what it considered."""
    assert room.chair is not None
    room.iteration += 1
    here = (room.id, round_, room.iteration)
    positions = {number: getattr(member, "position", None) for number, member in room.members.items()}
    calls: list[Event] = []
    talk = room.chair.speak(positions, partial(derive, context.seed, room.id, "mediator", room.iteration))
    said = yield from tap(
        talk, lambda request, reply: record_call(calls, room, round_, MEDIATOR, request, reply, context)
    )
    if said.text is not None:
        room.statements[turn.form if round_ < 3 else f"{turn.form} {round_}"] = said.text
        room.tell(turn, room.chair.name, said.text, turn.form, room.iteration)
    ids = list(room.members)
    for number, one in enumerate(said.candidates):
        events.append(Proposed(*here, number, one.text, one.reason, one.raw, one.asked))
    for of in said.rankings:
        events.append(Ranked(*here, ids[of.member], of.order, of.reason, of.raw, of.asked, of.earlier))
    if said.order:
        events.append(Chosen(*here, said.order, said.tied))
    events.append(Utterance(*here, MEDIATOR, said.text, said.reason, said.raw, turn.form))
    events += calls


def tap(talk: Conversation[Result], each: Callable[[Request, Reply], object]) -> Conversation[Result]:
    """The same conversation; `each` is told every request and its reply as they go by."""
    try:
        asked = next(talk)
        while True:
            replies = yield asked
            for request, reply in zip(asked, replies, strict=True):
                each(request, reply)
            asked = talk.send(replies)
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _prepare(
    room: RoomState, lot: Sequence[ScheduledTurn], round_: int, context: RunContext, events: list[Event]
) -> Conversation[None]:
    """What those who are about to speak ask themselves, one kind of question after the other, each of all of them at once."""
    for kind in PRE_TURN_REQUESTS:
        requests = [
            one for due in lot for one in kind(room, round_, due.iteration, due.turn.speaker, due.form, context)
        ]
        replies = yield from ask_all([request.request for request in requests])
        for request, reply in zip(requests, replies, strict=True):
            events.append(request.absorb(reply))
            record_call(events, room, round_, request.agent, request.request, reply, context)


class PreTurnRequest(NamedTuple):
    """A request of an agent's to itself. `absorb` hands it the reply, and gives what is recorded."""

    agent: int
    request: Request
    absorb: Callable[[Reply], Event]


def summary(
    room: RoomState, round_: int, iteration: int, agent: int, form: str, context: RunContext
) -> Iterator[PreTurnRequest]:
    """A summary of what is about to be forgotten."""
    speaker = room.members[agent]
    if not speaker.memory.overflows:
        return

    def absorb(reply: Reply) -> Event:
        speaker.absorb_summary(reply)
        reason = reply.failure.name if reply.failure else None
        return Summarised(room.id, round_, iteration, agent, reply.text, reason)

    yield PreTurnRequest(
        agent, speaker.compose_summary(room.seed(context, agent, "summary", iteration=iteration)), absorb
    )


def importance(
    room: RoomState, round_: int, iteration: int, agent: int, form: str, context: RunContext
) -> Iterator[PreTurnRequest]:
    """How important is each line that was said since it last asked itself?"""
    speaker = room.members[agent]
    for number, trace in enumerate(speaker.unweighed()):
        yield _weighed(
            room, round_, iteration, agent, trace, room.seed(context, agent, "importance", number, iteration)
        )


def _weighed(room: RoomState, round_: int, iteration: int, agent: int, trace: Trace, seed: int) -> PreTurnRequest:
    speaker = room.members[agent]

    def absorb(reply: Reply) -> Event:
        value, reason = speaker.absorb_importance(reply, trace)
        text = None if value is None else f"{value:g}"
        of = trace.text if trace.name is None else f"{trace.name}: {trace.text}"
        return Private(room.id, round_, iteration, agent, "importance", text, reason, raw_of(reply, text), of)

    return PreTurnRequest(agent, speaker.compose_importance(trace, seed), absorb)


def reflection(
    room: RoomState, round_: int, iteration: int, agent: int, form: str, context: RunContext
) -> Iterator[PreTurnRequest]:
    """What it concludes from what was said, when that is due."""
    speaker = room.members[agent]
    if not speaker.reflects:
        return

    def absorb(reply: Reply) -> Event:
        text, reason = speaker.absorb_reflection(reply)
        return Private(room.id, round_, iteration, agent, "reflection", text, reason, raw_of(reply, text))

    yield PreTurnRequest(
        agent, speaker.compose_reflection(room.seed(context, agent, "reflection", iteration=iteration)), absorb
    )


def thought(
    room: RoomState, round_: int, iteration: int, agent: int, form: str, context: RunContext
) -> Iterator[PreTurnRequest]:
    """The note that an ability makes; none of somebody who cannot speak now."""
    speaker = room.members[agent]
    if speaker.ability is None or speaker.blocked_reason(form) is not None:
        return
    purpose = speaker.ability.name

    def absorb(reply: Reply) -> Event:
        text, reason = speaker.absorb_thought(reply)
        return Private(room.id, round_, iteration, agent, purpose, text, reason, raw_of(reply, text))

    request = speaker.compose_thought(room.seed(context, agent, purpose, iteration=iteration))
    yield PreTurnRequest(agent, request, absorb)


def raw_of(reply: Reply, text: str | None) -> str | None:
    """The reply where it differs from what was read of it."""
    return reply.text if reply.text != text else None


PRE_TURN_REQUESTS = (summary, importance, reflection, thought)
"""In the order in which they are run."""
