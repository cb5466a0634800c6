"""Laws whose opinions are discrete: a few states on the axis."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from parley.agents.laws.base import AXIS, Flags, Floats, Law, People


@dataclass(frozen=True)
class DiscreteLaw(Law):
    """A law of opinions that are one of `states` values, evenly spaced from 0 to 10 (2: the values 0 and 10).

    A population may start anywhere on the axis. Before the first step, each opinion goes to the nearest state; an
    opinion halfway between two goes to the higher one. After pull and noise, an opinion between two states goes to one
    of them at random, so that its expectation is unchanged: from 2 of 10, to 10 with probability 0.2.

    `begin` sets `fixed`, (n,) who never moves.
    """

    states: int = field(default=2, kw_only=True)
    fixed: Flags | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.states < 2:
            raise ValueError(f"states is {self.states}, but must be 2 or more")

    @property
    def width(self) -> float:
        """The distance of two states, in points of the axis."""
        return (AXIS[1] - AXIS[0]) / (self.states - 1)

    def admit(self, opinions: Floats) -> Floats:
        places: Floats = np.floor(self._places(opinions) + 0.5)
        return places * self.width

    def settle(self, opinions: Floats, generator: np.random.Generator) -> Floats:
        places: Floats = np.floor(self._places(opinions) + generator.random(opinions.shape))
        return places * self.width

    def _places(self, opinions: Floats) -> Floats:
        """Return opinions as numbers of states, from 0; rounded, so that a state is a whole number."""
        return np.round(opinions / self.width, 9)

    def begin(self, opinions: Floats, people: People) -> Self:
        return replace(self, fixed=people.stubborn)
