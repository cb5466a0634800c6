"""What other ratings predict for a rating: never its own noise."""

from __future__ import annotations

import numpy as np
import pytest

from parley.analysis.rating_value import predict_ratings

LEVELS = np.array([[1.0, 2.0, 2.5], [3.0, 4.0, 3.5], [8.0, 9.0, 8.0], [7.0, 5.0, 6.0], [2.0, 2.5, 1.0]])
PARTY, ROOM = np.array([0, 0, 1, 1, 0]), np.array([0, 1, 0, 1, 2])


def predicted(levels: np.ndarray) -> np.ndarray:
    return predict_ratings(levels, PARTY, ROOM, PARTY)


def test_a_first_rating_is_predicted_by_the_mean_of_its_party_in_other_rooms() -> None:
    """By hand: the first of party 0 by (3 + 2) / 2, the one of party 1 by the only other one."""
    assert predicted(LEVELS)[:, 0].tolist() == [2.5, 1.5, 7.0, 8.0, 2.0]


def test_later_ratings_add_what_the_distance_before_tells() -> None:
    """By hand: two people whose distances from each other halve at each survey; the next is half of the last distance away."""
    levels = np.array([[0.0, 2.0, 3.0], [8.0, 6.0, 5.0]])
    found = predict_ratings(levels, np.zeros(2, int), np.arange(2), np.zeros(2, int))
    # Distances from the mean elsewhere: -8, -4, -2. Regressed on the last and the mean of the earlier ones they are exact.
    assert found[:, 1:] == pytest.approx(levels[:, 1:])


def test_the_noise_of_a_rating_is_not_in_its_own_prediction() -> None:
    """A first rating that is wrong by 5 points moves the predictions of others, and not its own."""
    wrong = LEVELS.copy()
    wrong[0, 0] += 5
    changed = predicted(wrong) - predicted(LEVELS)
    assert changed[0, 0] == 0
    assert changed[1, 0] == 2.5


def test_what_is_missing_is_left_out_and_what_nothing_predicts_is_unknown() -> None:
    """Without an earlier rating of its own, the mean of the others is all that is known; without others, nothing is."""
    holed = LEVELS.copy()
    holed[0, 0] = np.nan
    assert predicted(holed)[0, :2].tolist() == [2.5, 3.25]
    assert predicted(holed)[1, 0] == 2.0
    single = predict_ratings(LEVELS[2:3], PARTY[2:3], ROOM[2:3], PARTY[2:3])
    assert np.isnan(single).all()
