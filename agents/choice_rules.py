"""Rules of choice: ballots of k candidates in, one order of them out. `RULES` has every rule by its name.

All rules read ballots alone (`social_choice` says how a ballot is written), so that the same ballots can be counted by
each of them. Rules that need scores give each candidate the points of Borda on a ballot: the number of candidates below
it, and half a point for a tied one. A rule that is new is one entry of `RULES`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from parley.agents.social_choice import (
    Ballot,
    Order,
    approval,
    borda,
    descending_order,
    maximin,
    pairwise,
    preference_levels,
    schulze,
)

Rule = Callable[[Sequence[Ballot], int], Order]


def points_of(ballots: Sequence[Ballot], candidates: int) -> NDArray[np.float64]:
    """Return (voters, candidates): on each ballot the candidates below, tied ones half; from 0 to k - 1.

    >>> points_of([(0, 1, 2), (1,)], 3).tolist()
    [[2.0, 1.0, 0.0], [0.5, 2.0, 0.5]]
    """
    levels = np.array([preference_levels(ballot, candidates) for ballot in ballots]).reshape(-1, candidates)
    below = (levels[:, :, None] < levels[:, None, :]).sum(axis=2)
    tied = (levels[:, :, None] == levels[:, None, :]).sum(axis=2) - 1
    return np.asarray(below + tied / 2, dtype=np.float64)


def approve_half(ballots: Sequence[Ballot], candidates: int) -> Order:
    """Approval: each member approves the better half of its ballot, that is, at least half of the possible points.

    >>> approve_half([(0, 1, 2), (1, 2, 0)], 3)
    ((1,), (0, 2))
    """
    return approval(points_of(ballots, candidates).tolist(), (candidates - 1) / 2).order


def worst_off(ballots: Sequence[Ballot], candidates: int) -> Order:
    """Maximin: the candidate whose lowest points on any ballot are highest (Rawls 1971).

    >>> worst_off([(0, 1, 2), (2, 1, 0)], 3)
    ((1,), (0, 2))
    """
    return maximin(points_of(ballots, candidates).tolist()).order


def nash(ballots: Sequence[Ballot], candidates: int) -> Order:
    """Nash: the largest product of points + 1 over members, which is proportionally fair (Nash 1950; Kelly 1997).

    >>> nash([(0, 1, 2), (0, 1, 2), (2, 1, 0)], 3)
    ((0,), (1,), (2,))
    """
    products = np.prod(points_of(ballots, candidates) + 1, axis=0)
    return descending_order(products.tolist())


def instant_runoff(ballots: Sequence[Ballot], candidates: int) -> Order:
    """Instant runoff: again and again the candidate with the fewest first places leaves; proportional for solid groups.

    Candidates that are tied at the top of a ballot share its vote. Those with equally few leave together.

    >>> instant_runoff([(0, 1, 2)] * 4 + [(2, 1, 0)] * 3 + [(1, 2, 0)] * 2, 3)
    ((2,), (0,), (1,))
    """
    left, out = set(range(candidates)), list[tuple[int, ...]]()
    levels = [preference_levels(ballot, candidates) for ballot in ballots]
    while left:
        votes = dict.fromkeys(left, 0.0)
        for at in levels:
            best = min(at[candidate] for candidate in left)
            top = [candidate for candidate in left if at[candidate] == best]
            for candidate in top:
                votes[candidate] += 1 / len(top)
        fewest = min(votes.values())
        leaving = tuple(sorted(candidate for candidate in left if votes[candidate] <= fewest + 1e-9))
        out.append(leaving)
        left -= set(leaving)
    return tuple(reversed(out))


def ranked_pairs(ballots: Sequence[Ballot], candidates: int) -> Order:
    """Ranked pairs: majorities are locked from the strongest (most winning votes) on, unless they close a cycle.

    Source: Tideman 1987, Social Choice and Welfare 4(3), 185-206. Majorities of equal strength are locked together, and
    those of them that lie on a cycle are left out, so that no candidate is favoured. Candidates between which nothing
    is locked are tied.

    >>> ranked_pairs([(0, 1, 2)] * 4 + [(1, 2, 0)] * 3 + [(2, 0, 1)] * 2, 3)
    ((0,), (1,), (2,))
    """
    votes = pairwise(ballots, candidates)
    strengths: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for candidate in range(candidates):
        for other in range(candidates):
            if votes[candidate][other] > votes[other][candidate]:
                strengths[votes[candidate][other]].append((candidate, other))
    locked = nx.DiGraph()
    locked.add_nodes_from(range(candidates))
    for strength in sorted(strengths, reverse=True):
        tried = locked.copy()
        tried.add_edges_from(strengths[strength])
        component = {
            candidate: n for n, group in enumerate(nx.strongly_connected_components(tried)) for candidate in group
        }
        locked.add_edges_from(
            (candidate, other) for candidate, other in strengths[strength] if component[candidate] != component[other]
        )
    return tuple(tuple(sorted(group)) for group in nx.topological_generations(locked))


RULES: Mapping[str, Rule] = {
    "schulze": schulze,
    "ranked_pairs": ranked_pairs,
    "borda": lambda ballots, candidates: borda(ballots, candidates).order,
    "approval": approve_half,
    "maximin": worst_off,
    "nash": nash,
    "instant_runoff": instant_runoff,
}
"""Every rule by its name. The sum of Borda's points is the utilitarian choice on these points."""
