"""Near opinions attract and far ones repel: social judgement (Jager and Amblard 2005)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws._meetings import pairs_in_turn
from parley.agents.laws.base import AXIS, Flags, Floats, Law, People


@dataclass(frozen=True)
class JagerAmblard(Law):
    """Assimilation and contrast: in a meeting, each moves toward an opinion near its own and away from a far one.

        |x_i - x_j| < acceptance:   x_i <- x_i + mu (x_j - x_i)      (assimilation)
        |x_i - x_j| > rejection:    x_i <- x_i - mu (x_j - x_i)      (contrast)

    The same holds for x_j; opinions in between do not move. Opinions are kept within 0 and 10. A step is n meetings, as
    in Deffuant's law. Weights of links are ignored. Source: Jager and Amblard 2005, Computational and Mathematical
    Organization Theory 10(4), 295-303, after the social judgement theory of Sherif and Hovland 1961. Departure: the
    axis runs from 0 to 10, not from -1 to 1.

    acceptance  the latitude of acceptance, in points of the axis
    rejection   where the latitude of rejection begins, in points of the axis; at least `acceptance`
    mu          how far each moves, as a share of the gap

    Without rejection (10) it is Deffuant's law, and the mean is conserved. `begin` sets `fixed`, (n,) who never moves.
    """

    acceptance: float = 2.0
    rejection: float = 6.0
    mu: float = 0.1
    fixed: Flags | None = field(default=None, compare=False, repr=False)
    mutual = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.acceptance <= self.rejection:
            raise ValueError("acceptance must be 0 or more, and rejection must not be less than acceptance")
        if not 0 < self.mu <= 0.5:
            raise ValueError(f"mu is {self.mu:g}, but must be above 0 and at most 0.5")

    def begin(self, opinions: Floats, people: People) -> JagerAmblard:
        return replace(self, fixed=people.stubborn)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        moved = opinions.copy()
        for first, second, gap, distance in pairs_in_turn(moved, graph, generator):
            change = self.mu * gap * ((distance < self.acceptance) * 1.0 - (distance > self.rejection))
            for movers, shift in ((first, change), (second, -change)):
                held = shift if self.fixed is None else np.where(self.fixed[movers], 0.0, shift)
                moved[movers] = np.clip(moved[movers] + held, *AXIS)
        return moved
