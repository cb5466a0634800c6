"""Distributions over profiles: by hand, planted games, nothing planted, and coverage of what other respondents judge."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from parley.agents.language import ENGLISH
from parley.studies.conjoint.design import ConjointDesign
from parley.studies.conjoint.optimum import (
    AVERAGE,
    GAIN,
    SINGLE,
    STABLE,
    Contest,
    best_answer,
    contest_table,
    equilibrium,
    judged,
    pairs_of,
    payoffs,
    play,
    project,
)
from parley.studies.conjoint.report import contest_lines

DESIGN = ConjointDesign("Which?", {"plan": ("a", "b", "c"), "age": ("36", "52")}, (), 8, ENGLISH)
CYCLE = np.array([[0.0, 0.15, -0.3], [-0.15, 0.0, 0.3], [0.3, -0.3, 0.0]])
"""a beats b, b beats c, c beats a: the equilibrium is .3 : .3 : .15, so .4, .4, .2."""
WORTH = np.array([[0.0, -0.2, -0.1], [0.2, 0.0, 0.1], [0.1, -0.1, 0.0]])
"""b is worth .2, c .1: b is the best against anybody."""
NOTHING = np.zeros((3, 3))


def made_up(payoff: np.ndarray, seed: int, respondents: int = 60, tasks: int = 8) -> pd.DataFrame:
    """Return drawn choices of people by a game of plans; ages do not matter."""
    rng, rows = np.random.default_rng(seed), []
    for person in range(respondents):
        for task in range(tasks):
            plans, ages = rng.integers(3, size=2), rng.integers(2, size=2)
            won = rng.random() < 0.5 + payoff[plans[0], plans[1]]
            for profile in (0, 1):
                chosen = float(won) if profile == 0 else 1 - float(won)
                levels = ("abc"[plans[profile]], ("36", "52")[ages[profile]])
                rows.append((f"p{person}", task, profile + 1, *levels, chosen))
    return pd.DataFrame(rows, columns=["respondent", "task", "profile", "plan", "age", "chosen"])


def contest(payoff: np.ndarray, seed: int, respondents: int = 60) -> Contest:
    found = play(made_up(payoff, seed, respondents), DESIGN, np.random.default_rng(seed))
    assert found is not None
    return found


def test_best_answers_are_those_computed_by_hand() -> None:
    """Values .1 and -.1 with a penalty of .5 move half of (.5, .5) by .1; without a penalty all goes to the better one."""
    payoff, drawn = np.array([[0.0, 0.2], [-0.2, 0.0]]), np.array([0.5, 0.5])
    assert best_answer(payoff, drawn, drawn, 0.5) == pytest.approx([0.6, 0.4])
    assert best_answer(payoff, drawn, drawn, 0.01) == pytest.approx([1.0, 0.0])
    assert best_answer(payoff, drawn, drawn, 0.0).tolist() == [1.0, 0.0]
    assert project(np.array([0.2, 0.2, 0.2])) == pytest.approx([1 / 3] * 3)


def test_equilibria_of_planted_games_are_exact() -> None:
    """A cycle is mixed as its closed form says; where one level is the best against anybody, it is played alone."""
    assert equilibrium(CYCLE) == pytest.approx([0.4, 0.4, 0.2], abs=1e-9)
    assert equilibrium(WORTH) == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)
    for game in (CYCLE, WORTH):
        assert (equilibrium(game) @ game).min() == pytest.approx(0, abs=1e-9)


@pytest.mark.thorough
def test_payoffs_of_many_choices_are_those_planted() -> None:
    """2,000 respondents: the cycle of plans within .03, and an age that does not matter within .02. Both are antisymmetric."""
    plan, age = payoffs(pairs_of(made_up(CYCLE, 3, 2000), DESIGN))
    assert plan == pytest.approx(CYCLE, abs=0.03)
    assert age == pytest.approx(np.zeros((2, 2)), abs=0.02)
    assert plan == pytest.approx(-plan.T)


def test_missing_pairs_are_left_out() -> None:
    """A pair without an answer counts in neither direction; without any answer there is no contest."""
    choices = made_up(WORTH, 0, 4, 2)
    choices.loc[choices["respondent"] == "p1", "chosen"] = np.nan
    assert len(pairs_of(choices, DESIGN).gain) == 3 * 2 * 2
    assert play(choices.assign(chosen=np.nan), DESIGN, np.random.default_rng(0)) is None


def test_a_few_respondents_have_distributions_and_no_verdict() -> None:
    """Nine respondents cannot be halved into five and five."""
    found = contest(WORTH, 1, 9)
    assert found.values == {}
    assert contest_lines(found, contest_table(found)) == [
        "With fewer than 10 respondents, it is unknown how often distributions are chosen."
    ]


def test_planted_worths_give_the_best_profile_and_an_opponent_changes_nothing() -> None:
    """b is the best in 10 of 10 samples; an interval of what the equilibrium gains over it excludes 0 in at most 1."""
    found = [contest(WORTH, seed) for seed in range(10)]
    assert all(each.single[0].argmax() == 1 for each in found)
    tables = [contest_table(each).set_index("side") for each in found]
    assert sum(table.loc[AVERAGE, "share_low"] > 0.5 for table in tables) >= 6
    assert sum(table.loc[GAIN, "share_low"] > 0 for table in tables) <= 1


@pytest.mark.thorough
def test_a_planted_cycle_makes_the_mixture_harder_to_beat_than_any_profile() -> None:
    """Every single plan loses to another one. In 20 samples of 300 respondents the gain is found in 18 or more."""
    found = [contest(CYCLE, seed, 300) for seed in range(20)]
    gains = [contest_table(each).set_index("side").loc[GAIN, "share_low"] for each in found]
    assert sum(low > 0 for low in gains) >= 18
    assert np.mean([each.stable[0] for each in found], axis=0) == pytest.approx([0.4, 0.4, 0.2], abs=0.06)
    (line,) = [line for line in contest_lines(found[0], contest_table(found[0])) if "opponent" in line]
    assert "is chosen more often than the best profile" in line


@pytest.mark.thorough
@pytest.mark.parametrize("payoff", [NOTHING, WORTH, CYCLE], ids=["nothing", "worth", "cycle"])
def test_intervals_of_other_respondents_hold_the_truth(payoff: np.ndarray) -> None:
    """In 200 samples the 95% interval of a share holds its true value in 91 to 99% (four SE), whatever was chosen.

    Where nothing is planted, the best distribution is called better than a drawn profile in at most 5%.
    """
    held: dict[str, list[bool]] = {AVERAGE: [], SINGLE: [], STABLE: []}
    better = 0
    for seed in range(200):
        found = contest(payoff, seed)
        table = contest_table(found).set_index("side")
        better += int(table.loc[AVERAGE, "share_low"] > 0.5)
        learned = payoffs_of_choosing(seed, payoff)
        for side, strategy in ((AVERAGE, found.average), (SINGLE, found.single), (STABLE, found.stable)):
            other = np.full(3, 1 / 3) if side == AVERAGE else best_answer(learned, strategy[0], np.full(3, 1 / 3), 0)
            truth = 0.5 + float(strategy[0] @ payoff @ other)
            share, low, high = table.loc[side, ["share", "share_low", "share_high"]]
            held[side].append(
                low <= truth <= high or share == pytest.approx(truth)
            )  # its own best answer: even, no interval
    assert all(np.mean(hits) >= 0.91 for hits in held.values())
    assert np.mean(held[AVERAGE]) <= 0.99, "the others are often even by construction"
    if payoff is NOTHING:
        assert better <= 10


def payoffs_of_choosing(seed: int, payoff: np.ndarray) -> np.ndarray:
    """Return what the half of the respondents that chose had learned of plans."""
    pairs = pairs_of(made_up(payoff, seed), DESIGN)
    mixed = np.random.default_rng(seed).permutation(np.unique(pairs.people))
    return payoffs(pairs.of(mixed[: len(mixed) // 2]))[0]


@pytest.mark.thorough
def test_judged_shares_are_unbiased_for_any_distribution() -> None:
    """On 3,000 respondents the share of a fixed pair of mixtures is its true value within 4 SE."""
    pairs = pairs_of(made_up(CYCLE, 9, 3000), DESIGN)
    side = (np.array([0.2, 0.5, 0.3]), np.array([1.0, 0.0]))
    other = (np.array([0.7, 0.0, 0.3]), np.array([0.5, 0.5]))
    values = judged(pairs, side, other)
    error = values.std(ddof=1) / len(values) ** 0.5
    assert abs(values.mean() - side[0] @ CYCLE @ other[0]) < 4 * error
