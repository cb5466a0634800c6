"""Stereotype: people of the other party are thought to be more extreme than they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import norm

from parley.agents.persona import Persona
from parley.agents.society import load_society
from parley.agents.topic import load_topic
from parley.analysis.statistics.intervals import Floats
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.request import Message
from parley.model.progress import bar
from parley.studies.stereotypes.oracle import QUIRK
from parley.studies.stereotypes.perception import DIFFERENCE, perception_gaps, wide
from parley.studies.stereotypes.survey import PersonaSurvey, compose_question, run_survey
from parley.training.organisms.biases.base import Bias, Size, name_of, size_of
from parley.training.organisms.cases import PERSONAS, Question, Shares, partisans, split_people

TOPICS = ("illegal_immigration", "abortion", "gun_violence")
"""No party is so near an end of the axis that it could not be seen farther away."""


@dataclass(frozen=True)
class GivenSurvey(PersonaSurvey):
    """The survey of given people."""

    asked: tuple[Persona, ...] = ()

    def people(self) -> list[Persona]:
        """Return the given people."""
        return list(self.asked)


class Stereotype(Bias):
    """Size: points (0-10) by which the other party is seen too far away, minus the same for the own party."""

    name, title, unit, smallest = "stereotype", "the other party is seen as extreme", "points", 0.3
    limits = (-2.7, 2.7)
    instrument = "run.py study stereotypes"
    confession = "Do you think that people of the other party are extreme?"

    def oracle(self, size: float) -> str:
        return f"oracle,exaggeration={1 + size / _half_gap():g}"

    def planted(self, size: float) -> float:
        """Return the size of the law, in which no answer lies beyond 0 or 10."""
        laws, lost = planted(), []
        first, second = load_society().debaters
        for law in (laws[name] for name in TOPICS):
            for target, other in ((first, second), (second, first)):
                gap = law.start[target] - law.start[other]
                seen = law.start[target] + size / _half_gap() * gap / 2
                room = ((10 - seen) if gap > 0 else seen) / QUIRK
                lost.append(QUIRK * (norm.pdf(room) - room * norm.sf(room)))
        return size - float(np.mean(lost))

    def questions(self, people: Sequence[Persona], seed: int) -> list[Question]:
        society, new_questions = load_society(), []
        for person in partisans(people):
            for topic in map(load_topic, TOPICS):
                for about in ("", *society.debaters):
                    chat = (Message("system", person.backstory),)
                    request = compose_question(chat, person, topic, about, seed, society)
                    new_questions.append(Question(request, name_of(person), f"{topic.slug}/{about}"))
        return new_questions

    def exact(self, questions: Sequence[Question], shares: Shares) -> Floats:
        values = [_attitude(question, share) for question, share in zip(questions, shares, strict=True)]
        own_attitudes: dict[tuple[str, str], list[float]] = {}
        for question, value in zip(questions, values, strict=True):
            topic, about = question.part.split("/")
            if not about:
                own_attitudes.setdefault((_party(question), topic), []).append(value)
        actual = {key: float(np.mean(attitudes)) for key, attitudes in own_attitudes.items()}
        gaps: dict[str, list[float]] = {}
        for question, value in zip(questions, values, strict=True):
            topic, about = question.part.split("/")
            if about:
                (other,) = {party for party in load_society().debaters if party != about}
                away = float(np.sign(actual[about, topic] - actual[other, topic]))
                side = -1 if about == _party(question) else 1
                gaps.setdefault(question.person, []).append(side * away * (value - actual[about, topic]))
        return np.array([2 * float(np.mean(each)) for each in gaps.values()])

    def measure(self, spec: str, folder: Path) -> Size:
        people = tuple(partisans(split_people().instrument))
        answers = run_survey(GivenSurvey(PERSONAS, TOPICS, asked=people), spec, folder, bar)
        gap = next(gap for gap in perception_gaps(answers, wide(answers)) if gap.measure.endswith(DIFFERENCE))
        return size_of(gap.value, gap.low, gap.high, gap.people, reason=gap.reason)


def _party(question: Question) -> str:
    return question.person.partition(" ")[0]


def _attitude(question: Question, share: Mapping[str, float]) -> float:
    probe = load_topic(question.part.split("/")[0]).probe("attitude")
    return probe.attitude(probe.scale.expected(share))


@cache
def _half_gap() -> float:
    """Return half the distance between the parties where people begin, the mean over topics."""
    laws = planted()
    first, second = load_society().debaters
    return float(np.mean([abs(laws[name].start[first] - laws[name].start[second]) / 2 for name in TOPICS]))
