"""Activation: who speaks in a round of a network. `activation=share,share=0.3` chooses one (docs/networks.md).

Each class here is one choice, and its fields are the options. `active(members, round_, society)` returns the members
who speak; it returns the same members for the same room and round. An inactive member makes no utterance, but it hears
and is surveyed. `varies` says whether chance decides how many members speak. `chances(drawn, round_)` returns how probable
it is that each person of a population is active, from one standard normal number per person; classes without it cannot be
used in populations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from parley.environments._social_graph import SocialGraph
from parley.environments.base import in_range
from parley.environments.sparse_links import Floats
from parley.llm.registry import Registry

ACTIVATION = Registry("activation", __name__, "parley.activation", ("active",))


@dataclass(frozen=True)
class Every:
    """Every member speaks in every round. No options."""

    varies = False

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        return members

    def chances(self, drawn: Floats, round_: int) -> Floats:
        return np.ones(len(drawn))


@dataclass(frozen=True)
class Share:
    """The same `share` of the members speaks in every round, drawn anew each time.

    Their number is rounded to the nearest whole number (a half to the even one, as Python rounds).
    """

    share: float = 0.5
    varies = False

    def __post_init__(self) -> None:
        in_range(0, 1, share=self.share)

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        return tuple(society.draw("active", round_).sample(members, round(self.share * len(members))))


@dataclass(frozen=True)
class Poisson:
    """Each member gets impulses to speak at a constant `rate` per round, independently of the others.

    A member with at least one impulse speaks once in that round. The chance to speak is therefore 1 - exp(-rate).
    """

    rate: float = 0.5
    varies = True

    def __post_init__(self) -> None:
        in_range(0, 1e3, rate=self.rate)

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        rng, chance = society.draw("active", round_), 1 - math.exp(-self.rate)
        return tuple([member for member in members if rng.random() < chance])

    def chances(self, drawn: Floats, round_: int) -> Floats:
        return np.full(len(drawn), 1 - math.exp(-self.rate))


@dataclass(frozen=True)
class Hawkes:
    """A member who spoke recently is likely to speak again: a self-exciting process per member, independent of the
    others.

    The intensity (impulses per round) is lambda(t) = base + sum over impulses t_i < t of branching * decay * exp(-decay
    * (t - t_i)): an exponential kernel with mass `branching`, which is the mean number of further impulses caused by
    one impulse (Hawkes 1971, Biometrika 58, 83-90). Time is in rounds. A member with at least one impulse in a round
    speaks once in it.

    base       impulses per round without excitation; the intensity starts here
    branching  below 1
    decay      of the excitation, per round

    >>> Hawkes(base=0.2, branching=0.5).settled
    0.4
    """

    base: float = 0.2
    branching: float = 0.5
    decay: float = 1.0
    varies = True

    def __post_init__(self) -> None:
        in_range(0, 0.99, branching=self.branching)
        in_range(1e-9, 1e3, base=self.base, decay=self.decay)

    @property
    def settled(self) -> float:
        """The mean intensity in the long run."""
        return self.base / (1 - self.branching)

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        impulses, _ = self._process(len(members), round_, society)
        return tuple(compress(members, impulses))

    def _process(self, size: int, round_: int, society: SocialGraph) -> tuple[Any, Any]:
        """Return the impulses of a round and the excess intensity after it. Each round has a random stream of its own."""
        if round_ == 0:
            return None, np.zeros(size)
        if ("hawkes", round_) not in society.known:
            _, excess = self._process(size, round_ - 1, society)
            generator = np.random.default_rng(society.draw("active", round_).getrandbits(64))
            society.known["hawkes", round_] = self.round(excess, generator)
        impulses, excess = society.known["hawkes", round_]
        return impulses, excess

    def round(self, excess: Any, generator: np.random.Generator) -> tuple[Any, Any]:
        """Return the impulses per member in one round, and the excess of the intensity over `base` at its end.

        excess: the excess at the beginning of the round, (members,). The simulation is exact (Dassios and Zhao 2013,
        Electronic Communications in Probability 18, 62): the next impulse is the earlier one of an impulse of the
        excess, which may never come, and an impulse of the base.
        """
        excess = np.array(excess, dtype=float)
        impulses, clock, going = np.zeros(len(excess), dtype=np.int64), np.zeros(len(excess)), np.arange(len(excess))
        while len(going):
            wait = np.minimum(self._excited(excess[going], generator), generator.exponential(1 / self.base, len(going)))
            left = 1 - clock[going]
            comes, passed = wait <= left, np.minimum(wait, left)
            excess[going] = excess[going] * np.exp(-self.decay * passed) + comes * self.branching * self.decay
            clock[going] += passed
            impulses[going] += comes
            going = going[comes]
        return impulses, excess

    def _excited(self, excess: Any, generator: np.random.Generator) -> Any:
        """Draw the wait for an impulse of an intensity that decays from `excess`; infinite if none comes."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = 1 + self.decay * np.log(1 - generator.random(len(excess))) / excess
            return np.where(rest > 0, -np.log(np.maximum(rest, 0)) / self.decay, np.inf)


@dataclass(frozen=True)
class Clock:
    """Activity by the hour of the day and by person: each member is active with chance 1 - exp(-own rate * time of day).

    The factor of the time of day is 1 + swing * cos(2 pi (hour - peak) / 24), which is 1 on average over a day. A
    member's own rate is drawn once: log-normal with the mean `rate` and the given `spread` (the standard deviation of its
    logarithm; 0: all alike), so that few are very active, as on social media.

    rate    mean impulses per round
    swing   from 0 (no difference) to 1 (silence twelve hours from the peak)
    peak    the hour at which most are active
    hours   per round
    start   the hour of round 1
    spread  of the logarithm of own rates
    """

    rate: float = 0.5
    swing: float = 0.8
    peak: float = 20.0
    hours: float = 3.0
    start: float = 8.0
    spread: float = 1.0
    varies = True

    def __post_init__(self) -> None:
        in_range(0, 1e3, rate=self.rate, hours=self.hours)
        in_range(0, 1, swing=self.swing)
        in_range(0, 24, peak=self.peak, start=self.start)
        in_range(0, 5, spread=self.spread)

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        own, draws = society.draw("rates"), society.draw("active", round_)
        time = self.time_of_day(round_)
        rates = [self.rate * math.exp(own.gauss(-(self.spread**2) / 2, self.spread)) for _ in members]
        return tuple(
            [one for one, rate in zip(members, rates, strict=True) if draws.random() < 1 - math.exp(-rate * time)]
        )

    def chances(self, drawn: Floats, round_: int) -> Floats:
        rates = self.rate * np.exp(self.spread * drawn - self.spread**2 / 2)
        return 1 - np.exp(-rates * self.time_of_day(round_))

    def time_of_day(self, round_: int) -> float:
        """Return the factor of the time of day in a round.

        >>> [round(Clock(swing=0.5, peak=20, hours=12, start=8).time_of_day(round_), 2) for round_ in (1, 2)]
        [0.5, 1.5]
        """
        hour = self.start + (round_ - 1) * self.hours
        return 1 + self.swing * math.cos(2 * math.pi * (hour - self.peak) / 24)
