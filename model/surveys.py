"""Surveys of one room, as generators that yield requests and return events.

After a private deliberation, members also rate the mediator's statements and fill in the questionnaire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from parley.agents.participant import Participant, agreement_probe
from parley.agents.probe import Probe
from parley.agents.question import questionnaire
from parley.agents.reasoning import note_in, plain_note
from parley.agents.recollection import AGAIN, FULL, WITHOUT, asked_and_truth, conditions_of, interview_questions
from parley.agents.society import Society
from parley.agents.speech import Rating
from parley.agents.surrogate_agent import SurrogateAgent
from parley.agents.topic import Topic
from parley.llm.driver import Conversation, ask_all, blocks
from parley.llm.exchange import Meeting
from parley.llm.request import Reply, Request
from parley.model.embedding import embed_memories
from parley.model.events import Answered, Event, Interviewed, Rated
from parley.model.room import NO_CONSENT, RoomState, record_call

Key = TypeVar("Key")


def run_surveys(room: RoomState, ask: Callable[[Topic], Sequence[Probe]]) -> Conversation[list[Event]]:
    """Ask one survey question after the other. Agents remember neither a question nor an answer.

    ask: the questions on a topic. People who speak another language than the society have the topic in theirs.
    """
    topics = {member.topic.spoken: member.topic for member in room.members.values()}
    questions, events = list(zip(*map(ask, topics.values()), strict=True)), list[Event]()
    if questions:
        yield from embed_memories(room, room.members, events)
    for probes in questions:
        events += yield from run_survey(room, dict(zip(topics, probes, strict=True)))
    return events


def run_survey(room: RoomState, probes: Mapping[str, Probe]) -> Conversation[list[Event]]:
    """Ask all agents who are present at once, and ask again where a reply cannot be read.

    A surrogate computes its rating. The rating of an absent agent is missing with the reason `absent`. probes: the question in
    each language (`Topic.spoken`).
    """
    rated, calls, first = list[Event](), list[Event](), room.steps
    probe_of = {agent: probes[member.topic.spoken] for agent, member in room.members.items()}
    ratings: dict[int, Rated] = {}

    def record(agent: int, rating: Rating, calls: int, earlier: tuple[str | None, ...] = ()) -> None:
        answer = rating._asdict()
        value = answer.pop("value")
        ratings[agent] = Rated(
            room.id, room.round, room.iteration, agent, rating=value, asked=calls, earlier=earlier, **answer
        )

    def compose(agent: int, attempt: int) -> Request:
        probe = probe_of[agent]
        return room.members[agent].compose_survey(probe, room.seed(agent, probe.name, attempt), attempt > 0)

    def absorb(agent: int, request: Request, reply: Reply) -> bool:
        earlier = (*ratings[agent].earlier, ratings[agent].raw) if agent in ratings else ()
        rating = room.members[agent].absorb_survey(reply, probe_of[agent])
        record(agent, rating, len(earlier) + 1, earlier)
        room.mark(calls, len(earlier), agent)
        record_call(calls, room, agent, request, reply)
        return rating.value is not None or reply.failure is not None

    to_ask: list[int] = []
    for agent, member in room.members.items():
        probe = probe_of[agent]
        if not (member.absent or isinstance(member, SurrogateAgent)):
            to_ask.append(agent)
        elif not room.owns(agent):
            continue
        elif member.absent:
            record(agent, Rating(probe.name, None, member.why_absent, None, None, None, None, member.style.reader), 0)
        else:
            record(agent, member.rate(probe, room.seed(agent, probe.name)), 0)
    for block in blocks(to_ask):
        yield from ask_with_retries(list(filter(room.owns, block)), compose, absorb, room.context.asks)
        room.steps += 1
    for agent in filter(ratings.__contains__, room.members):
        room.mark(rated, -1, agent, first)
        rated.append(ratings[agent])
    if room.meeting:
        _tell_ratings(room, room.meeting, next(iter(probes.values())).name)
    return [*rated, *calls]


def _tell_ratings(room: RoomState, meeting: Meeting, probe: str) -> None:
    """Let all workers know the ratings of all members: what is said about them, and who hears whom, may depend on these."""
    own = [
        (number, member.ratings[probe])
        for number, member in room.members.items()
        if room.owns(number) and probe in member.ratings
    ]
    for agent, value, attitude in meeting.tell_all([[number, rating.value, rating.attitude] for number, rating in own]):
        if not room.owns(agent):
            room.members[agent].ratings[probe] = Rating(probe, value, None, attitude, None, None, None, "")


def ask_with_retries(
    keys: list[Key], compose: Callable[[Key, int], Request], absorb: Callable[[Key, Request, Reply], bool], asks: int
) -> Conversation[None]:
    """Ask everything at once (at most AT_ONCE questions), and again, up to `asks` times in all, where `absorb` returns False."""
    for block in blocks(keys):
        to_ask = list(block)
        for attempt in range(asks):
            requests = [compose(key, attempt) for key in to_ask]
            replies = yield from ask_all(requests)
            answered = zip(to_ask, requests, replies, strict=True)
            to_ask = [key for key, request, reply in answered if not absorb(key, request, reply)]
            if not to_ask:
                break


def run_closing(room: RoomState, with_questionnaire: bool, phrases: bool) -> Conversation[list[Event]]:
    """Ask for agreement (1-7) with each statement of the mediator, and then perhaps for the questionnaire.

    phrases: whether answers are words, as in the other surveys.
    """
    language = _society(room).language
    probes = [agreement_probe(name, statement, language, phrases) for name, statement in room.statements.items()]
    events = yield from run_surveys(room, lambda topic: probes)
    if with_questionnaire:
        events += yield from run_questionnaire(room)
    return events


def run_interviews(room: RoomState, names: Sequence[str]) -> Conversation[list[Event]]:
    """Ask all agents who are present what they recall, under every condition of their memory. They remember nothing of it."""
    events: list[Event] = []
    yield from embed_memories(room, room.members, events, _recollection_texts(room, names))
    interviews: list[tuple[Interviewed, Request]] = []
    for number, member in room.members.items():
        if member.absent or isinstance(member, SurrogateAgent) or not room.owns(number):
            continue
        room.mark(events, 0, number)
        for question in interview_questions(member.topic.language, names):
            text, truth = asked_and_truth(member, question)
            place = room.id, room.round, number, question.name, question.about
            if truth is None:
                events.append(Interviewed(*place, FULL, text, None, None, "nothing_to_recall"))
                continue
            for condition in conditions_of(member):
                seed = room.seed(number, f"interview {question.name}", int(condition == AGAIN))
                request = member.compose_recollection(question, text, seed, WITHOUT.get(condition, ""))
                interviews.append((Interviewed(*place, condition, text, truth, None, None), request))
    replies = yield from ask_all([request for _, request in interviews])
    for (interviewed, request), reply in zip(interviews, replies, strict=True):
        answer = note_in(reply, plain_note)
        raw = reply.text if reply.text != answer.text else None
        room.mark(events, 1, interviewed.agent)
        events.append(replace(interviewed, text=answer.text, reason=answer.reason, raw=raw))
        record_call(events, room, interviewed.agent, request, reply)
    room.steps += 1
    return events


def _recollection_texts(room: RoomState, names: Sequence[str]) -> list[str]:
    """Return every question of an interview, as the agents of a room are asked it."""
    members = [member for member in room.members.values() if not isinstance(member, SurrogateAgent)]
    pairs = [(member, question) for member in members for question in interview_questions(member.topic.language, names)]
    return list(dict.fromkeys(asked_and_truth(member, question)[0] for member, question in pairs))


def _society(room: RoomState) -> Society:
    return next(iter(room.members.values())).topic.society


def run_questionnaire(room: RoomState) -> Conversation[list[Event]]:
    """Ask every item of every member at once, and ask again where a reply cannot be read."""
    items = {item.name: item for item in questionnaire(_society(room))}
    members = {number: member for number, member in room.members.items() if isinstance(member, Participant)}
    answers: dict[tuple[int, str], Answered] = {}
    calls: list[Event] = []

    def compose(key: tuple[int, str], attempt: int) -> Request:
        agent, name = key
        return members[agent].compose_item(items[name], room.seed(agent, f"item {name}", attempt), attempt > 0)

    def absorb(key: tuple[int, str], request: Request, reply: Reply) -> bool:
        agent, name = key
        earlier = (*answers[key].earlier, answers[key].raw) if key in answers else ()
        chosen = members[agent].absorb_item(reply, items[name])
        answers[key] = Answered(room.id, room.round, agent, name, *chosen, reply.text, len(earlier) + 1, earlier)
        record_call(calls, room, agent, request, reply)
        return chosen.answer is not None or reply.failure is not None

    consenting = {agent for agent, member in members.items() if member.why_absent != NO_CONSENT}
    for agent in members.keys() - consenting:
        for name in items:
            answers[agent, name] = Answered(room.id, room.round, agent, name, None, NO_CONSENT, None, 0, ())
    keys = [(agent, name) for agent in members if agent in consenting for name in items]
    yield from ask_with_retries(keys, compose, absorb, room.context.asks)
    return [*answers.values(), *calls]
