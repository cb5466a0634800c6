"""friedkin_johnsen: as DeGroot, but everybody holds on to where it began.

    x(t+1) = (1 - s) W x(t) + s x(0),     W: the graph with rows that sum to 1, s: stubbornness

Source: Friedkin and Johnsen 1990, Journal of Mathematical Sociology 15(3-4), 193-206 (their susceptibility is 1 - s). For s >
0 opinions converge to (I - (1 - s) W)^-1 s x(0), which is no consensus unless they began with one.

Options
    stubbornness   s, the same for all (0.2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from parley.agents.opinion_dynamics.base import Codes, Floats, Law, interval_share, neighbour_mean


@dataclass(frozen=True)
class FriedkinJohnsen(Law):
    """Averaging with prejudice; see the module's manual page. `initial` is x(0), which `begin` sets."""

    stubbornness: float = 0.2
    initial: Floats | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        interval_share("stubbornness", self.stubbornness)

    def begin(self, opinions: Floats, parties: Codes, names: Sequence[str]) -> FriedkinJohnsen:
        return replace(self, initial=opinions.copy())

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        if self.initial is None:
            raise ValueError("friedkin_johnsen has to know where everybody began: law.begin(opinions, ...)")
        return (1 - self.stubbornness) * neighbour_mean(opinions, graph) + self.stubbornness * self.initial
