"""People take the belief that is nearer to their own beliefs: relative dissonance (*Neural embedding of beliefs*, 2024)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from parley.agents.laws._meetings import concurrent_batches, draw_meetings
from parley.agents.laws.base import Flags, Floats, Law, People, along, distances


def choice_probability(first: Floats, second: Floats, slope: float) -> Floats:
    """Return the probability to take the first of two beliefs at these distances from the own ones.

    It is 1 / (1 + r^slope), where the relative dissonance r is the first distance divided by the second (0 / 0: one half).

    >>> choice_probability(np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0]), 2.0).tolist()
    [0.5, 0.8, 1.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # the log of 0 is -inf, and 0 times it has no value
        chance: Floats = expit(slope * (np.log(second) - np.log(first)))
    return np.where(np.isnan(chance), 0.5, chance)


@dataclass(frozen=True)
class Dissonance(Law):
    """Relative dissonance: of two beliefs that an agent hears, it takes the one that is nearer to its own.

        P(j rather than k) = 1 / (1 + r^slope),   r = |x_i - x_j| / |x_i - x_k|,   x_i <- x_i + mu (taken - x_i)

    The position of an agent is the mean of its beliefs, so a further belief moves it a share mu of the way. A step is n
    meetings, one after the other: i is drawn from all agents, j and k from those that i hears, with equal chances
    and replacement. In several dimensions |.| is the Euclidean distance between positions. Weights of links are ignored.

    slope  how much the nearer belief is preferred: 0 not at all, very large always
    mu     how far the taken belief moves the agent, as a share of the way

    Source: *Neural embedding of beliefs reveals the role of relative dissonance in human decision-making*, 2024. It finds that
    the relative distance of two beliefs in an embedding predicts which one a person takes. Departures: agents hear positions of
    others and no single statements; mu and the form 1 / (1 + r^slope) are ours. study dissonance fits the slope to choices.
    With slope 0 the mean is conserved in expectation on a regular graph.

    `begin` sets `fixed`, (n,) who never moves.
    """

    slope: float = 5.0
    mu: float = 0.1
    fixed: Flags | None = field(default=None, kw_only=True, compare=False, repr=False)
    vectors = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.slope < np.inf or not 0 < self.mu <= 1:
            raise ValueError("slope must be 0 or more, and mu must be above 0 and at most 1")

    def begin(self, opinions: Floats, people: People) -> Dissonance:
        return replace(self, fixed=people.stubborn)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        meetings = np.stack(draw_meetings(graph, generator, 2))
        draws = generator.random(len(meetings[0]))
        if self.fixed is not None:
            free = ~self.fixed[meetings[0]]
            meetings, draws = meetings[:, free], draws[free]
        moved = opinions.copy()
        for batch in concurrent_batches(len(opinions), *meetings):
            agents, first, second = meetings[:, batch]
            gap, other = moved[first] - moved[agents], moved[second] - moved[agents]
            takes = draws[batch] < choice_probability(distances(gap), distances(other), self.slope)
            moved[agents] += self.mu * np.where(along(takes, gap), gap, other)
        return moved
