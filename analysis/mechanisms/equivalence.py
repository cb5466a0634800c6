"""When is a model profile as good as the true one? Three equivalences, each weaker than the one before (Definition 3).

conditional  implies  transition  implies  trajectory       (Proposition 1, Eq 13; the functions closed under Bellman updates)

All are reconstructed. `functions` is a set of Q, (m, S, U); operators are linear, so a set stands for its span, and a basis for
a whole space. What the reconstruction shows and the text does not say:

- With all functions *and* all mechanisms the three coincide: a mechanism that always leads to s shows what is said in s. The
  trajectory class is larger (Eq 15) for narrower classes of mechanisms, such as one that ignores part of an utterance.
- An operator looks at what is said in the states a step can lead to, so only the first equivalence sees what is said in a state
  that is never entered. If the first utterance of an episode counts, the payoffs can differ in spite of trajectory equivalence;
  they cannot where the mechanism opens by itself, as with a question that is put to the group.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parley.analysis.bootstrap import Floats
from parley.analysis.mechanisms.episode import EXACT, Mechanism, Profile, bellman, joint, values

Parts = Sequence[NDArray[np.int64]]
"""For each participant, (its utterances,): which relevant part v each utterance u = (v, w) has (Eq 6, reconstructed)."""


def conditional(true: Profile, model: Profile) -> bool:
    """Eq 10: in every state the joint utterances have the same distribution. Its class is the digital clones only."""
    return _same(joint(true), joint(model))


def transition(true: Profile, model: Profile, mechanisms: Sequence[Mechanism], functions: Floats) -> bool:
    """Eq 11: under every mechanism both operators do the same to every function."""
    return all(_same(bellman(functions, true, tau), bellman(functions, model, tau)) for tau in mechanisms)


def trajectory(true: Profile, model: Profile, mechanisms: Sequence[Mechanism], functions: Floats) -> bool:
    """Eq 12: under every mechanism both operators, applied as often as an episode has steps, do the same to every function."""
    return all(_same(_through(functions, true, tau), _through(functions, model, tau)) for tau in mechanisms)


def every_function(states: int, utterances: int) -> Floats:
    """A basis of all functions of state and joint utterance, (S U, S, U): the maximal space."""
    return np.eye(states * utterances).reshape(-1, states, utterances)


def closure(functions: Floats, profiles: Sequence[Profile], mechanisms: Sequence[Mechanism]) -> Floats:
    """A basis of the smallest space that holds the functions and all Bellman updates of its members, (m, S, U)."""
    basis = _basis(functions)
    while True:
        updates = [bellman(basis, profile, tau) for profile in profiles for tau in mechanisms]
        larger = _basis(np.concatenate([basis, *updates]))
        if len(larger) == len(basis):
            return basis
        basis = larger


def closed(functions: Floats, profiles: Sequence[Profile], mechanisms: Sequence[Mechanism]) -> bool:
    """Is the span of the functions closed under Bellman updates, as Proposition 1 assumes?"""
    return len(closure(functions, profiles, mechanisms)) == len(_basis(functions))


def relevant(profile: Profile, parts: Parts) -> list[Floats]:
    """The profile of the relevant parts alone: for each participant (S, its parts), summed over the rest.

    >>> relevant([np.array([[0.1, 0.2, 0.3, 0.4]])], [np.array([0, 1, 1, 0])])[0].tolist()
    [[0.5, 0.5]]
    """
    return [policy @ np.eye(int(np.max(part)) + 1)[part] for policy, part in zip(profile, parts, strict=True)]


def same_relevant(true: Profile, model: Profile, parts: Parts) -> bool:
    """Eq 7: in every state the relevant parts have the same joint distribution, whatever the rest is."""
    return conditional(relevant(true, parts), relevant(model, parts))


def ignores_rest(mechanism: Mechanism, parts: Parts) -> bool:
    """Does the mechanism move the same way whatever the irrelevant part is?"""
    return _within(mechanism.moves.transpose(0, 2, 1), parts)


def values_ignore_rest(profile: Profile, mechanism: Mechanism, payoffs: Floats, parts: Parts) -> bool:
    """The assumption of Eq 15: Q^t(s, (v, w)) = Q^t(s, (v, w')) for all t, s, v, w, w'.

    It follows, by induction from the end, if the mechanism ignores w; it also holds if w leads elsewhere for the same payoff.
    """
    return _within(values(profile, mechanism, payoffs), parts)


def _through(functions: Floats, profile: Profile, mechanism: Mechanism) -> Floats:
    for _ in range(mechanism.steps):
        functions = bellman(functions, profile, mechanism)
    return functions


def _within(array: Floats, parts: Parts) -> bool:
    """Is the last axis, over joint utterances, constant wherever all relevant parts are the same?"""
    labels = np.array(np.meshgrid(*parts, indexing="ij")).reshape(len(parts), -1)
    _, first, group = np.unique(labels, axis=1, return_index=True, return_inverse=True)
    return _same(array, array[..., first[group.ravel()]])


def _basis(functions: Floats) -> Floats:
    """Orthonormal functions that span the same space."""
    flat = functions.reshape(len(functions), -1)
    _, strengths, directions = np.linalg.svd(flat, full_matrices=False)
    rank = int((strengths > EXACT * max(float(np.max(strengths)), 1.0)).sum())
    return directions[:rank].reshape(rank, *functions.shape[1:])


def _same(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=0, atol=EXACT))
