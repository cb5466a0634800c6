"""The conversations of one room, as generators that yield requests and return events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from parley.agents.debater import Member, Speech
from parley.agents.proxy import Proxy
from parley.agents.standin import StandIn
from parley.environments.base import MEDIATOR, Turn, waves
from parley.environments.dyads import TALK
from parley.llm.driver import Conversation, ask_all
from parley.llm.randomness import derive
from parley.llm.request import Reply, Request
from parley.model.errands import ERRANDS
from parley.model.events import Chosen, Event, Proposed, Ranked, Represented, Utterance
from parley.model.room import Desk, RoomState, note
from parley.model.surveys import hold_surveys

Result = TypeVar("Result")


class Due(NamedTuple):
    """A turn at its number, and who writes what is said: its speaker, or that one's representative."""

    iteration: int
    turn: Turn
    form: str
    writer: Member | Proxy


def hold_round(
    room: RoomState, turns: Iterator[Turn], round_: int, desk: Desk, statement: str = "reply"
) -> Conversation[list[Event]]:
    """One round of turns: each speaker is asked, its words go to the hearers; a silent turn is recorded and heard by nobody.

    `statement` is what is asked for where the turn does not say it. Turns that go together are asked at once.
    """
    events: list[Event] = []
    for wave in waves(turns):
        if wave[0].speaker == MEDIATOR:
            yield from _mediate(room, wave[0], round_, desk, events)
        else:
            lot = _due(room, wave, statement)
            preparing = [due for due in lot if due.writer.prepares and not room.members[due.turn.speaker].absent]
            if preparing:
                yield from _prepare(room, preparing, round_, desk, events)
            asked = [_asked(room, desk, due) for due in lot]
            requests = tuple([one for one in asked if isinstance(one, Request)])
            _spoken(room, round_, lot, asked, (yield requests) if requests else (), desk, events)
        if room.each_turn:
            events += yield from hold_surveys(room, round_, room.each_turn, desk.asks, desk)
    return events


def _due(room: RoomState, wave: Sequence[Turn], statement: str) -> list[Due]:
    """Turns that go together, numbered."""
    lot = []
    for turn in wave:
        room.iteration += 1
        form = turn.form or statement
        if form == TALK:
            room.members[turn.speaker].hearers = tuple([room.members[one].name for one in turn.hearers])
        lot.append(Due(room.iteration, turn, form, room.writer(turn.speaker, form)))
    return lot


def _asked(room: RoomState, desk: Desk, due: Due) -> Request | Speech:
    """What a speaker is asked; what a stand-in says, and the silence of who cannot be asked."""
    reason = due.writer.unable(due.form)
    if reason is not None:
        return Speech(None, reason)
    seed = room.seed(desk, due.turn.speaker, "speech", 0, due.iteration)
    return due.writer.say(seed) if isinstance(due.writer, StandIn) else due.writer.compose_speech(seed, due.form)


def _spoken(
    room: RoomState,
    round_: int,
    lot: Sequence[Due],
    asked: Sequence[Request | Speech],
    replies: Sequence[Reply],
    desk: Desk,
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
        if reply and isinstance(writer, Proxy):
            events.append(Represented(room.id, round_, iteration, turn.speaker, writer.knows, writer.told))
        raw = reply.text if reply and reply.text != speech.text else None
        events.append(Utterance(room.id, round_, iteration, turn.speaker, speech.text, speech.reason, raw, form))
        if reply and isinstance(request, Request):
            caller = -turn.speaker if isinstance(writer, Proxy) else turn.speaker
            note(events, room, round_, caller, request, reply, desk)


def _outcome(due: Due, asked: Request | Speech, replies: Iterator[Reply]) -> tuple[Speech, Reply | None]:
    """What was said, and the reply that it was made of."""
    if isinstance(asked, Speech):
        return asked, None
    reply = next(replies)
    return due.writer.absorb_speech(reply), reply


def _mediate(room: RoomState, turn: Turn, round_: int, desk: Desk, events: list[Event]) -> Conversation[None]:
    """The mediator's statement, and what it considered."""
    assert room.chair is not None
    room.iteration += 1
    here = (room.id, round_, room.iteration)
    positions = {number: getattr(member, "position", None) for number, member in room.members.items()}
    calls: list[Event] = []
    talk = room.chair.speak(positions, partial(derive, desk.seed, room.id, "mediator", room.iteration))
    said = yield from noted(talk, lambda request, reply: note(calls, room, round_, MEDIATOR, request, reply, desk))
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


def noted(talk: Conversation[Result], each: Callable[[Request, Reply], object]) -> Conversation[Result]:
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


def _prepare(room: RoomState, lot: Sequence[Due], round_: int, desk: Desk, events: list[Event]) -> Conversation[None]:
    """What those who are about to speak ask themselves, one kind of question after the other, each of all of them at once."""
    for kind in ERRANDS:
        errands = [one for due in lot for one in kind(room, round_, due.iteration, due.turn.speaker, due.form, desk)]
        replies = yield from ask_all([errand.request for errand in errands])
        for errand, reply in zip(errands, replies, strict=True):
            events.append(errand.absorb(reply))
            note(events, room, round_, errand.agent, errand.request, reply, desk)
