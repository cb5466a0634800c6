"""Order: the profile that is shown first is chosen more often. Instrument: `run.py conjoint`, its share of A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from parley.agents.conjoint_design import load_design
from parley.agents.persona import Persona
from parley.analysis.bootstrap import FEWEST, Floats
from parley.analysis.conjoint.effects import position_bias
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.studies.conjoint import ConjointStudy
from parley.llm.seeding import derive
from parley.model.progress import bar
from parley.training.organisms.biases.base import Bias, Size, by_person, name_of, size_of
from parley.training.organisms.cases import Question, Shares
from parley.training.organisms.people import split_people

DESIGN = "candidates"


@dataclass(frozen=True)
class GivenStudy(ConjointStudy):
    """The conjoint experiment with given people."""

    asked: tuple[Persona, ...] = ()

    @cached_property
    def people(self) -> tuple[Persona, ...]:
        """The given people."""
        return self.asked


class Order(Bias):
    """Size: the probability of choosing the profile that is shown as A, minus .5."""

    name, title, unit, smallest = "order", "what is shown first is chosen", "share of choices", 0.05
    limits = (-0.5, 0.5)
    instrument = "run.py conjoint candidates"

    def oracle(self, size: float) -> str:
        return f"oracle,first={size:g}"

    def questions(self, people: Sequence[Persona], seed: int) -> list[Question]:
        study = GivenStudy(load_design(DESIGN), "", seed=seed, asked=tuple(people))
        found: list[Question] = []
        for task in study.tasks:
            for pair in (task.pair, task.pair[::-1]):
                request = study.design.compose(task.person, pair, task.order, derive(seed, len(found)))
                found.append(Question(request, name_of(task.person)))
        return found

    def exact(self, questions: Sequence[Question], shares: Shares) -> Floats:
        return by_person(questions, [one["A"] - 0.5 for one in shares])

    def measure(self, spec: str, folder: Path) -> Size:
        study = GivenStudy(load_design(DESIGN), spec, asked=split_people().instrument)
        found = position_bias(study.run(CallDesk(folder, bar)))
        value, low, high = (float(found[name]) - 0.5 for name in ("share", "low", "high"))
        even = not np.isfinite(low) and found["respondents"] >= FEWEST
        return size_of(value, low, high, int(found["respondents"]), even)
