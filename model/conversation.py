"""The conversations of one room, as generators that yield requests and return events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agents.debater import Debater
from agents.topic import Probe
from environments.base import Turn
from llm.driver import Conversation, ask, ask_all
from llm.randomness import derive
from llm.request import Reply, Request
from model.events import Called, Event, Rated, Summarised, Thought, Utterance
from model.prefix import as_text, common, with_reply


@dataclass(slots=True)
class Desk:
    """What a conversation is stamped with: the run's seed and, when calls are recorded, the key of a request."""

    seed: int
    key: Callable[[Request], bytes] | None = None


@dataclass(slots=True)
class RoomState:
    """One room on its way: its agents by id, in seat order, the count of turns so far, and what each agent sent last."""

    id: str
    topic: str
    group: str
    repetition: int
    members: dict[int, Debater]
    seats: dict[int, str]
    iteration: int = 0
    sent: dict[int, str] = field(default_factory=dict)

    def seed(self, desk: Desk, agent: int, purpose: str, attempt: int = 0) -> int:
        """The seed of one request. It names the seat, not the agent's number: the same in any selection of rooms."""
        return derive(desk.seed, self.id, self.seats[agent], self.iteration, purpose, attempt)


def hold_round(
    room: RoomState, turns: Iterator[Turn], round_: int, desk: Desk, statement: str = "reply"
) -> Conversation[list[Event]]:
    """One round of turns: each speaker is asked, its words go to the hearers; a silent turn is recorded and heard by nobody."""
    events: list[Event] = []
    for turn in turns:
        speaker = room.members[turn.speaker]
        room.iteration += 1
        if speaker.memory.overflows:
            yield from _summarise(room, speaker, turn.speaker, round_, desk, events)
        request = speaker.compose_speech(room.seed(desk, turn.speaker, "speech"), statement)
        reply = yield from ask(request)
        speech = speaker.absorb_speech(reply)
        if speech.text is not None:
            for hearer in turn.hearers:
                room.members[hearer].hear(speaker.name, speech.text)
        raw = reply.text if reply.text != speech.text else None
        events.append(Utterance(room.id, round_, room.iteration, turn.speaker, speech.text, speech.reason, raw))
        _note(events, room, round_, turn.speaker, request, reply, desk)
    return events


def hold_survey(room: RoomState, round_: int, probe: Probe, asks: int, desk: Desk) -> Conversation[list[Event]]:
    """Ask every member of the room at once; an answer that cannot be read is asked again, up to `asks` times in all."""
    calls: list[Event] = []
    rated: dict[int, Rated] = {}
    unread: dict[int, tuple[str | None, ...]] = dict.fromkeys(room.members, ())
    waiting = list(room.members)
    for attempt in range(asks):
        requests = [
            room.members[agent].compose_survey(probe, room.seed(desk, agent, probe.name, attempt), attempt > 0)
            for agent in waiting
        ]
        replies = yield from ask_all(requests)
        for agent, request, reply in zip(waiting, requests, replies, strict=True):
            rated[agent] = _rated(room, round_, agent, probe, reply, unread[agent])
            unread[agent] += (reply.text,)
            _note(calls, room, round_, agent, request, reply, desk)
        waiting = [
            agent
            for agent, reply in zip(waiting, replies, strict=True)
            if rated[agent].rating is None and reply.failure is None
        ]
        if not waiting:
            break
    return [*rated.values(), *calls]


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


def _summarise(
    room: RoomState, speaker: Debater, agent: int, round_: int, desk: Desk, events: list[Event]
) -> Conversation[None]:
    request = speaker.compose_summary(room.seed(desk, agent, "summary"))
    reply = yield from ask(request)
    speaker.absorb_summary(reply)
    reason = reply.failure.name if reply.failure else None
    events.append(Summarised(room.id, round_, room.iteration, agent, reply.text, reason))
    _note(events, room, round_, agent, request, reply, desk)


def _note(
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
