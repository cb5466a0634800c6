"""The conversations of one room, as generators that yield requests and return events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from agents.debater import Member, Speech
from agents.mediator import Chair
from agents.proxy import CRITIQUE, Proxy
from agents.topic import Probe
from environments._society import Society
from environments.base import MEDIATOR, Turn, waves
from environments.dyads import TALK
from llm.driver import Conversation, ask_all
from llm.randomness import derive
from llm.request import Reply, Request
from model.errands import ERRANDS
from model.events import Called, Chosen, Event, Proposed, Ranked, Rated, Represented, Thought, Utterance
from model.prefix import as_text, common, with_reply

Key = TypeVar("Key")
Result = TypeVar("Result")
LATEST = 64
"""Public lines that a room keeps for who reads them from outside."""


@dataclass(slots=True)
class Desk:
    """What a conversation is stamped with: the run's seed and, when calls are recorded, the key of a request.

    `asks` is how often a probe that is asked after every turn is put.
    """

    seed: int
    key: Callable[[Request], bytes] | None = None
    asks: int = 1


@dataclass(slots=True)
class RoomState:
    """One room on its way: its agents by id, in seat order, the count of turns so far, and what each agent sent last.

    `chair` is its mediator, if it has one, and `statements` what that one said so far: draft, revision, revision 3, ...
    Of a network `society` has the links, `heard` which turns of the round each agent heard, and `said` what can still be shown.
    `each_turn` are the probes that everybody is asked after every turn.
    `public` are the latest lines that were not said to one person alone (name, text).
    `proxies` are the representatives of its members, by the member's id.
    """

    id: str
    topic: str
    group: str
    repetition: int
    members: dict[int, Member]
    seats: dict[int, str]
    iteration: int = 0
    sent: dict[int, str] = field(default_factory=dict)
    chair: Chair | None = None
    statements: dict[str, str] = field(default_factory=dict)
    society: Society | None = None
    heard: dict[int, list[int]] = field(default_factory=dict)
    said: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    each_turn: Sequence[Probe] = ()
    proxies: dict[int, Proxy] = field(default_factory=dict)
    public: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=LATEST))

    def writer(self, agent: int, form: str) -> Member | Proxy:
        """Who writes what an agent is asked for: itself, or of a critique its representative, if it has one that can."""
        proxy = self.proxies.get(agent)
        return proxy if proxy and form == CRITIQUE and proxy.ready else self.members[agent]

    def caller(self, agent: int, form: str) -> int:
        """Whose call it is: an agent's, or with a minus before it its representative's."""
        return agent if self.writer(agent, form) is self.members[agent] else -agent

    def seed(self, desk: Desk, agent: int, purpose: str, attempt: int = 0, iteration: int | None = None) -> int:
        """The seed of one request, at a turn or (None) the last one.

        It names the seat, not the agent's number: the same in any selection of rooms.
        """
        at = self.iteration if iteration is None else iteration
        return derive(desk.seed, self.id, self.seats[agent], at, purpose, attempt)

    def tell(self, turn: Turn, name: str, text: str, form: str, iteration: int) -> None:
        """Give what was said to those who hear it."""
        members, networked = self.members, self.society is not None
        for hearer in turn.hearers:
            if hearer in members:
                if members[hearer].absent:
                    continue
                members[hearer].hear(name, text, form)
                if networked:
                    self.heard.setdefault(hearer, []).append(iteration)
            elif self.chair and hearer == MEDIATOR:
                self.chair.hear(turn.speaker, text, form)


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
            if room.each_turn:
                events += yield from hold_surveys(room, round_, room.each_turn, desk.asks, desk)
            continue
        lot = [
            (iteration, turn.speaker, turn.form or statement) for iteration, turn in enumerate(wave, room.iteration + 1)
        ]
        room.iteration += len(wave)
        own = [one for one in lot if not room.members[one[1]].absent]
        own = [one for one in own if room.caller(*one[1:]) > 0] if room.proxies else own
        for turn in wave:
            if turn.form == TALK:
                room.members[turn.speaker].hearers = tuple([room.members[one].name for one in turn.hearers])
        if any(room.members[agent].prepares for _, agent, _ in own):
            yield from _prepare(room, own, round_, desk, events)
        asked = [_asked(room, desk, *one) for one in lot]
        requests = tuple([request for request in asked if request])
        landed = iter((yield requests) if requests else ())
        replies = [next(landed) if request else None for request in asked]
        said = [_said(room, turn, turn.form or statement, reply) for turn, reply in zip(wave, replies, strict=True)]
        first = room.iteration - len(wave) + 1
        for iteration, (turn, request, reply, speech) in enumerate(zip(wave, asked, replies, said, strict=True), first):
            form = turn.form or statement
            _spoken(room, turn, form, round_, iteration, reply, speech, events)
            if request and reply:
                note(events, room, round_, room.caller(turn.speaker, form), request, reply, desk)
        if room.each_turn:
            events += yield from hold_surveys(room, round_, room.each_turn, desk.asks, desk)
    return events


def _said(room: RoomState, turn: Turn, form: str, reply: Reply | None) -> Speech:
    """What somebody said, which it remembers before it hears those who spoke with it. No reply: it could not be asked."""
    speaker = room.writer(turn.speaker, form)
    return speaker.absorb_speech(reply) if reply else Speech(None, speaker.unable(form))


def _spoken(
    room: RoomState,
    turn: Turn,
    form: str,
    round_: int,
    iteration: int,
    reply: Reply | None,
    speech: Speech,
    events: list[Event],
) -> None:
    """What became of a turn: heard and recorded, or recorded alone."""
    if speech.text is not None:
        name = room.members[turn.speaker].name
        room.tell(turn, name, speech.text, form, iteration)
        if form != TALK:
            room.public.append((name, speech.text))
    raw = reply.text if reply and reply.text != speech.text else None
    writer = room.writer(turn.speaker, form)
    if reply and isinstance(writer, Proxy):
        events.append(Represented(room.id, round_, iteration, turn.speaker, writer.knows, writer.told))
    events.append(Utterance(room.id, round_, iteration, turn.speaker, speech.text, speech.reason, raw, form))


def hold_survey(room: RoomState, round_: int, probe: Probe, asks: int, desk: Desk) -> Conversation[list[Event]]:
    """Ask all who are there at once; an answer that cannot be read is asked again, up to `asks` times in all."""
    calls: list[Event] = []
    rated: dict[int, Rated] = {}

    def compose(agent: int, attempt: int) -> Request:
        return room.members[agent].compose_survey(probe, room.seed(desk, agent, probe.name, attempt), attempt > 0)

    def absorb(agent: int, request: Request, reply: Reply) -> bool:
        earlier = (*rated[agent].earlier, rated[agent].raw) if agent in rated else ()
        rated[agent] = _rated(room, round_, agent, probe, reply, earlier)
        note(calls, room, round_, agent, request, reply, desk)
        return rated[agent].rating is not None or reply.failure is not None

    there = [agent for agent, member in room.members.items() if not member.absent]
    yield from ask_until(there, compose, absorb, asks)
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
    room: RoomState, round_: int, agent: int, probe: Probe, reply: Reply, earlier: tuple[str | None, ...]
) -> Rated:
    rating = room.members[agent].absorb_survey(reply, probe)
    values = (
        rating.value,
        rating.attitude,
        rating.expected,
        rating.probabilities,
        rating.reason,
        rating.raw,
        rating.how,
    )
    return Rated(room.id, round_, room.iteration, agent, probe.name, *values, len(earlier) + 1, earlier)


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


def _prepare(
    room: RoomState, lot: list[tuple[int, int, str]], round_: int, desk: Desk, events: list[Event]
) -> Conversation[None]:
    """What those who are about to speak ask themselves, one kind of question after the other, each of all of them at once."""
    for kind in ERRANDS:
        errands = [one for iteration, agent, form in lot for one in kind(room, round_, iteration, agent, form, desk)]
        replies = yield from ask_all([errand.request for errand in errands])
        for errand, reply in zip(errands, replies, strict=True):
            events.append(errand.absorb(reply))
            note(events, room, round_, errand.agent, errand.request, reply, desk)


def _asked(room: RoomState, desk: Desk, iteration: int, agent: int, form: str) -> Request | None:
    """What a speaker is asked; None where it cannot be."""
    speaker = room.writer(agent, form)
    if speaker.unable(form) is not None:
        return None
    return speaker.compose_speech(room.seed(desk, agent, "speech", iteration=iteration), form)


def note(
    events: list[Event], room: RoomState, round_: int, agent: int, request: Request, reply: Reply, desk: Desk
) -> None:
    if desk.key is None:
        return
    failure, key = reply.failure.name if reply.failure else None, desk.key(request).hex()
    text = as_text(request)
    told = len(text), common(text, room.sent.get(agent, ""))
    room.sent[agent] = with_reply(text, reply)
    events.append(Called(room.id, round_, agent, request.purpose, key, failure, *reply.usage, dict(reply.notes), *told))
    if reply.thinking:
        events.append(Thought(room.id, round_, agent, request.purpose, key, reply.thinking))
