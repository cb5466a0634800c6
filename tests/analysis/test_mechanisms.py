"""Mechanisms: what the equivalences tell apart and what they do not, by example. Laws: test_mechanisms_laws.py."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from data_checks import check_each

from benchmarks.representation_theory import (
    Mechanism,
    closed,
    closure,
    discrepancy,
    equivalences,
    every_function,
    ignores_rest,
    implements,
    joint,
    payoff_gap,
    relevant,
    same_relevant,
    trajectory,
    utilitarian,
    values,
    values_ignore_rest,
)

QUESTION, DRAFT, AGREED, SPLIT = range(4)
VERDICT = np.array([0, 0, 1, 1])
"""Four critiques: reject curtly, reject at length, accept curtly, accept at length. The verdict is what counts."""
ALL = every_function(4, 16)
PAYOFFS = np.array([[0.0, 0, 1, 0], [0, 0, 1, 0]])
"""(participants, states): both want to agree."""


def consensus() -> Mechanism:
    """Two participants, two steps: a question becomes a draft whatever is said; the group agrees if both accept the draft."""
    moves = np.zeros((4, 16, 4))
    moves[QUESTION, :, DRAFT] = moves[AGREED, :, AGREED] = moves[SPLIT, :, SPLIT] = 1
    for u, (one, other) in enumerate(itertools.product(VERDICT, VERDICT)):
        moves[DRAFT, u, AGREED if one and other else SPLIT] = 1
    return Mechanism(moves, np.eye(4)[QUESTION], steps=2)


def people(**said: list[float]) -> list[np.ndarray]:
    """Two participants who say anything alike often; but the first one says what is given on the draft, or at the question."""
    first = np.full((4, 4), 0.25)
    for state, probabilities in said.items():
        first[{"question": QUESTION, "draft": DRAFT}[state]] = probabilities
    return [first, np.full((4, 4), 0.25)]


SEPARATED = {
    "a clone": ({}, (True, True, True), 0),
    "something else where nobody listens": ({"question": [1, 0, 0, 0]}, (False, True, True), 0),
    "the same verdict in other words": ({"draft": [0.5, 0, 0, 0.5]}, (False, False, True), 0),
    "another verdict": ({"draft": [0, 0, 0.5, 0.5]}, (False, False, False), 0.25),
}


@check_each(("said", "equivalent", "gap"), SEPARATED.values(), ids=SEPARATED)
def test_one_mechanism_tells_the_three_equivalences_apart(said: dict, equivalent: tuple, gap: float) -> None:
    """Proposition 1 by example, all functions allowed: each class is larger than the one before, and a verdict matters in all.

    The gap by hand: who accepts half the time is agreed with a quarter of the time, who always accepts half the time.
    """
    model, tau = people(**said), consensus()
    assert equivalences(people(), model, [tau], ALL) == equivalent
    assert payoff_gap(people(), model, tau, PAYOFFS) == pytest.approx([gap, gap])
    assert discrepancy(people(), model, [tau, replace(tau, steps=1)], PAYOFFS) == pytest.approx(gap / 2)


def test_matching_the_verdict_is_enough_where_the_mechanism_hears_only_the_verdict() -> None:
    """Eqs 6 and 7: content without style. Were style matched too, a good representative would count as a bad one."""
    tau, parts = consensus(), [VERDICT, VERDICT]
    assert same_relevant(people(), people(draft=[0.5, 0, 0, 0.5]), parts)
    assert not same_relevant(people(), people(draft=[0, 0, 0.5, 0.5]), parts)
    assert ignores_rest(tau, parts)
    assert values_ignore_rest(people(), tau, PAYOFFS, parts)
    assert relevant(people(draft=[0.1, 0.2, 0.3, 0.4]), parts)[0][DRAFT] == pytest.approx([0.3, 0.7])
    assert not ignores_rest(tau, [VERDICT, np.array([0, 0, 0, 1])])
    assert not values_ignore_rest(people(), tau, PAYOFFS, [VERDICT, np.array([0, 0, 0, 1])])


def curtness() -> tuple[Mechanism, np.ndarray]:
    """A second agreed state for curt acceptance, of the same worth: the mechanism hears style, payoffs do not."""
    tau = consensus()
    moves = np.zeros((5, 16, 5))
    moves[:4, :, :4], moves[4, :, 4] = tau.moves, 1
    moves[DRAFT, 10] = np.eye(5)[4]
    return Mechanism(moves, np.eye(5)[QUESTION], 2), np.append(PAYOFFS, [[1.0], [1.0]], axis=1)


def test_equivalence_is_relative_to_the_functions() -> None:
    """Where style leads elsewhere for the same payoff, the profiles differ for all functions and are equivalent in payoffs.

    On the value functions alone the transition class is no smaller: Eq 15 needs functions that tell more than the payoffs.
    """
    tau, payoffs = curtness()
    true, model = ([np.vstack([one, one[-1:]]) for one in people(**said)] for said in ({}, {"draft": [0.5, 0, 0, 0.5]}))
    worth = np.repeat(payoffs[:, :, None], 16, axis=2)
    assert not ignores_rest(tau, [VERDICT, VERDICT])
    assert values_ignore_rest(true, tau, payoffs, [VERDICT, VERDICT])
    assert equivalences(true, model, [tau], every_function(5, 16)) == (False, False, False)
    assert equivalences(true, model, [tau], closure(worth, [true, model], [tau])) == (False, True, True)
    assert payoff_gap(true, model, tau, payoffs) == pytest.approx([0, 0])


def test_without_closed_functions_transition_does_not_imply_trajectory() -> None:
    """The premise of Proposition 1 is needed: payoffs alone look one step ahead, and miss what the last utterance changes."""
    true, model, tau = people(), people(draft=[0, 0, 0.5, 0.5]), consensus()
    worth = np.repeat(PAYOFFS[:, :, None], 16, axis=2)
    assert equivalences(true, model, [tau], worth) == (False, True, False)
    assert not closed(worth, [true, model], [tau])
    assert equivalences(true, model, [tau], closure(worth, [true, model], [tau])) == (False, False, False)
    assert closed(ALL, [true, model], [tau])


def test_closed_means_under_the_updates_of_both_profiles() -> None:
    """The value of an episode is a fixed point for who speaks in it, and no one else's: closed for the true profile alone."""
    true, model, tau = people(), people(draft=[0, 0, 0.5, 0.5]), consensus()
    value = values(true, tau, PAYOFFS)[0]
    assert closed(value, [true], [tau])
    assert not closed(value, [true, model], [tau])


def test_gaps_in_opposite_directions_do_not_cancel() -> None:
    """Who takes from one what it gives to the other is a bad representative: the discrepancy is absolute, the gap signed."""
    model, opposed = people(draft=[0, 0, 0.5, 0.5]), PAYOFFS * np.array([[1], [-1]])
    assert payoff_gap(people(), model, consensus(), opposed) == pytest.approx([0.25, -0.25])
    assert discrepancy(people(), model, [consensus()], opposed) == pytest.approx(0.25)


def test_trajectory_equivalence_does_not_see_the_first_utterance() -> None:
    """A limit of the definition as reconstructed: no step leads to the draft, at which the episode starts."""
    model, moves = people(draft=[0, 0, 0.5, 0.5]), consensus().moves.copy()
    moves[QUESTION] = np.eye(4)[SPLIT]
    tau = Mechanism(moves, np.eye(4)[DRAFT], steps=1)
    assert equivalences(people(), model, [tau], ALL) == (False, True, True)
    assert payoff_gap(people(), model, tau, PAYOFFS) == pytest.approx([0.25, 0.25])


def test_equal_payoffs_are_less_than_equivalence() -> None:
    """A discrepancy of 0 (Eq 16) says that payoffs agree on average: it does not say that the group ends in the same place."""
    payoffs = np.array([[0.0, 0, 0.5, 0.5]])
    assert discrepancy(people(), people(draft=[0, 0, 0.5, 0.5]), [consensus()], payoffs) == 0
    assert not trajectory(people(), people(draft=[0, 0, 0.5, 0.5]), [consensus()], ALL)


def test_a_mechanism_that_implements_the_utilitarian_choice_for_who_says_what_they_think() -> None:
    """Eqs 1 to 5: a split only if both want it. Truthful critiques bring that about; other critiques or another rule do not."""
    likes = np.array([[0.0, 0, 0, 1], [0, 0, 2, 0]])  # type 0 gains 1 from a split, type 1 gains 2 from agreement
    wanted = utilitarian([likes, likes])
    assert wanted == {(0, 0): SPLIT, (0, 1): AGREED, (1, 0): AGREED, (1, 1): AGREED}
    moves = consensus().moves.copy()
    moves[DRAFT] = [np.eye(4)[AGREED if a or b else SPLIT] for a, b in itertools.product(VERDICT, VERDICT)]
    truthful = {types: [np.tile(np.eye(4)[2 * own], (4, 1)) for own in types] for types in wanted}
    assert implements(replace(consensus(), moves=moves), truthful, wanted)
    assert not implements(consensus(), truthful, wanted)
    assert not implements(replace(consensus(), moves=moves), dict.fromkeys(wanted, people()), wanted)


@check_each(
    ("moves", "start", "steps"),
    [
        (np.ones((2, 1, 2)), np.array([1.0, 0.0]), 1),
        (np.full((2, 1, 2), 0.5), np.array([0.5, 0.4]), 1),
        (np.array([[[2.0, -1.0]], [[0.0, 1.0]]]), np.array([1.0, 0.0]), 1),
        (np.full((2, 1, 2), 0.5), np.array([1.0]), 1),
        (np.full((2, 1, 2), 0.5), np.array([1.0, 0.0]), 0),
    ],
)
def test_what_is_no_mechanism_is_refused(moves: np.ndarray, start: np.ndarray, steps: int) -> None:
    """Numbers that are no probabilities would give plausible values that mean nothing."""
    with pytest.raises(ValueError, match=r"probabilities|must be|at least"):
        Mechanism(moves, start, steps)


def test_what_is_no_policy_is_refused() -> None:
    """The same for participants."""
    with pytest.raises(ValueError, match="policy"):
        joint([np.array([[0.5, 0.4]])])
