"""Predicts the points of recorded people with their twins, with strangers' twins, and without a model.

opinion    distance of the predicted answer from the person's, as a share of the scale (smaller is better)
message    cosine of the word weights of a message and the person's (larger is better)
nats       log-probability per token of the person's message (larger is better; local models only)
roll-out   distance of the answer after a conversation of twins alone from the person's (smaller is better)

Each is known of the twin, of a stranger's twin (the floor), and, without a model, of other people (the mean of their
answers; their messages), of the person's own last answer to the question, and of the same person's answer in wave 2 (the
ceiling).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Protocol

import pandas as pd

from parley.agents.language import ENGLISH, Language
from parley.agents.memory import relevance
from parley.llm.backends import identity_spec
from parley.llm.errors import UserError

from .asking import Answered, AskedAnswer, AskedMessage, Told, Written, heard_lines
from .history import Point, points, strangers
from .people_file import ANSWER, MESSAGE, Event, RecordedPeople

OPINION, SAYING, NATS, ROLLOUT = "opinion", "message", "nats", "roll-out"
TWIN, STRANGER, OTHERS, UNCHANGED, AGAIN = PREDICTORS = ("twin", "stranger", "others", "unchanged", "again")
SMALLER = frozenset((OPINION, ROLLOUT))
"""Measures of which a smaller value is better."""
COLUMNS = ["key", "person", "cluster", "topic", "measure", *PREDICTORS, "reason"]
NO_STRANGER = "no other person has a history on this topic"


class Speakers(Protocol):
    """What answers and writes as twins (`asking.Twins`)."""

    def answer(self, asked: Sequence[AskedAnswer], title: str) -> list[Answered]: ...
    def write(self, asked: Sequence[AskedMessage], title: str) -> list[Written]: ...


@dataclass(frozen=True)
class TwinStudy:
    """Recorded people and how they are predicted.

    most: predicted answers, and messages, of each person. strangers: of each point. rollouts: conversations of twins alone.
    """

    people: RecordedPeople
    llm: str
    most: int = 3
    strangers: int = 1
    rollouts: int = 0
    samples: int = 5
    seed: int = 0
    language: Language = ENGLISH

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        return {
            "people": self.people.digest, "llm": identity_spec(self.llm), "points": self.most, "strangers": self.strangers,
            "rollouts": self.rollouts, "samples": self.samples, "seed": self.seed, "language": self.language.code,
        }  # fmt: skip

    @cached_property
    def points(self) -> list[Point]:
        """What is predicted."""
        return points(self.people, self.most, self.seed)

    def check(self) -> None:
        """Errors: UserError if nothing is known of anyone before anything."""
        if not self.points:
            raise UserError(
                f"{self.people.name} has nothing to predict, because no answer or message comes after another row of its "
                "person. Add attributes, or earlier answers with a smaller order"
            )

    @cached_property
    def by_stranger(self) -> Mapping[str, tuple[Point, ...]]:
        """The points whose histories strangers' twins have, by the key of the point that is predicted."""
        return strangers(self.points, self.strangers, self.seed)

    def of_kind(self, kind: str) -> list[Point]:
        """Return the points of a kind."""
        return [point for point in self.points if point.event.kind == kind]


def told(point: Point, whose: Point | None = None) -> Told:
    """Return what the twin of a point is told; with `whose`, what a stranger's twin is told in its place."""
    return Told((whose or point).known, heard_lines(point.heard))


def predict_answers(study: TwinStudy, twins: Speakers) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the measures of all answers (COLUMNS), and the predictions: key, real, predicted, stranger."""
    chosen = study.of_kind(ANSWER)
    questions = [_asked(point, whose) for point in chosen for whose in (point, *study.by_stranger[point.key])]
    answers = iter(twins.answer(questions, "answers"))
    rows, predictions = [], []
    for point in chosen:
        answer, others = next(answers), [next(answers) for _ in study.by_stranger[point.key]]
        real = point.event.value
        values = {
            TWIN: _distance(answer.value, real), STRANGER: _mean(_distance(other.value, real) for other in others),
            **baselines(study.people, point),
        }  # fmt: skip
        reason = answer.reason or ("" if others else NO_STRANGER)
        rows.append(_row(study, point, OPINION, values, reason))
        stranger = _mean(math.nan if other.value is None else other.value for other in others)
        predicted = math.nan if answer.value is None else answer.value
        predictions.append({"key": point.key, "topic": point.event.topic, "cluster": rows[-1]["cluster"], "real": real,
                            "predicted": predicted, "stranger": stranger})  # fmt: skip
    columns = ["key", "topic", "cluster", "real", "predicted", "stranger"]
    return pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(predictions, columns=columns)


def _asked(point: Point, whose: Point) -> AskedAnswer:
    return told(point, whose), point.event.topic, point.event.scale


def baselines(people: RecordedPeople, point: Point) -> dict[str, float]:
    """Return how far from an answer are others' mean, the person's last answer, and its answer in wave 2; NaN: unknown."""
    event = point.event
    answers = [other for other in people.answers_by_topic.get(event.topic, ()) if other.wave == 1]
    others = [other for other in answers if other.person != event.person]
    near = [other for other in others if event.group and other.group == event.group] or others
    last = {other.person: other.value for other in sorted(near, key=lambda other: other.order)}
    before = [past.value for past in point.known.past if past.kind == ANSWER and past.topic == event.topic]
    return {
        OTHERS: _distance(fmean(last.values()) if last else None, event.value),
        UNCHANGED: _distance(before[-1] if before else None, event.value),
        AGAIN: _distance(next(_later(people, event), None), event.value),
    }


def _later(people: RecordedPeople, event: Event) -> Any:
    events = people.by_person[event.person]
    return (other.value for other in events if other.kind == ANSWER and other.topic == event.topic and other.wave > 1)


def predict_messages(study: TwinStudy, twins: Speakers) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the measures of all messages (COLUMNS), and the texts: key, real, twin, stranger."""
    chosen = study.of_kind(MESSAGE)
    questions = [
        (told(point, whose), point.event.topic) for point in chosen for whose in (point, *study.by_stranger[point.key])
    ]
    messages = iter(twins.write(questions, "messages"))
    others_by_topic = _messages_by_topic(study.people)
    rows, texts = [], []
    for point in chosen:
        message, others = next(messages), [next(messages) for _ in study.by_stranger[point.key]]
        written = [message.text or "", *(other.text or "" for other in others)]
        real = [text for person, text in others_by_topic[point.event.topic] if person != point.event.person]
        cosines = relevance(point.event.text, [*written, *real])
        mine, theirs, rest = cosines[0], cosines[1 : len(written)], cosines[len(written) :]
        values = {
            TWIN: mine if message.text else math.nan,
            STRANGER: _mean(cosine for cosine, other in zip(theirs, others, strict=True) if other.text),
            OTHERS: _mean(rest),
        }
        rows.append(_row(study, point, SAYING, values, message.reason or ("" if others else NO_STRANGER)))
        texts.append({"key": point.key, "topic": point.event.topic, "real": point.event.text, "twin": message.text or "",
                      "stranger": others[0].text or "" if others else ""})  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(
        texts, columns=["key", "topic", "real", "twin", "stranger"]
    )


def _messages_by_topic(people: RecordedPeople) -> Mapping[str, list[tuple[str, str]]]:
    by_topic: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for event in people.events:
        if event.kind == MESSAGE:
            by_topic[event.topic].append((event.person, event.text))
    return by_topic


def _row(study: TwinStudy, point: Point, measure: str, values: Mapping[str, float], reason: str) -> dict[str, Any]:
    person = point.event.person
    row = {"key": point.key, "person": person, "cluster": study.people.clusters[person], "topic": point.event.topic}
    return row | {"measure": measure, **{name: values.get(name, math.nan) for name in PREDICTORS}, "reason": reason}


def _distance(value: float | None, real: float) -> float:
    return math.nan if value is None else abs(value - real)


def _mean(values: Any) -> float:
    """Return the mean of the numbers that are known; NaN without one."""
    present = [value for value in values if not math.isnan(value)]
    return fmean(present) if present else math.nan
