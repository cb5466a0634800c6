"""The formal objects of the study of digital representatives on small finite mechanisms: exact, nothing is sampled.

    python benchmarks/representation_theory.py

prints, for all 81 deterministic mechanisms on three states and all pairs of policies, the strongest equivalence that holds.
In order: episodes (Eqs 2, 3, 8, 9); social choice, payoffs and representativity (Eqs 1, 4, 5, 16); the three equivalences and
what Proposition 1 assumes (Eqs 6, 7, 10-15). tests/analysis/test_mechanisms.py and test_mechanisms_laws.py check them.

Source: "Language Agents as Digital Representatives in Collective Decision-Making". **Its equations are missing from the text we
have**: each is reconstructed from the words around it and from the proof's steps, and the docstrings say what was reconstructed.
Departure: policies and mechanisms do not change with time here. The paper lets them; put the time into the state for that.

An episode: participants act, a mechanism moves, T times over; where it ends is the outcome. Shapes: S states, U joint utterances
(one of each participant's, the last participant's varying fastest), n participants, T steps. Everything is a probability or an
expected payoff, in the units of the payoffs. Errors: ValueError for what is no distribution.

When is a model profile as good as the true one? Three equivalences, each weaker than the one before (Definition 3):

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

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parley.analysis.statistics.intervals import Floats

EXACT = 1e-9
"""Numbers closer than this are equal: only rounding lies between them."""
Profile = Sequence[Floats]
"""A policy profile pi: for each participant (S, its utterances), the probability of each utterance in each state."""
Types = tuple[int, ...]
"""A type profile theta: the type of each participant, which says what it prefers."""
SocialChoice = Mapping[Types, int]
"""A social choice function h, as a table from type profiles to outcomes (Eq 1); an outcome is the number of a state."""
Parts = Sequence[NDArray[np.int64]]
"""For each participant, (its utterances,): which relevant part v each utterance u = (v, w) has (Eq 6, reconstructed)."""
POLICIES: list[Profile] = [[np.eye(2)[[a, b, 0]]] for a, b in itertools.product(range(2), repeat=2)]
"""All that one participant with two utterances can do for sure in 3 states, the last final and silent."""
STRONGEST = {
    (True, True, True): "conditional",
    (False, True, True): "transition",
    (False, False, True): "trajectory",
    (False, False, False): "none",
}


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


def utilitarian(payoffs: Sequence[Floats]) -> dict[Types, int]:
    """The utilitarian social choice function: the outcome with the greatest sum of payoffs, the first of several.

    payoffs: for each participant i its g_i, (types, outcomes). Eqs 4 and 5, reconstructed.

    >>> likes = np.array([[2.0, 0.0], [0.0, 3.0]])
    >>> utilitarian([likes, likes])
    {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 1}
    """
    profiles = itertools.product(*(range(len(payoff)) for payoff in payoffs))
    return {
        types: int(np.argmax(sum(payoff[i] for payoff, i in zip(payoffs, types, strict=True)))) for types in profiles
    }


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
    return [
        policy @ np.eye(int(np.max(partition)) + 1)[partition] for policy, partition in zip(profile, parts, strict=True)
    ]


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


def equivalences(
    true: Profile, model: Profile, mechanisms: Sequence[Mechanism], functions: Floats
) -> tuple[bool, bool, bool]:
    """Which of the three hold: conditional, transition, trajectory."""
    return (
        conditional(true, model),
        transition(true, model, mechanisms, functions),
        trajectory(true, model, mechanisms, functions),
    )


def small_mechanisms(steps: int) -> Iterator[Mechanism]:
    """All 81 deterministic mechanisms on 3 states and 2 utterances that never leave the last state; they start in the first."""
    for to in itertools.product(range(3), repeat=4):
        yield Mechanism(np.eye(3)[np.array([*to, 2, 2]).reshape(3, 2)], np.eye(3)[0], steps)


def count_cases(steps: int) -> Counter[tuple[bool, bool, bool]]:
    """How many of the 81 x 16 pairs of profiles have which equivalences, all functions allowed."""
    cases: Counter[tuple[bool, bool, bool]] = Counter()
    for tau, true, model in itertools.product(small_mechanisms(steps), POLICIES, POLICIES):
        cases[equivalences(true, model, [tau], every_function(3, 2))] += 1
    return cases


def _check(probabilities: Floats, what: str) -> None:
    if (probabilities < 0).any() or not np.allclose(probabilities.sum(axis=-1), 1, rtol=0, atol=EXACT):
        raise ValueError(f"{what} must be probabilities that add up to 1 along the last axis")


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


def _same(first: Floats, other: Floats) -> bool:
    return bool(np.allclose(first, other, rtol=0, atol=EXACT))


def main() -> None:
    """Print how often each equivalence is the strongest that holds."""
    columns = [count_cases(steps) for steps in (2, 3)]
    print("| strongest equivalence that holds | 2 steps | 3 steps |\n|---|---|---|")
    for holds, name in STRONGEST.items():
        print(f"| {name} | " + " | ".join(f"{cases[holds]:,}" for cases in columns) + " |")


if __name__ == "__main__":
    main()
