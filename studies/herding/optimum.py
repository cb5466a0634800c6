"""The best planner of social learning, by value iteration over the public belief.

The planner knows what all people know: the prior, the acts so far and the precision of each signal. It does not know the state,
and it cannot lie. One precision (`base`) is free. Another one costs `cost` times its distance from `base`, whether the signal
becomes clearer or vaguer. A person who chooses as the planner aims is worth 1: with aim="right" the right option, with aim="A"
or "B" this option. The planner maximises the expected sum over all people that are left, who are taken for Bayesians.

With k people left, a belief p has the value V_k(p) = max over q of r(p, q) - cost |q - base| + sum over acts of P(act) V_(k-1)(p
after the act), and V_0 = 0. Only finitely many beliefs can be reached, and the value of each is computed once: there is no grid,
and nothing is interpolated.

After "Steering the Herd: A Framework for LLM-based Control of Social Learning" (2025), which has an endless horizon with
discounting. Here the horizon is the number of people, and the form of the cost is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from .law import A, B, act_probabilities, log_odds, updated

DIGITS = 9
"""Log-odds that agree in so many decimals are one belief."""
EQUAL = 1e-7
"""Of precisions whose values differ by less than this, the cheapest is chosen, then the lowest."""


class Aim(NamedTuple):
    """What a planner can do and wants.

    levels  the precisions to choose from     base  the free one
    cost    for one unit of distance from it  aim   right, A or B
    ties    what undecided people do (law.py)
    """

    levels: tuple[float, ...]
    base: float
    cost: float
    aim: str
    ties: str

    def price(self, level: float) -> float:
        """Return what a precision costs."""
        return self.cost * abs(level - self.base)


class Step(NamedTuple):
    """What follows from one precision at one belief: the reward net of its cost, and P(act) with the belief after each act."""

    reward: float
    acts: tuple[tuple[float, float], ...]


def step(belief: float, level: float, aim: Aim) -> Step:
    """Return what follows from a precision at a belief (log-odds)."""
    share = 1 / (1 + math.exp(-belief))
    in_a, in_b = act_probabilities(belief, level, aim.ties)
    chance = share * in_a + (1 - share) * in_b
    aimed = {"right": share * in_a + (1 - share) * (1 - in_b), A: chance, B: 1 - chance}[aim.aim]
    acts = [(odds, updated(belief, act, level, aim.ties)) for act, odds in ((A, chance), (B, 1 - chance)) if odds > 0]
    return Step(aimed - aim.price(level), tuple(acts))


@cache
def value(belief: float, left: int, aim: Aim) -> float:
    """Return V of a belief (log-odds, of `DIGITS` decimals) with `left` people left."""
    return max(_totals(belief, left, aim)) if left else 0.0


def _totals(belief: float, left: int, aim: Aim) -> Iterator[float]:
    """Yield what each precision is worth for the next person and all that follow."""
    for level in aim.levels:
        here = step(belief, level, aim)
        yield here.reward + sum(chance * value(round(after, DIGITS), left - 1, aim) for chance, after in here.acts)


def best_precision(belief: float, left: int, aim: Aim) -> float:
    """Return the planner's choice at a public belief (log-odds), with `left` people left, the next one included."""
    totals = list(_totals(round(belief, DIGITS), left, aim))
    best = [level for level, total in zip(aim.levels, totals, strict=True) if total >= max(totals) - EQUAL]
    return min(best, key=lambda level: (aim.price(level), level))


def planned_value(prior: float, people: int, aim: Aim) -> float:
    """Return the planner's expected sum over a period of so many people, if all of them are Bayesians."""
    return value(round(log_odds(prior), DIGITS), people, aim)


def fixed_value(prior: float, people: int, level: float, aim: Aim) -> float:
    """Return the expected sum with one precision for all people."""
    return planned_value(prior, people, aim._replace(levels=(level,)))


def aimed_at(act: str, state: str, aim: str) -> bool:
    """Return whether an act is what a planner aims at."""
    return act == (state if aim == "right" else aim)
