"""hawkes: who spoke of late is likely to speak again; a self-exciting process for each person, independent of the others'.

The intensity (impulses a round) is lambda(t) = base + sum over impulses t_i < t of branching * decay * exp(-decay * (t - t_i)):
an exponential kernel with mass `branching`, the number of further impulses that one brings about (Hawkes 1971, Biometrika 58,
83-90). It begins at `base`, and its mean settles at base / (1 - branching). Time is in rounds. Somebody with one impulse or more
in a round speaks once in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from parley.environments._social_graph import SocialGraph
from parley.environments.base import in_range


@dataclass(frozen=True)
class Hawkes:
    """`base`: impulses a round without excitation; `branching` below 1; `decay`: of the excitation, a round.

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
        counts, _ = self._held(len(members), round_, society)
        return tuple([member for member, count in zip(members, counts, strict=True) if count])

    def _held(self, people: int, round_: int, society: SocialGraph) -> tuple[Any, Any]:
        """What `round` gave in this round of the room: each round has a stream of its own and begins where the last one ended."""
        if round_ == 0:
            return None, np.zeros(people)
        if ("hawkes", round_) not in society.known:
            _, excess = self._held(people, round_ - 1, society)
            generator = np.random.default_rng(society.draw("active", round_).getrandbits(64))
            society.known["hawkes", round_] = self.round(excess, generator)
        counts, excess = society.known["hawkes", round_]
        return counts, excess

    def round(self, excess: Any, generator: np.random.Generator) -> tuple[Any, Any]:
        """Impulses in one round by person, and the excess of the intensity over `base` at its end, from that at its beginning.

        Exact (Dassios and Zhao 2013, Electronic Communications in Probability 18, 62): the next impulse is the earlier one of
        two, of the excess, which may never come, and of the base.
        """
        counts, clock, excess = (
            np.zeros(len(excess), dtype=np.int64),
            np.zeros(len(excess)),
            np.array(excess, dtype=float),
        )
        going = np.arange(len(excess))
        while len(going):
            wait = np.minimum(self._excited(excess[going], generator), generator.exponential(1 / self.base, len(going)))
            left = 1 - clock[going]
            comes, passed = wait <= left, np.minimum(wait, left)
            excess[going] = excess[going] * np.exp(-self.decay * passed) + comes * self.branching * self.decay
            clock[going] += passed
            counts[going] += comes
            going = going[comes]
        return counts, excess

    def _excited(self, excess: Any, generator: np.random.Generator) -> Any:
        """The wait for an impulse of an intensity that decays from `excess`; infinite where none comes."""
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = 1 + self.decay * np.log(1 - generator.random(len(excess))) / excess
            return np.where(rest > 0, -np.log(np.maximum(rest, 0)) / self.decay, np.inf)
