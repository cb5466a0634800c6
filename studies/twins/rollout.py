"""Whole conversations of twins, compared with the real ones: who speaks when is as it was, what they say is new.

A group can be rolled out if two or more of its people wrote messages. Each twin knows what was known of its person before
the group's first message, and then hears and remembers only what the twins say. At the end each is asked the questions that
its person answered after the last message. No real line, no `given` text and no real answer of the conversation is in any prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

import numpy as np
import pandas as pd

from parley.analysis.human.readers import COLUMNS as HUMAN_COLUMNS
from parley.analysis.human.readers import Source, others_mean, toward_majority
from parley.llm.driver import Conversation
from parley.llm.seeding import stream

from .asking import Answered, AskedAnswer, AskedMessage, Told, Written
from .history import LAST, Known, Point, known_before, point_of, strangers
from .people_file import ANSWER, MESSAGE, Event, RecordedPeople
from .study import (
    AGAIN,
    COLUMNS,
    NO_STRANGER,
    OTHERS,
    ROLLOUT,
    STRANGER,
    TWIN,
    UNCHANGED,
    TwinStudy,
    _mean,
    _row,
    baselines,
)

TURNS = 40
"""Turns of a conversation that are rolled out, the first ones."""
REAL, SIMULATED = "people", "twins"


class Conversing(Protocol):
    """What answers and writes as a twin, one question at a time (`asking.Twins`)."""

    def answering(self, asked: AskedAnswer) -> Conversation[Answered]: ...
    def writing(self, asked: AskedMessage) -> Conversation[Written]: ...


@dataclass(frozen=True)
class Course:
    """A real conversation: its turns in order, and the answers that its people gave after the last turn."""

    group: str
    turns: tuple[Event, ...]
    answers: tuple[Event, ...]

    @property
    def start(self) -> int:
        """The order of the first message."""
        return self.turns[0].order

    @property
    def people(self) -> list[str]:
        """Who speaks or answers, in order of appearance."""
        return list(dict.fromkeys(event.person for event in (*self.turns, *self.answers)))


class Ended(dict[Event, Answered]):
    """The answers at the end of a simulated conversation by the real answer; `said`, `lost`: turns with and without a text."""

    said: list[tuple[str, str]]
    lost: int = 0


def courses(people: RecordedPeople, most: int, seed: int) -> list[Course]:
    """Return the conversations that can be rolled out, at most `most`, drawn with the seed."""
    conversations = [course for group, events in people.by_group.items() if (course := _course(people, group, events))]
    return conversations if len(conversations) <= most else stream(seed, "roll-outs").sample(conversations, most)


def _course(people: RecordedPeople, group: str, events: Sequence[Event]) -> Course | None:
    turns = sorted((event for event in events if event.kind == MESSAGE), key=lambda event: event.order)[:TURNS]
    if len({turn.person for turn in turns}) < 2:
        return None
    speakers = list(dict.fromkeys(turn.person for turn in turns))
    last: dict[tuple[str, str], Event] = {}
    for person in speakers:
        for event in sorted(people.by_person[person], key=lambda event: event.order):
            if (
                event.kind == ANSWER
                and event.wave == 1
                and event.order > turns[-1].order
                and event.group in (group, "")
            ):
                last[person, event.topic] = event
    return Course(group, tuple(turns), tuple(last.values())) if last else None


def roll_out(course: Course, people: RecordedPeople, twins: Conversing) -> Conversation[Ended]:
    """Return the conversation of the twins of a course. A turn without a readable text is passed over."""
    said: list[Event] = []
    lost = 0
    for turn in course.turns:
        written = yield from twins.writing((_told(course, people, turn.person, said), turn.topic))
        if written.text is None:
            lost += 1
        else:
            said.append(turn._replace(text=written.text))
    ended = Ended()
    for event in course.answers:
        question = (_told(course, people, event.person, said), event.topic, event.scale)
        ended[event] = yield from twins.answering(question)
    ended.said, ended.lost = [(turn.person, turn.text) for turn in said], lost
    return ended


def _told(course: Course, people: RecordedPeople, person: str, said: Sequence[Event]) -> Told:
    """Return what a twin is told in a simulated conversation: its person's past before it, its own lines, and those of others."""
    past = known_before(people, person, course.start)
    own_lines = tuple(turn for turn in said if turn.person == person)
    heard = [(turn.person, turn.text) for turn in said if turn.person != person and not turn.private][-LAST:]
    return Told(Known(past.attributes, (*past.past, *own_lines)), tuple(heard))


def measure_rollouts(study: TwinStudy, ended: Sequence[Ended]) -> pd.DataFrame:
    """Return the measure of each answer at the end of a conversation (study.COLUMNS), next to a stranger's simulated answer."""
    found = {point_of(study.people, event).key: (event, answered) for each in ended for event, answered in each.items()}
    chosen = [point_of(study.people, event) for event, _ in found.values()]
    by_stranger = strangers(chosen, study.strangers, study.seed)
    rows = []
    for point in chosen:
        own, others = found[point.key][1], [found[other.key][1] for other in by_stranger[point.key]]
        real = point.event.value
        values = {
            TWIN: _far(own, real), STRANGER: _mean(_far(other, real) for other in others),
            **_before(study.people, point),
        }  # fmt: skip
        rows.append(_row(study, point, ROLLOUT, values, own.reason or ("" if others else NO_STRANGER)))
    return pd.DataFrame(rows, columns=COLUMNS)


def _before(people: RecordedPeople, point: Point) -> dict[str, float]:
    values = baselines(people, point)
    return {name: values[name] for name in (OTHERS, UNCHANGED, AGAIN)}


def _far(answered: Answered, real: float) -> float:
    return np.nan if answered.value is None else abs(answered.value - real)


def movements(study: TwinStudy, ended: Sequence[Ended]) -> tuple[Source, Source]:
    """Return the real and the simulated opinions before and after, as sources that `analysis/human` measures.

    Only people with an answer to the same question before the conversation, and with a simulated answer, are in both.
    """
    rows: list[dict[str, Any]] = []
    for each in ended:
        for event, answered in each.items():
            before = [past.value for past in known_before(study.people, event.person, event.order).past
                      if past.kind == ANSWER and past.topic == event.topic]  # fmt: skip
            if before and answered.value is not None:
                rows.append({"condition": event.topic, "group": event.group or event.person, "person": "",
                             "before": before[-1], REAL: event.value, SIMULATED: answered.value})  # fmt: skip
    frame = pd.DataFrame(rows, columns=["condition", "group", "person", "before", REAL, SIMULATED])
    real, simulated = (_source(frame, name) for name in (REAL, SIMULATED))
    return real, simulated


def _source(frame: pd.DataFrame, name: str) -> Source:
    people = frame.assign(after=frame[name], side=np.nan, turns=[()] * len(frame))
    people["group"] = people["condition"] + " " + people["group"]
    people["partner"] = others_mean(people) if len(people) else np.nan
    casts = dict(zip(people["group"], frame["group"], strict=True))
    return Source(name, people[HUMAN_COLUMNS], toward_majority(people), "group", "", casts=casts)


def mean_lines(ended: Sequence[Ended]) -> float:
    """Return the mean number of lines of a simulated conversation."""
    return fmean(len(each.said) for each in ended) if ended else 0.0
