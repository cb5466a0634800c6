"""Activation: who speaks in a round of a network. `activation=share,share=0.3` chooses one (docs/networks.md).

Each class here is one choice, and its fields are the options. `active(members, round_, society)` returns the members
who speak; it returns the same members for the same room and round. An inactive member makes no utterance, but it hears
and is surveyed. `varies` says whether chance decides how many members speak. `chances(drawn, round_)` returns how probable
it is that each person of a population is active, from one standard normal number per person; classes without it cannot be
used in populations.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
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
    """Activity begets activity: a member who spoke lately is likely to speak again, and so are those who follow it.

    The intensity of a member (impulses per round) is base + the rate of the present phase + its excitation. Each own
    impulse adds an exponential kernel of mass `branching`, the mean number of own impulses that it causes (Hawkes 1971,
    Biometrika 58, 83-90). Impulses of others act from the end of their round on, because no one sees an act before: each
    adds a kernel of mass `others` / (number of people whom the member follows). A member whose acts many follow therefore
    excites many. On a platform an impulse counts for others only if its act can be seen: a post, a reply, a quote or a
    repost. Time is in rounds. A member with at least one impulse in a round speaks once in it.

    base       impulses per round without excitation
    branching  further impulses that one impulse causes in the same member
    decay      of the excitation, per round
    others     further impulses of a member for each impulse of all whom it follows, on average over these
    phases     ROUND:RATE, several with commas: from this round on RATE is added to `base`, until the next phase.
               `phases=(3:2,6:0)` is an event that begins in round 3 and is over in round 6

    Errors: ValueError unless branching + others is below 1: else activity would grow without end.

    >>> Hawkes(base=0.2, branching=0.5, others=0.1).settled
    0.5
    """

    base: float = 0.2
    branching: float = 0.5
    decay: float = 1.0
    others: float = 0.0
    phases: tuple[str, ...] = ()
    varies = True

    def __post_init__(self) -> None:
        in_range(0, 0.99, branching=self.branching, others=self.others)
        in_range(0, 0.99, **{"branching + others": self.branching + self.others})
        in_range(1e-9, 1e3, base=self.base, decay=self.decay)
        _ = self._timetable

    @property
    def settled(self) -> float:
        """The mean intensity in the long run without phases, of members who follow someone who is seen."""
        return self.base / (1 - self.branching - self.others)

    @cached_property
    def _timetable(self) -> list[tuple[int, float]]:
        """The phases as (first round, rate), in the order of rounds. Errors: ValueError for one that cannot be read."""
        matches = [re.fullmatch(r"(\d+):(\d*\.?\d+)", phase.strip()) for phase in self.phases]
        for phase, match in zip(self.phases, matches, strict=True):
            if match is None or int(match[1]) < 1 or float(match[2]) > 1e3:
                raise ValueError(
                    f"phases has {phase!r}, but needs ROUND:RATE with rounds counted from 1, such as phases=(3:2,6:0)"
                )
        phases = sorted((int(match[1]), float(match[2])) for match in matches if match)
        if len({round_ for round_, _ in phases}) < len(phases):
            raise ValueError("phases must begin in different rounds")
        return phases

    def exogenous(self, round_: int) -> float:
        """Return the intensity of a round without excitation: base and the rate of its phase.

        >>> [Hawkes(base=0.5, phases=("3:2", "6:0")).exogenous(round_) for round_ in (2, 3, 5, 6)]
        [0.5, 2.5, 2.5, 0.5]
        """
        return self.base + next((rate for first, rate in reversed(self._timetable) if first <= round_), 0.0)

    def active(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[int, ...]:
        impulses, _ = self._process(members, round_, society)
        return tuple(compress(members, impulses))

    def _process(self, members: tuple[int, ...], round_: int, society: SocialGraph) -> tuple[Any, Any]:
        """Return the impulses of a round and the excess intensity after it. Each round has a random stream of its own."""
        if round_ == 0:
            return np.zeros(len(members), dtype=np.int64), np.zeros(len(members))
        if ("hawkes", round_) not in society.known:
            before, excess = self._process(members, round_ - 1, society)
            if self.others:
                excess = excess + self.others * self.decay * _seen(members, before, round_ - 1, society)
            generator = np.random.default_rng(society.draw("active", round_).getrandbits(64))
            society.known["hawkes", round_] = self.round(excess, generator, self.exogenous(round_))
        impulses, excess = society.known["hawkes", round_]
        return impulses, excess

    def round(self, excess: Any, generator: np.random.Generator, base: float | None = None) -> tuple[Any, Any]:
        """Return the impulses per member in one round, and the excess of the intensity at its end.

        excess: at the beginning of the round, (members,). base: the intensity without it (default: the option).
        """
        who, _, left = self.times(excess, generator, self.base if base is None else base)
        return np.bincount(who, minlength=len(left)), left

    def times(self, excess: Any, generator: np.random.Generator, base: float) -> tuple[Any, Any, Any]:
        """Return member and time (0 to 1) of each impulse of one round, and the excess at its end.

        The simulation is exact (Dassios and Zhao 2013, Electronic Communications in Probability 18, 62): the next impulse
        is the earlier one of an impulse of the excess, which may never come, and an impulse of the base.
        """
        excess = np.array(excess, dtype=float)
        who, when, clock, going = [], [], np.zeros(len(excess)), np.arange(len(excess))
        while len(going):
            wait = np.minimum(self._excited(excess[going], generator), generator.exponential(1 / base, len(going)))
            left = 1 - clock[going]
            comes, passed = wait <= left, np.minimum(wait, left)
            excess[going] = excess[going] * np.exp(-self.decay * passed) + comes * self.branching * self.decay
            clock[going] += passed
            going = going[comes]
            who.append(going)
            when.append(clock[going])
        return np.concatenate([*who, going]), np.concatenate([*when, clock[going]]), excess

    def _excited(self, excess: Any, generator: np.random.Generator) -> Any:
        """Draw the wait for an impulse of an intensity that decays from `excess`; infinite if none comes."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = 1 + self.decay * np.log(1 - generator.random(len(excess))) / excess
            return np.where(rest > 0, -np.log(np.maximum(rest, 0)) / self.decay, np.inf)


def _seen(members: tuple[int, ...], impulses: Any, round_: int, society: SocialGraph) -> Any:
    """Return for each member the impulses of a round that it sees: their mean over those whom it follows (0: no one)."""
    public, hears = society.public_acts.get(round_), society.links.hears
    marks = {
        member: int(count)
        for member, count in zip(members, impulses, strict=True)
        if count and (public is None or member in public)
    }
    followed = [hears.get(member, ()) for member in members]
    return np.array([sum(marks.get(source, 0) for source in others) / max(len(others), 1) for others in followed])


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
        rate_draws, draws = society.draw("rates"), society.draw("active", round_)
        time = self.time_of_day(round_)
        rates = [self.rate * math.exp(rate_draws.gauss(-(self.spread**2) / 2, self.spread)) for _ in members]
        return tuple(
            [member for member, rate in zip(members, rates, strict=True) if draws.random() < 1 - math.exp(-rate * time)]
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
