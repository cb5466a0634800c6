"""The theory of biased consensus: people with one of two answers, who see how many others give each.

The answers are +1 (for a claim) and -1 (against it); m, from -1 to 1, is the mean answer of the others. A person's mean answer is

    E(answer | m) = (1 - noise) tanh(pull m / (1 - noise) + bias),    pull = (1 - noise) conformity

that is, P(for) = noise / 2 + (1 - noise) / (1 + exp(-2 (conformity m + bias))): a share `noise` of the answers is a coin toss.

pull    how steeply answers follow the others where these are divided and no one has a bias
bias    above 0: toward the claim, whatever the others answer

Divided by 1 - noise, the mean answer n of a large group satisfies n = tanh(pull n + bias), the Curie-Weiss equation.
So one map of pull and bias holds for any noise, and its critical point is pull = 1. Groups of N people are a Markov
chain on the number who are for: all N answer at once, and each sees the N - 1 others. All its numbers here are exact.

Sources: Okawa 2026 (ICML, PMLR 306), a transition to biased consensus by conformity, bias and noise; De Marzo,
Castellano and Garcia 2024 (arXiv 2409.02822), P = (1 + tanh(beta m)) / 2 for language models, critical at beta = 1; De
Nobili 2026 (arXiv 2605.10528), conformity and bias as coupling and field; Little 1974 (Mathematical
Biosciences 19) and Peretto 1984 (Biological Cybernetics 50), the stationary distribution where all answer at once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import comb

from parley.analysis.statistics.intervals import Floats

EITHER, BIASED, DISORDERED, ALTERNATING = PHASES = ("either side", "biased consensus", "disordered", "alternating")
"""either side: a large group stays on the side on which it began. biased consensus: one stable state, in which at
least 3 in 4 of the answers that are not coin tosses are the same. disordered: one stable state with fewer.
alternating: the group jumps to and fro.
"""
AGREED = 0.5
"""The mean answer from which one side counts as a consensus: 3 of 4 answers."""
STEPS = 60
"""Halvings of the interval in which a stable state lies: 2^-60."""


def mean_answer(others: Floats, pull: Floats, bias: Floats, noise: Floats) -> Floats:
    """Return the mean answer, from -1 to 1, for arrays that fit each other. others: the mean answer of the others."""
    kept = 1 - noise
    return np.asarray(kept * np.tanh(pull * others / kept + bias))


class Curve(NamedTuple):
    """How a person answers, by the mean answer of the others; see the top of this file."""

    pull: float
    bias: float
    noise: float = 0.0

    def mean(self, others: Floats) -> Floats:
        """Return the mean answer, from -1 to 1. others: their mean answer, from -1 to 1.

        >>> Curve(1.0, 0.0).mean(np.array([0.0, 1.0])).round(4).tolist()
        [0.0, 0.7616]
        """
        return mean_answer(others, *map(np.array, self))

    def share(self, others: Floats) -> Floats:
        """Return the probability of an answer for the claim."""
        return (1 + self.mean(others)) / 2

    @property
    def alone(self) -> float:
        """The probability of an answer for the claim where no other person's answer is known, if only the bias counts then."""
        return float(self.share(np.array(0.0)))


def edge_of_either_side(pull: Floats) -> Floats:
    """Return the largest bias with which a group can stay on either side; NaN up to the critical point, pull = 1.

    It is the spinodal of the Curie-Weiss equation: pull t - artanh(t) with t = sqrt(1 - 1 / pull).

    >>> edge_of_either_side(np.array([1.0, 2.0])).round(4).tolist()
    [0.0, 0.5328]
    """
    with np.errstate(invalid="ignore"):
        turning = np.sqrt(1 - 1 / np.where(np.asarray(pull) >= 1, pull, np.nan))
    return np.asarray(pull * turning - np.arctanh(turning))


def large_group(pull: Floats, bias: Floats) -> Floats:
    """Return the mean answer n of a large group on the side of its bias: n = tanh(pull n + bias), by bisection.

    Without bias it is that of the side for the claim, 0 up to pull = 1.

    >>> large_group(np.array([1.5, 0.0]), np.array([0.0, -0.5])).round(4).tolist()
    [0.8586, -0.4621]
    """
    pull, size = np.broadcast_arrays(np.asarray(pull, dtype=float), np.abs(np.asarray(bias, dtype=float)))
    low, high = np.where(size == 0, 1e-9, 0.0), np.ones_like(size)
    for _ in range(STEPS):
        middle = (low + high) / 2
        below = np.tanh(pull * middle + size) > middle
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(np.asarray(bias) < 0, -high, np.where(high < 1e-6, 0.0, high))


def phase(pull: Floats, bias: Floats) -> Floats:
    """Return the place in PHASES of each pair of pull and bias.

    >>> [PHASES[place] for place in phase(np.array([1.5, 1.5, 0.5, -2.0]), np.array([0.0, 0.8, 0.0, 0.0]))]
    ['either side', 'biased consensus', 'disordered', 'alternating']
    """
    pull, bias = np.broadcast_arrays(np.asarray(pull, dtype=float), np.asarray(bias, dtype=float))
    state = large_group(pull, bias)
    places = np.where(np.abs(state) >= AGREED, PHASES.index(BIASED), PHASES.index(DISORDERED))
    edge = np.nan_to_num(edge_of_either_side(pull), nan=-1.0)
    places = np.where((pull > 1) & (np.abs(bias) < edge), PHASES.index(EITHER), places)
    return np.where(pull * (1 - state**2) < -1, PHASES.index(ALTERNATING), places)


@lru_cache(maxsize=256)
def _binomials(people: int) -> Floats:
    return np.asarray(comb(people, np.arange(people + 1)))


def _pmf(people: int, chance: float) -> Floats:
    """Return the probability of 0 to `people` answers for the claim, each with this chance."""
    places = np.arange(people + 1)
    return np.asarray(_binomials(people) * chance**places * (1 - chance) ** (people - places))


def transitions(curve: Curve, people: int, missing: float = 0.0) -> Floats:
    """Return the (people + 1, people + 1) probabilities of the number who are for, after one round, by the number before.

    All people answer at once, each after it saw the answers of the others. missing: the probability that an answer
    cannot be read; such a person keeps its last answer.
    """
    told = np.linspace(-1.0, 1.0, people) if people > 1 else np.zeros(1)
    follows = (1 - missing) * curve.share(told)
    rows = []
    for count in range(people + 1):
        stays = _pmf(count, missing + follows[count - 1]) if count else np.ones(1)
        joins = _pmf(people - count, follows[count]) if count < people else np.ones(1)
        rows.append(np.convolve(stays, joins))
    return np.array(rows)


def start(people: int, begins: str, alone: float) -> Floats:
    """Return the probabilities of 0 to `people` answers for the claim at the start.

    begins: "for" or "against", all people are taken to hold this answer; "alone", each gives its own with probability `alone`.
    """
    if begins == "alone":
        return _pmf(people, alone)
    return np.asarray(np.eye(people + 1)[people if begins == "for" else 0])


def after(curve: Curve, people: int, begins: str, alone: float, rounds: int, missing: float = 0.0) -> Floats:
    """Return the probabilities of 0 to `people` answers for the claim after so many rounds.

    The first round of a group that begins "alone" is the one in which each gives its own answer.
    """
    counts, steps = start(people, begins, alone), rounds - (begins == "alone")
    return np.asarray(counts @ np.linalg.matrix_power(transitions(curve, people, missing), max(steps, 0)))


def agreed_by(curve: Curve, people: int, begins: str, alone: float, rounds: int, missing: float = 0.0) -> float:
    """Return the probability that all people gave the same answer in at least one of the rounds."""
    chances, counts = transitions(curve, people, missing), start(people, begins, alone)
    reached, steps = 0.0, rounds
    if begins == "alone":
        reached, steps = float(counts[0] + counts[-1]), rounds - 1
        counts[[0, -1]] = 0.0
    for _ in range(max(steps, 0)):
        counts = counts @ chances
        reached += float(counts[0] + counts[-1])
        counts[[0, -1]] = 0.0
    return reached


def stationary(curve: Curve, people: int) -> Floats:
    """Return the long-run probabilities of 0 to `people` answers for the claim.

    They are found by the elimination of Grassmann, Taksar and Heyman 1985 (Operations Research 33), which subtracts
    nothing and so stays exact where a group changes its side once in 10^20 rounds.
    """
    chances = transitions(curve, people)
    for last in range(people, 0, -1):
        leaving = chances[last, :last].sum()
        chances[:last, last] /= leaving
        chances[:last, :last] += np.outer(chances[:last, last], chances[last, :last])
    long_run = np.zeros(people + 1)
    long_run[0] = 1.0
    for place in range(1, people + 1):
        long_run[place] = long_run[:place] @ chances[:place, place]
    return np.asarray(long_run / long_run.sum())


def means(people: int) -> Floats:
    """Return the mean answer of a group in which 0 to `people` are for the claim.

    >>> means(2).tolist()
    [-1.0, 0.0, 1.0]
    """
    return np.linspace(-1.0, 1.0, people + 1)


def order(curve: Curve, people: int) -> float:
    """Return the long-run size of the mean answer of a group, from 0 to 1: the order parameter."""
    return float(stationary(curve, people) @ np.abs(means(people)))
