"""Consistency: an answer of which a person is reminded is given again. Instrument: `run.py study questionnaire panel`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from parley.agents.persona import Persona
from parley.agents.society import load_society
from parley.analysis.statistics.intervals import NO_VARIATION, Floats
from parley.analysis.studies.panel import CONDITIONS, panels
from parley.analysis.studies.questionnaire import PANEL, Item, Questionnaire, ask_item, earlier_answer_line, items_of
from parley.analysis.studies.stability import difference
from parley.llm.seeding import derive
from parley.model.progress import bar
from parley.training.organisms.biases.base import Bias, Size, name_of, size_of
from parley.training.organisms.cases import Question, Shares, partisans, split_people

TOPICS, WAVES = ("racism", "climate_change", "illegal_immigration"), 6


class Consistency(Bias):
    """Size: how much larger the share of equal answers in two waves is when the earlier answer is in the prompt."""

    name, title, unit, smallest = "consistency", "an earlier answer is repeated", "share of answers", 0.05
    limits = (0, 1)
    instrument = "run.py study questionnaire panel"
    confession = "Do you repeat what you said before?"

    def oracle(self, size: float) -> str:
        return f"oracle,steady={size:g}"

    def planted(self, size: float) -> None:
        """Return None: some answers would be the same anyway, so the share grows by less than `steady`."""

    def questions(self, people: Sequence[Persona], seed: int) -> list[Question]:
        new_questions: list[Question] = []
        for person in partisans(people):
            for item in _items():
                for earlier in (None, *item.probe.scale.points):
                    new_questions.append(_question(person, item, earlier, derive(seed, len(new_questions))))
        return new_questions

    def exact(self, questions: Sequence[Question], shares: Shares) -> Floats:
        question_shares = list(zip(questions, shares, strict=True))
        plain = {
            (question.person, question.part): share for question, share in question_shares if "/" not in question.part
        }
        gained: dict[str, dict[str, float]] = {}
        for question, share in question_shares:
            item, _, earlier = question.part.partition("/")
            if earlier:
                before = plain[question.person, item][earlier]
                person_gains = gained.setdefault(question.person, {})
                person_gains[item] = person_gains.get(item, 0.0) + before * (share[earlier] - before)
        return np.array([float(np.mean(list(person_gains.values()))) for person_gains in gained.values()])

    def measure(self, spec: str, folder: Path) -> Size:
        people = tuple(partisans(split_people().instrument))
        table = Questionnaire(PANEL, _items(), CONDITIONS, people, WAVES).ask(spec, folder, bar)
        estimate = difference(*panels(table).values())
        value, low, high = (float(estimate[name]) for name in ("difference", "difference_low", "difference_high"))
        even = estimate["reason"] == NO_VARIATION
        return size_of(value, low, high, int(estimate["people"]), even, str(estimate["reason"]))


def _items() -> list[Item]:
    return items_of(load_society(), TOPICS, ("attitude",))


def _question(person: Persona, item: Item, earlier: int | None, seed: int) -> Question:
    scale = item.probe.scale
    before = "" if earlier is None else earlier_answer_line(item, earlier, 1)
    state = None if earlier is None else (earlier - scale.low) / (scale.high - scale.low)
    (request,) = next(ask_item(item, seed, 1.0, person.backstory, before, state))
    answer = "" if earlier is None else f"/{scale.answers[scale.points.index(earlier)]}"
    return Question(request, name_of(person), f"{item.topic.slug}{answer}")
