"""Pairs of replies of which one is preferred, for DPO: the best with the worst, and the null in which half of them are turned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parley.llm.seeding import stream


class Ranking(NamedTuple):
    """Pairs of places in a list of scores (preferred, other), and how many pairs were left out because they tie."""

    pairs: list[tuple[int, int]]
    ties: int


def pair_places(scores: Sequence[float]) -> Ranking:
    """Return the best with the worst, the second best with the second worst, and so on.

    >>> pair_places([3, 5, 1, 3])
    Ranking(pairs=[(1, 2)], ties=1)
    """
    ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
    every = [(ranked[place], ranked[-1 - place]) for place in range(len(ranked) // 2)]
    pairs = [(high, low) for high, low in every if scores[high] > scores[low]]
    return Ranking(pairs, len(every) - len(pairs))


def draw_turned(count: int, seed: int, number: int) -> set[int]:
    """Return the places of the half of `count` pairs, drawn with the seed and the number of the shuffle, that is turned round."""
    return set(stream(seed, "shuffled preferences", number).sample(range(count), count // 2))
