"""The bias of organisms that this command finds: the profile that is shown first is chosen more often (docs/tuning.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from parley.agents.persona import Persona
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.statistics.intervals import FEWEST, Floats
from parley.llm.seeding import derive
from parley.model.progress import bar
from parley.training.organisms.biases.base import Bias, Size, by_person, name_of, size_of
from parley.training.organisms.cases import Question, Shares, split_people

from .choices import ConjointStudy
from .design import load_design
from .measures import position_bias

DESIGN = "candidates"


class Order(Bias):
    """Size: the probability of choosing the profile that is shown as A, minus .5."""

    name, title, unit, smallest = "order", "what is shown first is chosen", "share of choices", 0.05
    limits = (-0.5, 0.5)
    instrument = "run.py study conjoint candidates"

    def oracle(self, size: float) -> str:
        return f"oracle,first={size:g}"

    def questions(self, people: Sequence[Persona], seed: int) -> list[Question]:
        study = ConjointStudy(load_design(DESIGN), "", seed=seed, asked=tuple(people))
        asked_questions: list[Question] = []
        for task in study.tasks:
            for pair in (task.pair, task.pair[::-1]):
                request = study.design.compose(task.person, pair, task.order, derive(seed, len(asked_questions)))
                asked_questions.append(Question(request, name_of(task.person)))
        return asked_questions

    def exact(self, questions: Sequence[Question], shares: Shares) -> Floats:
        return by_person(questions, [answer_shares["A"] - 0.5 for answer_shares in shares])

    def measure(self, spec: str, folder: Path) -> Size:
        study = ConjointStudy(load_design(DESIGN), spec, asked=split_people().instrument)
        bias = position_bias(study.run(CallDesk(folder, bar)))
        value, low, high = (float(bias[name]) - 0.5 for name in ("share", "low", "high"))
        even = not np.isfinite(low) and bias["respondents"] >= FEWEST
        return size_of(value, low, high, int(bias["respondents"]), even)
