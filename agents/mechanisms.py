"""Mechanisms: formulas for how far a person moves after what it heard, whose numbers can be fitted to a run.

    x_i' = x_i + columns(what i knows) . coefficients + normal noise, kept within 0 and 10

The columns may depend on thresholds, such as the confidence of a bounded-confidence law. So least squares finds the
coefficients, and a grid the thresholds (analysis/law_contest/). The same formula moves a population
(agents/laws/fitted.py). Each class here is one mechanism; `--laws all,./mine.py` adds one of your own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import AXIS, Codes, Floats
from parley.llm.registry import Registry

MECHANISMS = Registry("mechanism", __name__, "parley.mechanisms", ("columns", "contains"))
LOW, HIGH = AXIS
MIDDLE = (LOW + HIGH) / 2
STEP = 0.5
"""The distance of two thresholds of a grid, in points of the axis."""
STEEPNESS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""The grid of beta, from nearly linear to nearly a step."""
ONE_QUESTION = "a vector law, and agents rate one question only"
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
"""The grid of the share of the way that one line moves a person."""


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


@dataclass(frozen=True)
class Still(Mechanism):
    """Nobody moves: x' = x."""

    title = "nobody moves"
    contains = ()
    baseline = True

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.zeros((len(situation.own), 0))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {}


@dataclass(frozen=True)
class PartyLevels(Mechanism):
    """Each party relaxes to a level of its own, at a rate of its own, whatever its members hear: x' = x + rate (level - x)."""

    title = "each party relaxes to its own level"
    contains = ("still", "model_pull")
    baseline = True
    bounded = False
    by_party = True

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        members = situation.parties[:, None] == np.arange(len(situation.names))
        return np.hstack((members * 1.0, members * situation.own[:, None]))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        start, rate = np.split(fit.T, 2)
        level = np.divide(start, -rate, out=np.full_like(start, np.nan), where=rate != 0)
        numbers: dict[str, Floats] = {}
        for name, own_level, own_rate in zip(situation.names, level, -rate, strict=True):
            numbers |= {f"level {name}": own_level, f"rate {name}": own_rate}
        return numbers


@dataclass(frozen=True)
class Regression(Mechanism):
    """Regression to the mean: ratings are noise around a level of each person that never moves.

        x' = x + a (mean of own ratings so far - x) + b (mean of the party's first ratings - x)

    A rating that is high by chance is followed by a lower one. The best forecast of a person that does not move is its
    own mean, shrunk toward its party's.
    """

    title = "regression to the mean"
    baseline = True
    simulates = False

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        if situation.average is None or situation.starts is None:
            raise ValueError("regression is a law of ratings: it needs the ratings so far")
        starts = np.array([situation.starts[name] for name in situation.names])[situation.parties]
        return np.column_stack((situation.average - situation.own, starts - situation.own))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"to the own mean": fit[:, 0], "to the party's mean": fit[:, 1]}


@dataclass(frozen=True)
class DeGroot(Mechanism):
    """Everyone moves toward the mean that it hears: x' = x + rate (h - x). Source: agents/laws/degroot.py."""

    title = "toward the mean heard"
    name = "degroot"

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return situation.gap[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0]}


@dataclass(frozen=True)
class FriedkinJohnsen(Mechanism):
    """Everyone also holds on to its innate opinion, that is, its first one: x' = x + rate (h - x) + innate (x(0) - x).

    Source: agents/laws/friedkin_johnsen.py. Departure: the own opinion has a weight too, as in Ghaderi and Srikant 2014.
    """

    title = "toward the mean heard and the own first opinion"
    contains = ("still", "degroot")

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((situation.gap, situation.first - situation.own))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "innate": fit[:, 1]}


@dataclass(frozen=True)
class ModelPull(Mechanism):
    """Everyone drifts to one point, the model's own opinion, whatever it hears: x' = x + mu (point - x).

    The coefficients are the pulls to both ends of the axis, so that the point is within it.
    """

    title = "toward one point shared by all"

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((LOW - situation.own, HIGH - situation.own))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        mu = fit[:, -2] + fit[:, -1]
        point = np.divide(LOW * fit[:, -2] + HIGH * fit[:, -1], mu, out=np.full_like(mu, np.nan), where=mu > 0)
        return {"mu": mu, "point": point}


@dataclass(frozen=True)
class PullAndHearing(ModelPull):
    """The oracle's law: x' = x + kappa (h - x) + mu (point - x)."""

    title = "toward the mean heard and one point shared by all"
    contains: ClassVar[tuple[str, ...]] = ("still", "degroot", "model_pull")

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((situation.gap, super().columns(situation, thresholds)))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"kappa": fit[:, 0]} | super().parameters(fit, thresholds, situation)


@dataclass(frozen=True)
class AnchoredPull(PullAndHearing):
    """All three pulls: x' = x + kappa (h - x) + innate (x(0) - x) + mu (point - x).

    The oracle with a short memory is of this kind: it begins from its first opinion, and forgets lines.
    """

    title = "toward the mean heard, the own first opinion and one point shared by all"
    contains = ("still", "degroot", "friedkin_johnsen", "model_pull", "pull_and_hearing")

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        return np.column_stack((situation.first - situation.own, super().columns(situation, thresholds)))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"innate": fit[:, 0]} | super().parameters(fit[:, 1:], thresholds, situation)


@dataclass(frozen=True)
class LineByLine(PullAndHearing):
    """The oracle's law where some hear more lines than others: each line moves a person a little.

        x' = x + f (a (h - x) + b (point - x)),   f = 1 - (1 - step)^n

    n is the number of lines heard. After one line a person has gone the share `step` of its way, and after many lines
    all of it. With step 1 it is `pull_and_hearing`.
    """

    title = "as pull_and_hearing, and more lines move more"
    contains = ("still", "degroot", "model_pull", "pull_and_hearing")

    def unfit(self, situation: Situation) -> str:
        same = np.ptp(np.diff(situation.ends)) == 0
        return "everyone hears the same number of lines, so it is pull_and_hearing" if same else ""

    def grid(self) -> Floats:
        return np.array(SHARES)[:, None]

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        moved: Floats = 1 - (1 - thresholds[0]) ** np.diff(situation.ends)
        columns: Floats = moved[:, None] * super().columns(situation, thresholds)
        return columns

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return super().parameters(fit, thresholds, situation) | {"step": thresholds[:, 0]}


@dataclass(frozen=True)
class HegselmannKrause(Mechanism):
    """Bounded confidence: x' = x + rate (mean of the lines within epsilon of x - x); a person near no line stays.

    Source: agents/laws/hegselmann_krause.py. Departures: the own opinion is not in the mean, and there is a rate.
    """

    title = "toward the mean of the near lines"
    contains = ("still", "degroot")

    def grid(self) -> Floats:
        return distances()

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        near = (np.abs(situation.gaps) <= thresholds[0]) * 1.0
        return situation.mean(situation.gaps, near)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "epsilon": thresholds[:, 0]}


@dataclass(frozen=True)
class Deffuant(Mechanism):
    """Bounded confidence line by line: x' = x + rate mean(g - x where |g - x| <= epsilon, else 0).

    This is the expected move of a meeting in agents/laws/deffuant.py; the oracle's epsilon works in this way.
    """

    title = "each near line attracts"
    contains = ("still", "degroot")

    def grid(self) -> Floats:
        return distances()

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        near = np.abs(situation.gaps) <= thresholds[0]
        return situation.mean(situation.gaps * near)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "epsilon": thresholds[:, 0]}


@dataclass(frozen=True)
class JagerAmblard(Mechanism):
    """Near lines attract and far lines repel: as `deffuant` within `acceptance`, the opposite beyond `rejection`.

    This is the expected move of a meeting in agents/laws/jager_amblard.py. With rejection 10 it is `deffuant`.
    """

    title = "near lines attract, far lines repel"
    contains = ("still", "degroot", "deffuant")

    def grid(self) -> Floats:
        near, far = np.meshgrid(distances(), distances(), indexing="ij")
        pairs: Floats = np.column_stack((near.ravel(), far.ravel()))
        return pairs[pairs[:, 0] <= pairs[:, 1]]

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        distance = np.abs(situation.gaps)
        sign = (distance <= thresholds[0]) * 1.0 - (distance > thresholds[1])
        return situation.mean(situation.gaps * sign)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "acceptance": thresholds[:, 0], "rejection": thresholds[:, 1]}


@dataclass(frozen=True)
class Majority(Mechanism):
    """Majority force: x' = x + rate (10 P - x), P = (1 + tanh(beta m)) / 2.

    m, from -1 to 1, is the share of lines above the middle of the axis minus the share below. beta is the majority
    force; it has no unit. Source: De Marzo, Castellano and Garcia 2024, arXiv 2409.02822, where agents have two opinions
    and P is the probability of the upper one. Departure: here a person moves toward the opinion 10 P.
    """

    title = "toward the side of the majority heard"

    def grid(self) -> Floats:
        return np.array(STEEPNESS)[:, None]

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        majority = situation.mean(np.sign(situation.heard - MIDDLE))
        target = MIDDLE + (HIGH - MIDDLE) * np.tanh(thresholds[0] * majority)
        return np.where(np.diff(situation.ends) > 0, target - situation.own, 0.0)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "beta": thresholds[:, 0]}


@dataclass(frozen=True)
class Coupled(Mechanism):
    """A vector law: the attitudes of a person on several questions also draw on one another.

        x' = x + rate (h - x) + sum_k c_k (y_k - x)

    y_k is the own attitude on further question k. It is a row of the law of Parsegov and others 2017, IEEE Transactions
    on Automatic Control 62(5), 2270-2285, for the main question. It needs a run in which agents rate further questions.
    """

    title = "toward the mean heard and the own other attitudes"
    contains = ("still", "degroot")
    simulates = False

    def unfit(self, situation: Situation) -> str:
        return "" if situation.questions else ONE_QUESTION

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        if situation.others is None:
            raise ValueError("coupled needs attitudes on several questions")
        return np.column_stack((situation.gap, situation.others - situation.own[:, None]))

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0]} | {f"pull of {name}": fit[:, 1 + k] for k, name in enumerate(situation.questions)}


@dataclass(frozen=True)
class VectorConfidence(Mechanism):
    """Bounded confidence over several questions: `hegselmann_krause`, where near means near in all attitudes together.

    A line counts if the Euclidean distance between speaker and hearer, over the main and all further questions, is at
    most epsilon. It moves the attitude on the main question. It needs a run in which agents rate further questions.
    """

    title = "toward the mean of the lines of like-minded speakers"
    contains = ("still", "degroot")
    simulates = False

    def unfit(self, situation: Situation) -> str:
        return "" if situation.questions else ONE_QUESTION

    def grid(self) -> Floats:
        return np.vstack((distances(), HIGH + distances()))

    def columns(self, situation: Situation, thresholds: Floats) -> Floats:
        if situation.apart is None:
            raise ValueError("vector_confidence needs attitudes on several questions")
        near = (situation.apart <= thresholds[0]) * 1.0
        return situation.mean(situation.gaps, near)[:, None]

    def parameters(self, fit: Floats, thresholds: Floats, situation: Situation) -> dict[str, Floats]:
        return {"rate": fit[:, 0], "epsilon": thresholds[:, 0]}
