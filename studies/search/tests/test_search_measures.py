"""What new rooms show of the best of many settings: by hand, the winner's curse on a generator, and the null."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from parley.studies.search.measures import (
    BETTER,
    NO_BETTER,
    UNKNOWN,
    WORSE,
    Estimate,
    cross_fitted,
    effect_of,
    front,
    gain_of,
    mean_estimate,
    pair_rooms,
    verdict_on,
)

RUNS = 1500


class Run(NamedTuple):
    """Estimates of one made-up search, with the truth of each."""

    searched: Estimate
    new: Estimate
    gain: Estimate
    corrected: float
    truth: float
    truth_of_gain: float


def made_up(rng: np.random.Generator, spread: float, settings: int = 20, rooms: int = 6, new: int = 12) -> Run:
    """Search made-up settings whose true effects have this SD. Rooms have noise of SD .6, and share that of the control.

    The effect of a setting in a room is its true effect, plus noise of its own, less the noise of the room without it.
    """
    true = 0.3 + spread * rng.standard_normal(settings)
    searched = true[:, None] + 0.6 * rng.standard_normal((settings, rooms)) - 0.6 * rng.standard_normal(rooms)
    best = int(searched.mean(axis=1).argmax())
    control = 0.6 * rng.standard_normal(new)
    found = true[best] + 0.6 * rng.standard_normal(new) - control
    chance = true[rng.integers(settings, size=new)] + 0.6 * rng.standard_normal(new) - control
    corrected = float(cross_fitted(searched, searched).mean())
    estimates = map(mean_estimate, (searched[best], found, found - chance))
    return Run(*estimates, corrected, true[best], true[best] - true.mean())


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)


def holds(estimate: Estimate, truth: float) -> bool:
    return estimate.low <= truth <= estimate.high


@pytest.fixture(scope="module")
def planted() -> list[Run]:
    rng = np.random.default_rng(1)
    return [made_up(rng, 0.4) for _ in range(RUNS)]


@pytest.fixture(scope="module")
def nothing() -> list[Run]:
    rng = np.random.default_rng(2)
    return [made_up(rng, 0.0) for _ in range(RUNS)]


def test_intervals_on_new_rooms_hold_the_truth_and_the_searched_value_does_not(
    planted: list[Run], nothing: list[Run]
) -> None:
    """95% intervals on new rooms and of the gain hold the truth in 93 to 97%; that of the search in 85% where all are alike."""
    for runs in (planted, nothing):
        assert 0.93 <= share([holds(run.new, run.truth) for run in runs]) <= 0.97
        assert 0.93 <= share([holds(run.gain, run.truth_of_gain) for run in runs]) <= 0.97
    assert share([holds(run.searched, run.truth) for run in nothing]) < 0.9
    too_high = [run.searched.low > run.truth for run in planted]
    assert share(too_high) > 0.05  # 2.5% by chance


def test_the_search_promises_too_much_and_the_corrected_value_does_not(planted: list[Run], nothing: list[Run]) -> None:
    """Over many searches the value in the search is too high by .2 points or more, that of new rooms by nothing."""
    for runs in (planted, nothing):
        promised, shown, corrected = (
            np.mean([value - run.truth for run in runs for value in [pick(run)]])
            for pick in (lambda run: run.searched.value, lambda run: run.new.value, lambda run: run.corrected)
        )
        assert promised > 0.2
        assert abs(shown) < 0.03
        assert abs(corrected) < 0.1


def test_settings_that_are_alike_are_called_no_better_than_a_random_choice(
    nothing: list[Run], planted: list[Run]
) -> None:
    """Where no setting is better than another, `better` comes in 2.5% of runs; where some are, in most."""
    said = [verdict_on(run.gain) for run in nothing]
    assert share([verdict == NO_BETTER for verdict in said]) >= 0.94
    assert share([verdict == BETTER for verdict in said]) <= 0.04
    assert share([verdict_on(run.gain) == BETTER for run in planted]) > 0.5


def rooms(**values: list[float]) -> dict[str, pd.DataFrame]:
    """Two topics, each with half of the rooms, which have the same people by repetition."""
    count = len(next(iter(values.values())))
    keys = {"topic": ["a", "b"] * (count // 2), "repetition": np.repeat(range(count // 2), 2), "group": "all"}
    return {name: pd.DataFrame(keys | {"value": each}) for name, each in values.items()}


def test_an_effect_is_a_difference_within_rooms_averaged_over_those_of_the_same_people() -> None:
    """Repetition 0: differences 1 and 3, mean 2. Repetition 1: one is missing, so 4 is left. The mean is 3; a room is missing."""
    paired = pair_rooms(rooms(none=[1.0, 1.0, 1.0, 1.0], best=[2.0, 4.0, 5.0, np.nan]))
    found = effect_of(paired, "best", "none")
    assert (found.value, found.units, found.missing) == (3.0, 2, 1)
    assert found.reason == "fewer than 5 repetitions"
    assert np.isnan(found.low)
    paid = gain_of(paired, "best", "none", -1, np.array([1.0, 1.0]))
    assert paid.value == -4.0


def estimate(value: float, low: float, high: float, reason: str = "") -> Estimate:
    return Estimate(value, low, high, 8, 0, reason)


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (estimate(1.0, 0.2, 1.8), BETTER),
        (estimate(-1.0, -1.8, -0.2), WORSE),
        (estimate(0.4, -0.1, 0.9), NO_BETTER),
        (estimate(0.0, np.nan, np.nan, "no variation"), NO_BETTER),
        (estimate(0.5, np.nan, np.nan, "no variation"), UNKNOWN),
        (estimate(0.5, np.nan, np.nan, "fewer than 5 repetitions"), UNKNOWN),
        (estimate(np.nan, np.nan, np.nan, "fewer than 5 repetitions"), UNKNOWN),
    ],
)
def test_verdicts(gain: Estimate, said: str) -> None:
    """No interval, no verdict; the same difference of 0 in every room is no difference."""
    assert verdict_on(gain) == said


def test_a_unit_never_chooses_for_itself() -> None:
    """With two units each is judged by the choice of the other; a setting without a number is never chosen."""
    scores = np.array([[5.0, 0.0], [1.0, 2.0], [np.nan, np.nan]])
    assert cross_fitted(scores, scores).tolist() == [1.0, 0.0]
    assert np.isnan(cross_fitted(np.full((2, 3), np.nan), np.zeros((2, 3)))).all()


def test_the_front_leaves_out_what_is_beaten() -> None:
    """Of settings at one cost only the best; of equals the cheapest."""
    assert front(np.array([0.0, 1.0, 1.0, 4.0]), np.array([0.1, 0.5, 0.5, 0.5])) == [0, 1]
