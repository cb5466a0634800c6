"""Everyone copies q neighbours who agree (Castellano, Muñoz and Pastor-Satorras 2009)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws._meetings import concurrent_batches, draw_meetings
from parley.agents.laws._states import DiscreteLaw
from parley.agents.laws.base import Codes, Flags, Floats, check_share


@dataclass(frozen=True)
class QVoter(DiscreteLaw):
    """The q-voter model: an agent takes the opinion of q random neighbours if all q agree.

    If they do not agree, the agent changes its opinion with probability epsilon: to the other state, or to one of the
    others if there are more than two (the source has two). A step is n meetings, one after the other: i is drawn from
    all agents, its q neighbours from those that i hears, with equal chances and replacement. Weights of links are
    ignored. Opinions are discrete (`states`, 2: 0 and 10). Source: Castellano, Muñoz and Pastor-Satorras 2009, Physical
    Review E 80, 041129.

    q        how many neighbours an agent asks
    epsilon  the probability of a change where they disagree

    Among very many agents who all hear each other, an agent flips with probability f(x) = x^q + epsilon (1 - x^q - (1 -
    x)^q), where x is the share of the other opinion. q = 1 is the voter model. NDlib's `QVoterModel` (6.0.1) is this
    law with epsilon = 0; its iteration is one meeting.
    """

    q: int = 2
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("epsilon", self.epsilon)
        if self.q < 1:
            raise ValueError(f"q is {self.q}, but must be 1 or more")

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        meetings = np.stack(draw_meetings(graph, generator, self.q))
        count = meetings.shape[1]
        flips: Flags = generator.random(count) < np.full(count, self.epsilon)
        shifts = generator.integers(1, np.full(count, self.states))
        moved = opinions.copy()
        for batch in concurrent_batches(len(opinions), *meetings):
            self._meet(moved, meetings[:, batch], flips[batch], shifts[batch])
        return moved

    def _meet(self, moved: Floats, meetings: Codes, flips: Flags, shifts: Codes) -> None:
        """Change the opinions `moved` by meetings of different agents, (1 + q, meetings)."""
        agents, others = meetings[0], moved[meetings[1:]]
        agree = (others == others[0]).all(axis=0)
        flipped = ((self._places(moved[agents]) + shifts) % self.states) * self.width
        after = np.where(agree, others[0], np.where(flips, flipped, moved[agents]))
        moved[agents] = after if self.fixed is None else np.where(self.fixed[agents], moved[agents], after)
