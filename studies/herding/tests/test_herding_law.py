"""The law of social learning and its planner: theory in closed form and by hand, and value iteration against brute force."""

from __future__ import annotations

import math

import pytest
from data_checks import check_each

from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.studies.herding.law import (
    ALONE,
    Person,
    act_probabilities,
    choice_probability,
    in_cascade,
    log_odds,
    outcomes,
    public_belief,
    updated,
)
from parley.studies.herding.optimum import Aim, best_precision, fixed_value, planned_value

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
RIGHT = Aim(LEVELS, 0.7, 0.5, "right", "coin")
FOR_A = RIGHT._replace(aim="A")


@check_each("q", [0.55, 0.6, 0.7, 0.8, 0.9])
@check_each("people", [2, 4, 10, 20])
def test_cascades_are_those_of_bikhchandani_hirshleifer_and_welch(q: float, people: int) -> None:
    """Their equations for an even number of people and a coin toss in ties: wrong (q - 2)(q - 1) (1 - (q - q^2)^(n/2)) /
    2(1 - q + q^2), none (q - q^2)^(n/2).
    """
    none = (q - q * q) ** (people // 2)
    wrong = (q - 2) * (q - 1) * (1 - none) / (2 * (1 - q + q * q))
    right = q * (q + 1) * (1 - none) / (2 * (1 - q + q * q))
    found = outcomes(0.5, q, "coin", people)
    assert (found.wrong, found.right, found.none, found.left) == pytest.approx((wrong, right, none, 0))


@check_each("q", [0.6, 0.75, 0.9])
def test_without_coins_cascades_are_the_gamblers_ruin(q: float) -> None:
    """Undecided people follow their signal: the lead of one option walks by one, and a cascade begins at a lead of two."""
    pairs = 5
    wrong = (1 - q) ** 2 / (q**2 + (1 - q) ** 2) * (1 - (2 * q * (1 - q)) ** pairs)
    assert outcomes(0.5, q, "own", 2 * pairs).wrong == pytest.approx(wrong)


def test_people_who_follow_their_signals_are_right_as_often_as_these() -> None:
    assert outcomes(0.5, 0.7, "coin", 10, ALONE).correct == pytest.approx(0.7)
    assert outcomes(0.5, 0.7, "coin", 10, Person(0, 0, 1)).correct == pytest.approx(0.5)


def test_beliefs_by_hand() -> None:
    """A from a signal of 0.7: odds 7 to 3. Then A again, where B would toss a coin: 0.85 against 0.65 in P(A). Then nothing is
    learned from A, and B, which no Bayesian would choose, shows a signal.
    """
    first = public_belief(0.5, [("A", 0.7)], "coin")
    assert math.exp(first) == pytest.approx(7 / 3)
    second = updated(first, "A", 0.7, "coin")
    assert math.exp(second) == pytest.approx(7 / 3 * 0.85 / 0.65)
    assert in_cascade(second, 0.7) == "A"
    assert in_cascade(first, 0.7) == ""
    assert updated(second, "A", 0.7, "coin") == pytest.approx(second)
    assert updated(second, "B", 0.7, "coin") == pytest.approx(second - log_odds(0.7))


def test_a_person_weighs_as_planted() -> None:
    """Against odds of 7 to 3 for A, a signal B of 0.7 that counts twice wins; with noise, the log-odds are their sum."""
    belief = log_odds(0.7)
    assert choice_probability(belief, "B", 0.7, "coin") == 0.5
    assert choice_probability(belief, "B", 0.7, "own") == 0
    assert choice_probability(belief, "B", 0.7, "coin", Person(own=2)) == 0
    assert choice_probability(belief, "B", 0.7, "coin", Person(own=0.5)) == 1
    noisy = choice_probability(belief, "B", 0.7, "coin", Person(own=2, public=1.5, noise=2))
    assert log_odds(noisy) == pytest.approx((1.5 - 2) * belief / 2)
    assert act_probabilities(0.0, 0.7, "coin", Person(0, 0, 1)) == (0.5, 0.5)


def brute(prior: float, people: int, aim: Aim) -> float:
    """The best expected sum, by trying every precision after every sequence of acts: signal by signal, without log-odds."""
    if not people:
        return 0.0
    return max(_tried(prior, people, level, aim) for level in aim.levels)


def _tried(prior: float, people: int, level: float, aim: Aim) -> float:
    joint = {"A": [0.0, 0.0], "B": [0.0, 0.0]}  # by act: with the state A, with the state B
    for place, state in enumerate("AB"):
        for signal in "AB":
            chance = (1 - prior if place else prior) * (level if signal == state else 1 - level)
            likely = prior * (level if signal == "A" else 1 - level)
            share = likely / (likely + (1 - prior) * (1 - level if signal == "A" else level))
            act_a = 0.5 if abs(share - 0.5) < 1e-9 else float(share > 0.5)
            joint["A"][place] += chance * act_a
            joint["B"][place] += chance * (1 - act_a)
    total = -aim.cost * abs(level - aim.base)
    for act, (in_a, in_b) in joint.items():
        if in_a + in_b > 0:
            total += {"right": in_a if act == "A" else in_b, "A": (in_a + in_b) * (act == "A")}[aim.aim]
            total += (in_a + in_b) * brute(in_a / (in_a + in_b), people - 1, aim)
    return total


@check_each("aim", [RIGHT, FOR_A, RIGHT._replace(cost=2.0), FOR_A._replace(cost=0.05)])
@check_each("prior", [0.5, 0.3, 0.62])
def test_value_iteration_is_what_trying_everything_finds(aim: Aim, prior: float) -> None:
    for people in (1, 2, 3, 4):
        assert planned_value(prior, people, aim) == pytest.approx(brute(prior, people, aim), abs=1e-6)


@check_each("aim", [RIGHT, FOR_A])
def test_an_optimal_planner_is_at_least_as_good_as_any_fixed_precision(aim: Aim) -> None:
    best = planned_value(0.5, 10, aim)
    assert all(best >= fixed_value(0.5, 10, level, aim) - 1e-9 for level in LEVELS)


def test_fixed_precision_has_the_value_that_theory_gives() -> None:
    free = RIGHT._replace(cost=0.0)
    assert fixed_value(0.5, 10, 0.7, free) == pytest.approx(10 * outcomes(0.5, 0.7, "coin", 10).correct)


def test_the_planner_in_known_places() -> None:
    """Free clear signals are the clearest ones. Dear ones are left as they are. A planner for A hides signals where people lean
    to A already, and a planner of the last person in an early cascade pays nothing.
    """
    assert best_precision(0.0, 5, RIGHT._replace(cost=0.0)) == 0.9
    assert best_precision(0.0, 5, RIGHT._replace(cost=100.0)) == 0.7
    assert best_precision(0.2, 5, FOR_A) == 0.5
    assert best_precision(4.0, 3, FOR_A) == 0.7


def test_wrong_options_of_the_oracle_are_one_line() -> None:
    with pytest.raises(UserError, match="noise at least 0"):
        open_spec("oracle,noise=-1")
