"""The theory of biased consensus: hand-computed values, closed forms of the literature, and limits."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from parley.studies.consensus_phases.group_consensus import chance_agreement
from parley.studies.consensus_phases.law import ResponseLaw
from parley.studies.consensus_phases.theory import (
    ALTERNATING,
    BIASED,
    DISORDERED,
    EITHER,
    PHASES,
    Curve,
    after,
    agreed_by,
    edge_of_either_side,
    large_group,
    means,
    order,
    phase,
    start,
    stationary,
    transitions,
)

COIN = Curve(0.0, 0.0)


def by_brute_force(curve: Curve, people: int) -> np.ndarray:
    """Return the transitions by enumeration of all answers of all people."""
    table = np.zeros((people + 1, people + 1))
    for count in range(people + 1):
        held = [1] * count + [-1] * (people - count)
        chances = [float(curve.share(np.array((sum(held) - own) / (people - 1)))) for own in held]
        for answers in product((0, 1), repeat=people):
            weight = math.prod(p if answer else 1 - p for p, answer in zip(chances, answers, strict=True))
            table[count, sum(answers)] += weight
    return table


def test_transitions_of_three_people_are_those_of_all_eight_sets_of_answers() -> None:
    curve = Curve(1.2, 0.3, 0.1)
    assert transitions(curve, 3) == pytest.approx(by_brute_force(curve, 3))


def test_two_people_by_hand() -> None:
    """Each follows the one other: with P(for | other for) = 3/4 and 1/4, from one each both answers are for with 3/16."""
    curve = Curve(math.atanh(0.5), 0.0)
    assert transitions(curve, 2)[1] == pytest.approx([3 / 16, 10 / 16, 3 / 16])
    assert transitions(curve, 2)[2] == pytest.approx([1 / 16, 6 / 16, 9 / 16])


def test_a_missing_answer_keeps_the_last_one() -> None:
    assert transitions(Curve(1.0, 0.5), 4, missing=1.0) == pytest.approx(np.eye(5))
    half = transitions(COIN, 2, missing=0.5)
    assert half[2] == pytest.approx([1 / 16, 6 / 16, 9 / 16]), "each stays for with 1/2 + 1/4"


def test_coin_tosses_are_binomial_in_the_long_run_and_after_any_round() -> None:
    binomial = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
    assert stationary(COIN, 4) == pytest.approx(binomial)
    assert after(COIN, 4, "for", 0.5, 1) == pytest.approx(binomial)
    assert order(COIN, 3) == pytest.approx(chance_agreement(3)) == pytest.approx(0.5)


@pytest.mark.parametrize("people", [2, 7, 40])
def test_the_long_run_is_that_of_little_and_peretto(people: int) -> None:
    """Without noise the chain is reversible: weight(M) = C(N, k) e^(h M) cosh(f(M - 1))^k cosh(f(M + 1))^(N - k)."""
    pull, bias = 1.3, 0.05
    weights = []
    for count in range(people + 1):
        total = 2 * count - people
        fields = [math.cosh(pull * (total + step) / (people - 1) + bias) for step in (-1, 1)]
        weights.append(
            math.comb(people, count) * math.exp(bias * total) * fields[0] ** count * fields[1] ** (people - count)
        )
    expected = np.array(weights) / sum(weights)
    assert stationary(Curve(pull, bias), people) == pytest.approx(expected, rel=1e-8)


def test_the_long_run_does_not_change_in_a_round() -> None:
    curve = Curve(2.5, -0.1, 0.05)
    chances = stationary(curve, 60)
    assert chances @ transitions(curve, 60) == pytest.approx(chances)


def test_a_group_begins_as_it_is_told() -> None:
    assert start(2, "alone", 0.25) == pytest.approx([9 / 16, 6 / 16, 1 / 16])
    assert start(2, "for", 0.25).tolist() == [0, 0, 1]
    assert start(2, "against", 0.25).tolist() == [1, 0, 0]
    assert after(COIN, 2, "alone", 0.25, 1) == pytest.approx([9 / 16, 6 / 16, 1 / 16]), (
        "the first round is their own answer"
    )


def test_two_people_who_toss_coins_agree_once_in_each_round_with_one_half() -> None:
    assert [agreed_by(COIN, 2, "alone", 0.5, rounds) for rounds in (1, 2, 3)] == pytest.approx([1 / 2, 3 / 4, 7 / 8])
    assert agreed_by(COIN, 2, "for", 0.5, 1) == pytest.approx(1 / 2), "what they were told is no answer of theirs"


def test_the_edge_is_where_two_stable_states_become_one() -> None:
    """At the edge the curve touches the diagonal: n = tanh(K n - h) with slope 1. Newton from above finds it."""
    for pull in (1.1, 1.5, 3.0):
        edge = float(edge_of_either_side(np.array(pull)))
        state = math.sqrt(1 - 1 / pull)
        assert math.tanh(pull * state - edge) == pytest.approx(state)
        assert pull * (1 - state**2) == pytest.approx(1)
    assert np.isnan(edge_of_either_side(np.array(0.9)))


def test_large_groups_by_hand() -> None:
    state = float(large_group(np.array(1.5), np.array(0.0)))
    assert state == pytest.approx(math.tanh(1.5 * state))
    assert state == pytest.approx(0.8586, abs=1e-4)
    assert float(large_group(np.array(1.0), np.array(0.0))) == pytest.approx(0.0, abs=0.01)
    assert float(large_group(np.array(0.0), np.array(-0.5))) == pytest.approx(math.tanh(-0.5))


@pytest.mark.parametrize(
    ("pull", "bias", "expected"),
    [
        (0.5, 0.0, DISORDERED),
        (0.0, 0.54, DISORDERED),
        (0.0, 0.56, BIASED),  # tanh(0.55) = 0.5
        (1.5, 0.0, EITHER),
        (2.0, 0.53, EITHER),  # the edge is 0.5328
        (2.0, 0.54, BIASED),
        (2.0, -0.54, BIASED),
        (-2.0, 0.0, ALTERNATING),
        (-0.9, 0.0, DISORDERED),
    ],
)
def test_phases_on_both_sides_of_each_border(pull: float, bias: float, expected: str) -> None:
    assert PHASES[int(phase(np.array(pull), np.array(bias)))] == expected


def test_agreement_at_the_critical_point_falls_as_the_fourth_root_of_size() -> None:
    """Finite-size scaling of Curie-Weiss: |m| ~ N^(-1/4) at pull 1, and N^(-1/2) below it."""
    critical, below = ([order(Curve(pull, 0.0), people) for people in (60, 240)] for pull in (1.0, 0.5))
    assert math.log(critical[1] / critical[0]) / math.log(4) == pytest.approx(-0.25, abs=0.03)
    assert math.log(below[1] / below[0]) / math.log(4) == pytest.approx(-0.5, abs=0.03)


def test_a_large_group_stays_where_it_began_only_above_the_critical_pull() -> None:
    for pull, stays in ((0.8, False), (1.6, True)):
        counts = after(Curve(pull, 0.0), 100, "for", 0.5, 30)
        mean = float(counts @ means(100))
        assert (mean > 0.7) == stays


def test_the_planted_law_is_the_curve_and_order_moves_both_ways() -> None:
    law = ResponseLaw(conformity=1.5, side_bias=0.2, side_noise=0.2)
    assert law.curve == pytest.approx((1.2, 0.2, 0.2))
    for m in (-1.0, 0.0, 0.4):
        assert law.share(m, True) == pytest.approx(float(law.curve.share(np.array(m))))
    ordered = ResponseLaw(0.0, 0.0, first_option=20.0)
    assert (ordered.share(1.0, True), ordered.share(1.0, False)) == pytest.approx((1.0, 0.0))
