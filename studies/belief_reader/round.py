"""A round of a network with readers: debaters speak, the judge tags what readers heard, and readers move.

Before the first round the judge is asked about the known lines of the topic. Each line is asked about once, however many hear it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

import pandas as pd

from parley.agents.topic import Topic
from parley.analysis.judging import compose, read
from parley.environments.base import MEDIATOR, Room
from parley.llm.driver import Conversation, ask_all
from parley.model.agent_factory import named_voice
from parley.model.debate import DebateModel
from parley.model.events import Event, Heard, Utterance
from parley.model.network_round import run_network_round
from parley.model.room import RoomState, record_call

from .environment import JUDGE, Readers
from .events import Examined, Tagged
from .exam import examine, likelihood
from .known_lines import known_lines
from .reader import Reader, Weights, read_weights
from .seats import ReaderSeat
from .tags import PARTS, Tag, item_of, rubric_of, said


class Tagging(NamedTuple):
    """What the judge said of a line, and why parts are missing."""

    tag: Tag
    reasons: tuple[str, str, str]


def run_reading_round(room: RoomState, rules: Readers, view: Room, model: DebateModel) -> Conversation[list[Event]]:
    """Run a round, and return its events."""
    topic = model.setup.subject.topic_named(room.topic)
    events: list[Event] = []
    readers = {number: member for number, member in room.members.items() if isinstance(member, ReaderSeat)}
    if any(member.reader is None for member in readers.values()):
        yield from _examine(room, rules, model, topic, list(readers.values()), events)
    played = yield from run_network_round(room, rules, view, model.setup.reply_form(room.round))
    events += played
    yield from _read(room, model, topic, readers, played, events)
    return events


def _examine(
    room: RoomState,
    rules: Readers,
    model: DebateModel,
    topic: Topic,
    readers: Sequence[ReaderSeat],
    events: list[Event],
) -> Conversation[None]:
    """Ask about the known lines of the topic, and let readers begin with what the judge's answers are worth."""
    known = known_lines(topic.slug)
    taggings = yield from _tag(room, model, topic, list(known["text"]), events)
    rows = known.rename(columns={part: f"true_{part}" for part in PARTS})
    tagged = rows.join(pd.DataFrame([tagging.tag for tagging in taggings], columns=list(PARTS)))
    for row, tagging in zip(known.itertuples(), taggings, strict=True):
        true = (str(row.direction), str(row.reason), str(row.appeal))
        events.append(
            Examined(room.id, room.round, str(row.text), str(row.core), true, _three(tagging.tag), tagging.reasons)
        )
    worth = likelihood(examine(tagged, topic))
    weights = read_weights(Path(rules.weights)) if rules.weights else Weights()
    for member in readers:
        member.reader = Reader.begin(member.begun, worth, weights)


def _read(
    room: RoomState,
    model: DebateModel,
    topic: Topic,
    readers: dict[int, ReaderSeat],
    played: Sequence[Event],
    events: list[Event],
) -> Conversation[None]:
    """Tag the lines of this round that a reader heard, and let readers read them: lines from outside first."""
    lines = {event.iteration: event.text or "" for event in played if isinstance(event, Utterance)}
    lines |= {number: post[1] for number, post in room.posts.items() if number not in lines}
    heard = {event.agent: event.iterations for event in played if isinstance(event, Heard) and event.agent in readers}
    texts = [text for member in readers.values() for text in member.outside]
    texts += [lines[number] for numbers in heard.values() for number in numbers]
    texts_once = list(dict.fromkeys(texts))
    tags = yield from _tag(room, model, topic, texts_once, events)
    taggings = dict(zip(texts_once, tags, strict=True))
    for text in dict.fromkeys(text for member in readers.values() for text in member.outside):
        hearers = sum(text in member.outside for member in readers.values())
        events.append(Tagged(room.id, room.round, 0, _three(taggings[text].tag), taggings[text].reasons, hearers, text))
    for number in sorted({number for numbers in heard.values() for number in numbers}):
        tagging, hearers = taggings[lines[number]], sum(number in numbers for numbers in heard.values())
        events.append(Tagged(room.id, room.round, number, _three(tagging.tag), tagging.reasons, hearers))
    for agent, member in readers.items():
        lines_heard = [*member.outside, *(lines[number] for number in heard.get(agent, ()))]
        member.outside = []
        member.read([taggings[text].tag for text in lines_heard])


def _three(tag: Tag) -> tuple[str, str, str]:
    return tag.direction, tag.reason, tag.appeal


def _tag(
    room: RoomState, model: DebateModel, topic: Topic, texts: Sequence[str], events: list[Event]
) -> Conversation[list[Tagging]]:
    """Ask the judge for the three tags of each text."""
    voice, asked = named_voice(model, JUDGE), []
    for text in texts:
        for part in PARTS:
            request = compose(rubric_of(topic, part), item_of(topic, part, text), room.context.seed)
            asked.append((part, replace(request, voice=voice)))
    replies = yield from ask_all([request for _, request in asked])
    verdicts = []
    for (part, request), reply in zip(asked, replies, strict=True):
        record_call(events, room, MEDIATOR, request, reply)
        verdicts.append((part, read(rubric_of(topic, part), [reply])))
    taggings = []
    for place in range(0, len(verdicts), len(PARTS)):
        three = verdicts[place : place + len(PARTS)]
        answers = Tag(*(said(topic, part, verdict) for part, verdict in three))
        reasons = tuple("" if verdict.value is not None else verdict.reason or "empty" for _, verdict in three)
        taggings.append(Tagging(answers, cast("tuple[str, str, str]", reasons)))
    return taggings
