"""One round of a room, as a generator that yields requests and returns events.

`run_round` goes through the turns: a speaker may first be asked for private notes (`PRE_TURN_REQUESTS`), then speaks, and the
hearers remember what it said. A mediator's turn is different: it writes a statement (`_mediate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from parley.agents.agent import DebateAgent
from parley.agents.memory import Retrieval, Trace, memory_line
from parley.agents.participant import Participant
from parley.agents.proxy_seat import ProxySeat
from parley.agents.representative import BALLOT, CRITIQUE
from parley.agents.speech import Speech
from parley.agents.surrogate_agent import SurrogateAgent
from parley.environments.base import MEDIATOR, Turn, concurrent_turns
from parley.environments.dyads import TALK
from parley.llm.driver import Conversation, ask_all, blocks
from parley.llm.request import Reply, Request
from parley.llm.seeding import derive
from parley.model.asked_again import TurnReply, ask_until_said
from parley.model.embedding import embed_memories
from parley.model.events import (
    Balloted,
    Chosen,
    Concluded,
    Event,
    Private,
    Proposed,
    Ranked,
    Represented,
    Summarised,
    Utterance,
)
from parley.model.room import RoomState, is_gone, record_call
from parley.model.surveys import run_surveys

Result = TypeVar("Result")


class ScheduledTurn(NamedTuple):
    """A turn with its number, the form of its text, and who writes the text: the speaker or its representative."""

    iteration: int
    speaker: int
    turn: Turn
    form: str
    writer: DebateAgent | ProxySeat


class Spoken(NamedTuple):
    """A line, with the number of its turn and its form."""

    iteration: int
    turn: Turn
    form: str
    text: str


def run_round(
    room: RoomState, turns: Iterator[Turn], default_form: str = "reply", said: list[Spoken] | None = None
) -> Conversation[list[Event]]:
    """Run the turns of a round. Turns that go together are asked at once; a silent turn is recorded, and no agent hears it.

    `default_form` is the form of a turn that names none: reply, opening or closing. `said` gets the lines.
    """
    events: list[Event] = []
    for wave in concurrent_turns(turns):
        if wave[0].speaker == MEDIATOR:
            yield from _mediate(room, wave[0], events)
        else:
            before, spoken = room.iteration, list[Spoken]()
            for block in blocks(wave):
                spoken += yield from _take_turns(room, block, default_form, events)
            if room.meeting:
                texts = room.meeting.tell_all([[line.iteration, line.text] for line in spoken])
                turn_of = dict(enumerate(wave, before + 1))
                spoken = [Spoken(at, turn_of[at], turn_of[at].form or default_form, text) for at, text in sorted(texts)]
            _tell(room, spoken)
            if said is not None:
                said += spoken
        if room.turn_probes:
            events += yield from run_surveys(room, room.turn_probes)
    return events


def _take_turns(
    room: RoomState, turns: Sequence[Turn], default_form: str, events: list[Event]
) -> Conversation[list[Spoken]]:
    """Ask the speakers of turns that go together, and return their lines, which nobody has heard yet."""
    scheduled = [turn for turn in [_schedule(room, one, default_form) for one in turns] if room.owns(turn.speaker)]
    preparing = [turn for turn in scheduled if turn.writer.prepares and not room.members[turn.speaker].absent]
    if preparing:
        yield from prepare(room, preparing, events)
    questions = [_question(room, turn) for turn in scheduled]
    requests = tuple([question for question in questions if isinstance(question, Request)])
    replies = (yield requests) if requests else ()
    if room.stand_ins and any(map(is_gone, replies)):
        replies = yield from _stand_in(room, scheduled, questions, replies, events)
    turns_said = yield from _ask_again(room, scheduled, questions, replies, events)
    spoken = _speak(room, scheduled, questions, turns_said, events)
    room.steps += 1
    return spoken


def _schedule(room: RoomState, turn: Turn, default_form: str) -> ScheduledTurn:
    """Number a turn. In a talk between two, the speaker learns who will hear it."""
    room.iteration += 1
    form = turn.form or default_form
    if form == TALK:
        room.members[turn.speaker].hearers = tuple([room.members[hearer].name for hearer in turn.hearers])
    return ScheduledTurn(room.iteration, turn.speaker, turn, form, room.writer(turn.speaker, form))


def _question(room: RoomState, scheduled: ScheduledTurn) -> Request | Speech:
    """Return the request for a turn; the line itself where a surrogate speaks or the speaker must be silent."""
    writer, reason = scheduled.writer, scheduled.writer.blocked_reason(scheduled.form)
    if reason is not None:
        return Speech(None, reason)
    seed = room.seed(scheduled.speaker, "speech", 0, scheduled.iteration)
    return writer.say(seed) if isinstance(writer, SurrogateAgent) else writer.compose_speech(seed, scheduled.form)


def _stand_in(
    room: RoomState,
    scheduled: list[ScheduledTurn],
    questions: list[Request | Speech],
    replies: Sequence[Reply],
    events: list[Event],
) -> Conversation[tuple[Reply, ...]]:
    """Let representatives write the critiques of people who are away: their turns get a new writer, question and reply.

    The failed questions to these people are recorded. Return the replies of the wave.
    """
    places = [place for place, question in enumerate(questions) if isinstance(question, Request)]
    replies_by_place, taken = dict(zip(places, replies, strict=True)), list[int]()
    for place, reply in replies_by_place.items():
        turn, question, proxy = scheduled[place], questions[place], room.stand_ins.get(scheduled[place].speaker)
        if (
            proxy
            and is_gone(reply)
            and turn.form == CRITIQUE
            and proxy.takes(CRITIQUE)
            and isinstance(question, Request)
        ):
            record_call(events, room, turn.speaker, question, reply)
            seed = room.seed(turn.speaker, "stand-in", 0, turn.iteration)
            scheduled[place], questions[place] = turn._replace(writer=proxy), proxy.compose_speech(seed, turn.form)
            taken.append(place)
    requests = [question for place in taken if isinstance(question := questions[place], Request)]
    written = yield from ask_all(requests)
    return tuple((replies_by_place | dict(zip(taken, written, strict=True))).values())


def _ask_again(
    room: RoomState,
    scheduled: Sequence[ScheduledTurn],
    questions: Sequence[Request | Speech],
    replies: Sequence[Reply],
    events: list[Event],
) -> Conversation[dict[int, TurnReply]]:
    """Return the reply to each turn that was asked for, by its place in the wave. Models are asked again where a reply holds no
    line of the speaker; people are not.
    """
    requests = [(place, question) for place, question in enumerate(questions) if isinstance(question, Request)]
    turns = {place: TurnReply(request, reply) for (place, request), reply in zip(requests, replies, strict=True)}
    of_models = {place: turn for place, turn in turns.items() if turn.request.voice not in room.context.people}

    def compose(place: int, attempt: int) -> Request:
        turn = scheduled[place]
        return turn.writer.compose_speech(room.seed(turn.speaker, "speech", attempt, turn.iteration), turn.form)

    def record(place: int, request: Request, reply: Reply) -> None:
        room.mark(events, len(PRE_TURN_REQUESTS) + len(of_models[place].earlier), scheduled[place].iteration)
        record_call(events, room, _caller(scheduled[place]), request, reply)

    yield from ask_until_said(
        of_models, lambda place, reply: scheduled[place].writer.read_speech(reply), compose, record, room.context.asks
    )
    return turns | of_models


def _caller(turn: ScheduledTurn) -> int:
    """Return the number of the agent whose call it is: that of a representative is its member's with a minus sign."""
    return -turn.speaker if isinstance(turn.writer, ProxySeat) else turn.speaker


def _speak(
    room: RoomState,
    scheduled: Sequence[ScheduledTurn],
    questions: Sequence[Request | Speech],
    turns: Mapping[int, TurnReply],
    events: list[Event],
) -> list[Spoken]:
    """Read the replies to turns that go together; return the lines. A speaker remembers its own line before others' lines."""
    speeches = [
        question if isinstance(question, Speech) else turn.writer.absorb_speech(turns[place].reply)
        for place, (turn, question) in enumerate(zip(scheduled, questions, strict=True))
    ]
    spoken = []
    for place, (scheduled_turn, speech) in enumerate(zip(scheduled, speeches, strict=True)):
        iteration, speaker, turn, form, writer = scheduled_turn
        room.mark(events, len(PRE_TURN_REQUESTS) + room.context.asks, iteration)
        if speech.text is not None:
            spoken.append(Spoken(iteration, turn, form, speech.text))
        answer = turns.get(place)
        if answer and isinstance(writer, ProxySeat):
            events.append(Represented(room.id, room.round, iteration, speaker, writer.knows, writer.told, form))
        events.append(utterance((room.id, room.round, iteration, speaker), speech, form, answer))
        if room.context.preview:
            room.context.preview.preview(events[-1])
        if answer:
            record_call(events, room, _caller(scheduled_turn), answer.request, answer.reply)
    return spoken


def _tell(room: RoomState, spoken: Sequence[Spoken]) -> None:
    """Let the hearers of lines remember them."""
    for iteration, turn, form, text in spoken:
        name = room.members[turn.speaker].name
        room.tell(turn, name, text, form, iteration)
        if form != TALK:
            room.public_lines.append((name, text))


def utterance(place: tuple[str, int, int, int], speech: Speech, form: str, answer: TurnReply | None) -> Utterance:
    """Return the event of a turn. place: room, round, iteration, agent. answer: None where nothing was asked."""
    if answer is None:
        return Utterance(*place, speech.text, speech.reason, form=form)
    raw = _raw_of(answer.reply, speech.text)
    return Utterance(*place, speech.text, speech.reason, raw, form, speech.mended, answer.earlier)


def _mediate(room: RoomState, turn: Turn, events: list[Event]) -> Conversation[None]:
    """Let the mediator write its statement; record the candidates and the predicted rankings behind it."""
    assert room.mediator is not None
    room.iteration += 1
    place = (room.id, room.round, room.iteration)
    positions = {number: getattr(member, "position", None) for number, member in room.members.items()}
    calls: list[Event] = []
    seed = partial(derive, room.context.seed, room.id, "mediator", room.iteration)
    ids, members = list(room.members), list(room.members.values())

    def own_ballot(place: int, statements: Sequence[str], seed: int, again: bool) -> Request | None:
        member = members[place]
        if not isinstance(member, Participant) or member.absent:
            return None
        return room.voter(ids[place], BALLOT).compose_ballot(statements, seed, again)

    conversation = room.mediator.speak(positions, seed, own_ballot)
    statement = yield from _watch_replies(conversation, partial(record_call, calls, room, MEDIATOR))
    if statement.text is not None:
        room.statements[turn.form if room.round < 3 else f"{turn.form} {room.round}"] = statement.text
        room.tell(turn, room.mediator.name, statement.text, turn.form, room.iteration)
    for number, draft in enumerate(statement.candidates):
        events.append(Proposed(*place, number, draft.text, draft.reason, draft.raw, draft.asked))
    for of in statement.rankings:
        events.append(Ranked(*place, ids[of.member], of.order, of.reason, of.raw, of.asked, of.earlier))
    for of in statement.own:
        if isinstance(proxy := room.voter(ids[of.member], BALLOT), ProxySeat):
            events.append(Represented(*place, ids[of.member], proxy.knows, proxy.told, BALLOT))
        events.append(Balloted(*place, ids[of.member], of.order, of.reason, of.raw, of.asked, of.earlier))
    if statement.order:
        events.append(Chosen(*place, statement.order, statement.tied))
    events.append(Utterance(*place, MEDIATOR, statement.text, statement.reason, statement.raw, turn.form))
    events += calls


def _watch_replies(conversation: Conversation[Result], watch: Callable[[Request, Reply], None]) -> Conversation[Result]:
    """Run a conversation, and call `watch` with every request and its reply."""
    try:
        requests = next(conversation)
        while True:
            replies = yield requests
            for request, reply in zip(requests, replies, strict=True):
                watch(request, reply)
            requests = conversation.send(replies)
    except StopIteration as stop:
        result: Result = stop.value
        return result


class PreTurnRequest(NamedTuple):
    """A request of an agent to itself. `absorb` hands the reply to the agent, and returns the events to record."""

    speaker: int
    request: Request
    absorb: Callable[[Reply], list[Event]]


def prepare(room: RoomState, scheduled: Sequence[ScheduledTurn], events: list[Event]) -> Conversation[None]:
    """Ask the next speakers for private notes: one kind of note after the other, each of all speakers at once."""
    yield from embed_memories(room, [turn.speaker for turn in scheduled], events)
    for number, kind in enumerate(PRE_TURN_REQUESTS):
        note_requests = [(turn.iteration, request) for turn in scheduled for request in kind(room, turn)]
        replies = yield from ask_all([note_request.request for _, note_request in note_requests])
        for (iteration, (speaker, request, absorb)), reply in zip(note_requests, replies, strict=True):
            room.mark(events, number, iteration)
            events += absorb(reply)
            record_call(events, room, speaker, request, reply)


def summary(room: RoomState, scheduled: ScheduledTurn) -> Iterator[PreTurnRequest]:
    """Ask for a summary of the lines that the agent is about to forget."""
    speaker = room.members[scheduled.speaker]
    if not speaker.memory.overflows:
        return

    def absorb(reply: Reply) -> list[Event]:
        speaker.absorb_summary(reply)
        reason = reply.failure.name if reply.failure else None
        return [Summarised(room.id, room.round, scheduled.iteration, scheduled.speaker, reply.text, reason)]

    request = speaker.compose_summary(room.seed(scheduled.speaker, "summary", iteration=scheduled.iteration))
    yield PreTurnRequest(scheduled.speaker, request, absorb)


def importance(room: RoomState, scheduled: ScheduledTurn) -> Iterator[PreTurnRequest]:
    """Ask how important each new line is."""
    speaker = room.members[scheduled.speaker]

    def read(trace: Trace, reply: Reply) -> tuple[str | None, str | None]:
        value, reason = speaker.absorb_importance(reply, trace)
        return None if value is None else f"{value:g}", reason

    for number, trace in enumerate(speaker.unweighed()):
        seed = room.seed(scheduled.speaker, "importance", number, scheduled.iteration)
        request = speaker.compose_importance(trace, seed)
        line = trace.text if trace.name is None else f"{trace.name}: {trace.text}"
        yield _private(room, scheduled, "importance", request, partial(read, trace), line)


def reflection(room: RoomState, scheduled: ScheduledTurn) -> Iterator[PreTurnRequest]:
    """Ask for conclusions from the latest lines, when they are due."""
    speaker = room.members[scheduled.speaker]
    if speaker.reflects:
        request = speaker.compose_reflection(room.seed(scheduled.speaker, "reflection", iteration=scheduled.iteration))
        note_request = _private(room, scheduled, "reflection", request, speaker.absorb_reflection)
        yield note_request._replace(absorb=lambda reply: [*note_request.absorb(reply), *_insights(room, scheduled)])


def _insights(room: RoomState, scheduled: ScheduledTurn) -> Iterator[Event]:
    """Yield the insights that the speaker has just written, if they cite memories."""
    speaker = room.members[scheduled.speaker]
    if not speaker.style.evidence or not isinstance(speaker.memory, Retrieval):
        return
    place, language = (room.id, room.round, scheduled.iteration, scheduled.speaker), speaker.topic.language
    for trace in speaker.memory.insights:
        reason = None if trace.depth else "unknown_depth" if trace.sources else "no_evidence"
        parents = tuple([source.number for source in trace.sources if source.insight])
        lines = tuple([memory_line(source, language) for source in trace.sources if not source.insight])
        yield Concluded(*place, trace.number, trace.text, trace.depth, reason, parents, lines)


def plan(room: RoomState, scheduled: ScheduledTurn) -> Iterator[PreTurnRequest]:
    """Ask for the plan of the day before the agent's first turn in it, unless the agent cannot speak now."""
    speaker = room.members[scheduled.speaker]
    if speaker.plans(room.round) and speaker.blocked_reason(scheduled.form) is None:
        request = speaker.compose_plan(room.seed(scheduled.speaker, "plan", iteration=scheduled.iteration))
        yield _private(room, scheduled, "plan", request, partial(speaker.absorb_plan, round_=room.round))


def thought(room: RoomState, scheduled: ScheduledTurn) -> Iterator[PreTurnRequest]:
    """Ask for the note of the agent's ability, unless the agent cannot speak now."""
    speaker = room.members[scheduled.speaker]
    if speaker.ability is not None and speaker.blocked_reason(scheduled.form) is None:
        purpose = speaker.ability.name
        request = speaker.compose_thought(room.seed(scheduled.speaker, purpose, iteration=scheduled.iteration))
        yield _private(room, scheduled, purpose, request, speaker.absorb_thought)


def _private(
    room: RoomState,
    scheduled: ScheduledTurn,
    purpose: str,
    request: Request,
    read: Callable[[Reply], tuple[str | None, str | None]],
    line: str | None = None,
) -> PreTurnRequest:
    """Return a request whose reply is recorded as a private note. `read` returns its text and the reason where it is missing."""

    def absorb(reply: Reply) -> list[Event]:
        text, reason = read(reply)
        place = (room.id, room.round, scheduled.iteration, scheduled.speaker)
        return [Private(*place, purpose, text, reason, _raw_of(reply, text), line)]

    return PreTurnRequest(scheduled.speaker, request, absorb)


def _raw_of(reply: Reply, text: str | None) -> str | None:
    """Return the reply where it differs from the text that was read from it."""
    return reply.text if reply.text != text else None


PRE_TURN_REQUESTS = (summary, importance, reflection, plan, thought)
"""The private notes before a turn, in the order in which they are asked for."""
