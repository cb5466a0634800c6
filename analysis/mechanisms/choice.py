"""What a group should choose, whether a mechanism brings it about, and how far a model profile misses it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from parley.analysis.bootstrap import Floats
from parley.analysis.mechanisms.episode import EXACT, Mechanism, Profile, outcome

Types = tuple[int, ...]
"""A type profile theta: the type of each participant, which says what it prefers."""
SocialChoice = Mapping[Types, int]
"""A social choice function h, as a table from type profiles to outcomes (Eq 1); an outcome is the number of a state."""


def utilitarian(payoffs: Sequence[Floats]) -> dict[Types, int]:
    """The utilitarian social choice function: the outcome with the greatest sum of payoffs, the first of several.

    payoffs: for each participant i its g_i, (types, outcomes). Eqs 4 and 5, reconstructed.

    >>> likes = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> utilitarian([likes, likes])
    {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 1}
    """
    profiles = itertools.product(*(range(len(own)) for own in payoffs))
    return {types: int(np.argmax(sum(own[i] for own, i in zip(payoffs, types, strict=True)))) for types in profiles}


def implements(mechanism: Mechanism, behaviours: Mapping[Types, Profile], choice: SocialChoice) -> bool:
    """Does the mechanism end, for every type profile, surely where the social choice function wants it?

    behaviours: the policy profile of participants of these types. Reconstructed from "h(theta) = f(pi, tau) for all theta".
    """
    return all(outcome(behaviours[types], mechanism)[wanted] > 1 - EXACT for types, wanted in choice.items())


def payoff_gap(true: Profile, model: Profile, mechanism: Mechanism, payoffs: Floats) -> Floats:
    """What each participant expects to get more (less: negative) if the model profile speaks, (n,). payoffs: (n, S).

    It is the difference inside Eq 16 (reconstructed): E[g(f(model, tau))] - E[g(f(true, tau))].
    """
    gap: Floats = payoffs @ (outcome(model, mechanism) - outcome(true, mechanism))
    return gap


def discrepancy(true: Profile, model: Profile, mechanisms: Sequence[Mechanism], payoffs: Floats) -> float:
    """Representativity: the mean absolute payoff gap over mechanisms and participants, 0 for a good representative (Eq 16).

    Reconstructed: the paper leaves the measure d open; the mean over the elements is what it uses in Eq 21.
    """
    return float(np.mean([np.abs(payoff_gap(true, model, mechanism, payoffs)) for mechanism in mechanisms]))
