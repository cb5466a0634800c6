"""Everyone holds on to its first opinion (Friedkin and Johnsen 1990)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws.base import Floats, Law, People, along, check_share, neighbour_mean


@dataclass(frozen=True)
class FriedkinJohnsen(Law):
    """As DeGroot, but everyone holds on to its first opinion: x(t+1) = (1 - s) W x(t) + s x(0).

    `stubbornness` is s, the same for all, unless nodes have a `stubbornness` of their own. `begin` sets `initial`,
    x(0), and `hold`, s for each agent. Source: Friedkin and Johnsen 1990, Journal of Mathematical Sociology 15(3-4),
    193-206 (their susceptibility is 1 - s). For s > 0 opinions converge to (I - (1 - s) W)^-1 s x(0), which is no
    consensus unless all began with the same opinion.
    """

    stubbornness: float = 0.2
    initial: Floats | None = field(default=None, compare=False, repr=False)
    hold: Floats | None = field(default=None, compare=False, repr=False)
    reads = ("stubbornness",)
    vectors = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("stubbornness", self.stubbornness)

    def begin(self, opinions: Floats, people: People) -> FriedkinJohnsen:
        hold = people.traits.get("stubbornness")
        return replace(self, initial=opinions.copy(), hold=None if hold is None else along(hold, opinions))

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        if self.initial is None:
            raise ValueError("friedkin_johnsen needs the first opinions: call law.begin(opinions, people)")
        hold = self.stubbornness if self.hold is None else self.hold
        return (1 - hold) * neighbour_mean(opinions, graph) + hold * self.initial
