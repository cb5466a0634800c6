"""The base class of mechanisms, and what people know when they move."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import AXIS, Codes, Floats

LOW, HIGH = AXIS
MIDDLE = (LOW + HIGH) / 2
STEP = 0.5
"""The distance of two thresholds of a grid, in points of the axis."""
ONE_QUESTION = "a vector law, and agents rate one question only"


@dataclass(frozen=True, eq=False)
class Situation:
    """What n people know when they move: all arrays are float64 on the axis from 0 to 10, unless noted.

    own      (n,) the own attitude
    first    (n,) the own first attitude
    parties  (n,) int64, the place of each person's party in `names`
    ends     (n + 1,) int64: person i heard the lines from ends[i] to ends[i + 1]
    heard    (lines,) the grade of each line, or the attitude of its speaker
    weights  (lines,) the weight of each line
    average  (n,) the mean of the own attitudes so far; None where it is not known (in a population)
    others   (n, d) the own attitudes on d further questions, `questions`
    apart    (lines,) the distance between speaker and hearer over all questions; NaN where it is not known
    starts   by party: the mean of the first attitudes
    """

    own: Floats
    first: Floats
    parties: Codes
    names: tuple[str, ...]
    ends: Codes
    heard: Floats
    weights: Floats
    average: Floats | None = None
    others: Floats | None = None
    questions: tuple[str, ...] = ()
    apart: Floats | None = None
    starts: Mapping[str, float] | None = None

    @cached_property
    def gaps(self) -> Floats:
        """(lines,) how far each line is above the own attitude."""
        gaps: Floats = self.heard - np.repeat(self.own, np.diff(self.ends))
        return gaps

    @cached_property
    def gap(self) -> Floats:
        """(n,) how far the mean heard is above the own attitude; 0 for a person that heard nothing."""
        return self.mean(self.gaps)

    def mean(self, values: Floats, among: Floats | None = None) -> Floats:
        """Return (n,) the weighted mean of a value of each line, over the lines that a person heard; 0 without any.

        among: (lines,) 1 for the lines that count, 0 for the others (default: all count).
        """
        weights = self.weights if among is None else self.weights * among
        total, weight = self._sum(values * weights), self._sum(weights)
        return np.divide(total, weight, out=np.zeros(len(self.own)), where=weight > 0)

    def _sum(self, values: Floats) -> Floats:
        table = csr_array((values, self._zeros, self.ends), shape=(len(self.own), 1))
        total: Floats = table @ np.ones(1)
        return total

    @cached_property
    def _zeros(self) -> Codes:
        return np.zeros(len(self.heard), dtype=self.ends.dtype)


@dataclass(frozen=True)
class Mechanism(ABC):
    """The base class of mechanisms.

    title      what happens, in words, for tables and figures
    contains   the mechanisms that are a special case of this one
    baseline   whether the mechanism has no influence in it, of others or of the model
    bounded    whether no coefficient may be below 0 (a law with another sign is another law)
    simulates  whether the mechanism can move a population
    by_party   whether each party has coefficients of its own
    """

    title: ClassVar[str] = ""
    contains: ClassVar[tuple[str, ...]] = ("still",)
    baseline: ClassVar[bool] = False
    bounded: ClassVar[bool] = True
    simulates: ClassVar[bool] = True
    by_party: ClassVar[bool] = False

    def unfit(self, situation: Situation) -> str:
        """Return why the mechanism cannot be fitted to these people; "" if it can."""
        return ""

    def grid(self) -> Floats:
        """Return the thresholds to try: (tries, thresholds), in points of the axis unless the class says otherwise."""
        return np.zeros((1, 0))

    @abstractmethod
    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        """Return (n, coefficients): the expected move is columns @ coefficients. thresholds: a row of the grid."""

    @abstractmethod
    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        """Return the numbers of the law by name, each (draws,). fit: (draws, coefficients); thresholds: (draws, ...)."""


def distances() -> Floats:
    """Return the grid of one threshold: 0.5, 1, ..., 10 points, (20, 1). At 10 every line counts."""
    return np.arange(STEP, HIGH + STEP / 2, STEP)[:, None]
