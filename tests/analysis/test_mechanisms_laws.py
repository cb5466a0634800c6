"""Mechanisms: the arithmetic and Proposition 1 hold for all small mechanisms and for random ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.representation_theory import (
    POLICIES,
    Mechanism,
    bellman,
    closed,
    closure,
    conditional,
    count_cases,
    discrepancy,
    equivalences,
    every_function,
    ignores_rest,
    joint,
    outcome,
    rollout,
    same_relevant,
    small_mechanisms,
    trajectory,
    values,
    values_ignore_rest,
)


@st.composite
def distributions(draw: st.DrawFn, *shape: int) -> np.ndarray:
    """Probabilities along the last axis, in few values, so that states are often unreachable and rows often alike."""
    weights = np.array(draw(st.lists(st.integers(0, 2), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))))
    weights = weights.reshape(shape).astype(float)
    weights[weights.sum(axis=-1) == 0, 0] = 1
    return weights / weights.sum(axis=-1, keepdims=True)


@st.composite
def situations(draw: st.DrawFn):
    """One or two mechanisms of 2 or 3 states, a true profile of two participants, and a model profile that differs in a state."""
    states, each = draw(st.integers(2, 3)), 2
    moves = [draw(distributions(states, each * each, states)) for _ in range(draw(st.integers(1, 2)))]
    start, steps = draw(distributions(states)), draw(st.integers(1, 3))
    true = [draw(distributions(states, each)) for _ in range(2)]
    model = [policy.copy() for policy in true]
    model[0][draw(st.integers(0, states - 1))] = draw(distributions(each))
    return [Mechanism(one, start, steps) for one in moves], true, model


def spoken_paths(profile, tau: Mechanism, start: int, utterance: int) -> Iterator[tuple[float, int]]:
    """Every way an episode can go from a state and a first utterance, with its probability and its end: no matrix involved."""
    speaks, (states, utterances, _) = joint(profile), tau.moves.shape
    for way in itertools.product(range(states), repeat=tau.steps):
        for said in itertools.product(range(utterances), repeat=tau.steps - 1):
            spoken = (utterance, *said)
            chance, at = 1.0, start
            for step, (u, to) in enumerate(zip(spoken, way, strict=True)):
                chance *= (speaks[at, u] if step else 1) * tau.moves[at, u, to]
                at = to
            yield chance, at


@settings(max_examples=30, deadline=None)
@given(situations(), st.data())
def test_values_are_the_mean_payoffs_over_all_ways_an_episode_can_go(situation, data: st.DataObject) -> None:
    """Bellman's recursion, the rollout and plain enumeration agree: the arithmetic under every other claim here."""
    (tau, *_), true, _ = situation
    tau = replace(tau, steps=min(tau.steps, 2))
    states = len(tau.start)
    payoffs = np.array([range(states), [1.0] * states], dtype=float)
    q = values(true, tau, payoffs)
    s, u = data.draw(st.integers(0, states - 1)), data.draw(st.integers(0, 3))
    expected = sum(chance * payoffs[:, end] for chance, end in spoken_paths(true, tau, s, u))
    assert q[0, :, s, u] == pytest.approx(expected)
    assert payoffs @ outcome(true, tau) == pytest.approx((q[0] * joint(true) * tau.start[:, None]).sum(axis=(1, 2)))
    assert rollout(true, tau).sum(axis=1) == pytest.approx(np.ones(tau.steps + 1))
    assert bellman(q[1], true, tau) == pytest.approx(q[0])


@settings(max_examples=150, deadline=None)
@given(situations(), st.integers(0, 2**12 - 1))
def test_the_equivalences_are_nested(situation, which: int) -> None:
    """Proposition 1, Eq 13, for random mechanisms and random functions closed under Bellman updates."""
    mechanisms, true, model = situation
    everything = every_function(len(true[0]), 4)
    some = everything[[bool(which >> at & 1) for at in range(len(everything))]]
    functions = closure(some, [true, model], mechanisms) if len(some) else everything
    clone, step, way = equivalences(true, model, mechanisms, functions)
    assert closed(functions, [true, model], mechanisms)
    assert step >= clone
    assert way >= step


def test_all_small_mechanisms_are_nested_and_every_case_occurs() -> None:
    """Exhaustive, so that the nesting is not true for want of cases: every way to be nested occurs, and no other."""
    seen = count_cases(steps=2)
    assert set(seen) == {(True, True, True), (False, True, True), (False, False, True), (False, False, False)}
    assert seen[True, True, True] == 81 * 4


def test_after_an_opening_trajectory_equivalence_means_no_discrepancy() -> None:
    """The link from Eq 12 to Eq 16: if the mechanism opens by itself, equivalent profiles get equal payoffs of any kind."""
    opening = [tau for steps in (2, 3) for tau in small_mechanisms(steps) if (tau.moves[0, 0] == tau.moves[0, 1]).all()]
    clones = others = 0
    for tau, true, model in itertools.product(opening, POLICIES, POLICIES):
        if trajectory(true, model, [tau], every_function(3, 2)):
            assert discrepancy(true, model, [tau], np.eye(3)) == 0
            clones, others = clones + conditional(true, model), others + (not conditional(true, model))
    assert (len(opening), clones) == (54, 54 * 4)
    assert others > clones


@settings(max_examples=60, deadline=None)
@given(situations())
def test_under_all_mechanisms_and_functions_only_a_clone_is_left(situation) -> None:
    """Eq 14. Mechanisms that always lead to one state are witnesses enough; as reconstructed they expose trajectories, too."""
    (tau, *_), true, model = situation
    states = len(tau.start)
    witnesses = [replace(tau, moves=np.tile(np.eye(states)[to], (states, 4, 1))) for to in range(states)]
    clone, step, way = equivalences(true, model, witnesses, every_function(states, 4))
    assert clone == step == way


@settings(max_examples=60, deadline=None)
@given(situations(), distributions(3, 2), distributions(3, 2))
def test_where_mechanisms_ignore_style_so_do_values_and_the_outcome(situation, one, other) -> None:
    """The induction in the paper's remark on Eq 15: whoever keeps the content and changes the style ends in the same place.

    Content of random mechanisms and profiles with a style of two kinds added, which no mechanism hears.
    """
    mechanisms, true, _ = situation
    states, parts = len(true[0]), [np.array([0, 0, 1, 1]), np.array([0, 1])]
    styled = [[(true[0][:, :, None] * way[:states, None, :]).reshape(states, 4), true[1]] for way in (one, other)]
    heard = [replace(tau, moves=tau.moves[:, [0, 1, 0, 1, 2, 3, 2, 3]]) for tau in mechanisms]
    payoffs = np.arange(states, dtype=float)[None]
    assert same_relevant(styled[0], styled[1], parts)
    for tau in heard:
        assert ignores_rest(tau, parts)
        assert values_ignore_rest(styled[0], tau, payoffs, parts)
        assert values(styled[0], tau, payoffs) == pytest.approx(values(styled[1], tau, payoffs))
        assert outcome(styled[0], tau) == pytest.approx(outcome(styled[1], tau))
