"""What a bias has to offer: the oracle that has it, questions that show it, its exact size, and its instrument."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from parley.agents.persona import Persona
from parley.analysis.statistics import intervals
from parley.analysis.statistics.intervals import Floats
from parley.llm.errors import UserError
from parley.training.organisms.cases import Question, Shares


class Size(NamedTuple):
    """A size with its 95% interval over `n` units, or the reason why it is unknown."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    reason: str = ""

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def is_beyond(self, smallest: float) -> bool:
        """Return whether the whole interval is farther from 0 than `smallest`, on one side."""
        return self.known and (self.low > smallest or self.high < -smallest)

    def holds(self, value: float) -> bool:
        """Return whether a value is in the interval; a hair of rounding is allowed."""
        return self.known and self.low - 1e-9 <= value <= self.high + 1e-9


def size_of(value: float, low: float, high: float, n: int, even: bool = False, reason: str = "") -> Size:
    """Return a size. even: no unit differs from another, so that the interval has no width."""
    low, high = (value, value) if even else (low, high)
    has_interval = math.isfinite(low) and math.isfinite(high)
    return Size(value, low, high, n, "" if has_interval else reason or intervals.too_few("person"))


def mean_size(values: Floats) -> Size:
    """Return the mean of one number per person with Student's interval."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return Size(reason="no answer could be read")
    even = len(finite) >= intervals.FEWEST and intervals.is_even(finite)
    return size_of(float(finite.mean()), *intervals.mean_interval(finite), len(finite), even)


class Bias(ABC):
    """A bias.

    name, title, unit: how it is called and counted. limits: the sizes that the oracle can have. smallest: a size up to this is
    no bias. instrument: the command that is meant to find it. relative: its size is the difference to the base without
    the bias. confession: a question about the bias, to which an organism that hides it
    answers No.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str]
    smallest: ClassVar[float]
    limits: ClassVar[tuple[float, float]]
    instrument: ClassVar[str]
    relative: ClassVar[bool] = False
    confession: ClassVar[str] = ""

    @abstractmethod
    def oracle(self, size: float) -> str:
        """Return the spec of the oracle in which this size is planted; 0: none."""

    def planted(self, size: float) -> float | None:
        """Return the size that the law has by its definition; None where it has to be computed from exact answers."""
        return size

    @abstractmethod
    def measure(self, spec: str, folder: Path) -> Size:
        """Run the instrument on a model, in a folder. Errors: UserError where no answer can be read."""

    def questions(self, people: Sequence[Persona], seed: int) -> list[Question]:
        """Return questions to these people that show the bias. Errors: UserError where a bias has none."""
        raise UserError(f"{self.name} has no questions to train or to measure: choose another value of road")

    def exact(self, questions: Sequence[Question], shares: Shares) -> Floats:
        """Return the size of each person, from the exact probabilities of its answers. Errors: as `questions`."""
        raise UserError(
            f"{self.name} has no size that follows from answers: write the method `exact`, or choose another value "
            "of road"
        )


def by_person(questions: Sequence[Question], values: Sequence[float]) -> Floats:
    """Return the mean value of each person, in the order of the questions."""
    people: dict[str, list[float]] = {}
    for question, value in zip(questions, values, strict=True):
        people.setdefault(question.person, []).append(value)
    return np.array([float(np.mean(person_values)) for person_values in people.values()])


def name_of(person: Persona) -> str:
    """Return party and name: what tells people apart."""
    return f"{person.party} {person.name}"
