"""An episode: participants act, a mechanism moves, T times over; where it ends is the outcome.

Shapes: S states, U joint utterances (one of each participant's, the last participant's varying fastest), n participants, T steps.
Everything is a probability or an expected payoff, in the units of the payoffs. Errors: ValueError for what is no distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parley.analysis.bootstrap import Floats

EXACT = 1e-9
"""Numbers closer than this are equal: only rounding lies between them."""
Profile = Sequence[Floats]
"""A policy profile pi: for each participant (S, its utterances), the probability of each utterance in each state."""


@dataclass(frozen=True)
class Mechanism:
    """A decision mechanism tau with where its episodes start and how long they are (Eq 2, reconstructed: a distribution).

    moves: (S, U, S), the probability of the next state given state and joint utterance. start: (S,). steps: T.
    """

    moves: Floats
    start: Floats
    steps: int

    def __post_init__(self) -> None:
        if (
            self.moves.ndim != 3
            or self.moves.shape[0] != self.moves.shape[2]
            or self.start.shape != self.moves.shape[:1]
        ):
            raise ValueError(f"moves must be (S, U, S) and start (S,), not {self.moves.shape} and {self.start.shape}")
        if self.steps < 1:
            raise ValueError(f"an episode has at least one step, not {self.steps}")
        _check(self.moves, "moves")
        _check(self.start, "start")


def joint(profile: Profile) -> Floats:
    """The probability of each joint utterance in each state, (S, U): given the state, participants speak independently.

    >>> joint([np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])]).tolist()
    [[0.125, 0.375, 0.125, 0.375]]
    """
    together = np.ones((len(profile[0]), 1))
    for policy in profile:
        _check(policy, "a policy")
        together = (together[:, :, None] * policy[:, None, :]).reshape(len(policy), -1)
    return together


def rollout(profile: Profile, mechanism: Mechanism) -> Floats:
    """The distribution over states before each step and after the last, (T + 1, S)."""
    chain = np.einsum("su,sut->st", joint(profile), mechanism.moves)
    states = [mechanism.start]
    for _ in range(mechanism.steps):
        states.append(states[-1] @ chain)
    return np.array(states)


def outcome(profile: Profile, mechanism: Mechanism) -> Floats:
    """The outcome function f(pi, tau): the distribution over terminal states, (S,) (Eq 3, reconstructed).

    >>> stay_or_go = Mechanism(np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]), np.array([1.0, 0.0]), steps=2)
    >>> outcome([np.array([[0.5, 0.5], [1.0, 0.0]])], stay_or_go).tolist()
    [0.25, 0.75]
    """
    last: Floats = rollout(profile, mechanism)[-1]
    return last


def bellman(functions: Floats, profile: Profile, mechanism: Mechanism) -> Floats:
    """The Bellman operator on functions Q of state and joint utterance, (..., S, U) in and out (Eq 9, reconstructed).

    (B Q)(s, u) is the mean of Q(s', u') over the state s' that (s, u) leads to and the utterance u' that the profile says there.
    """
    by_state = (functions * joint(profile)).sum(axis=-1)
    updated: Floats = np.einsum("sut,...t->...su", mechanism.moves, by_state)
    return updated


def values(profile: Profile, mechanism: Mechanism, payoffs: Floats) -> Floats:
    """The expected payoffs Q^t(s, u) of saying u in state s with T - t steps to go, (T + 1, n, S, U) (Eq 8, reconstructed).

    payoffs: (n, S), what each participant gets from each state as the outcome. Q^T is the payoff of the state, whatever is said,
    and Q^t = B Q^(t+1): for t < T the first step takes u, the profile speaks in all later ones.
    """
    each = np.broadcast_to(payoffs[:, :, None], (*payoffs.shape, mechanism.moves.shape[1]))
    backwards = [np.array(each)]
    for _ in range(mechanism.steps):
        backwards.append(bellman(backwards[-1], profile, mechanism))
    return np.array(backwards[::-1])


def _check(probabilities: Floats, what: str) -> None:
    if (probabilities < 0).any() or not np.allclose(probabilities.sum(axis=-1), 1, rtol=0, atol=EXACT):
        raise ValueError(f"{what} must be probabilities that add up to 1 along the last axis")
