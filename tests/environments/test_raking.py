"""Raking: planted margins are met, the result is that of iterative proportional fitting, and what cannot be is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.environments.raking import Codes, Floats, kish_size, rake


def fitted(weights: Floats, codes: list[Codes], shares: list[Floats]) -> Floats:
    """Iterative proportional fitting, written out: one variable after the other, 2,000 times."""
    raked = weights / weights.sum()
    for _ in range(2000):
        for places, known in zip(codes, shares, strict=True):
            raked = raked * (known / np.bincount(places, raked, len(known)))[places]
    result: Floats = raked / raked.mean()
    return result


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_planted_margins_are_met_and_agree_with_proportional_fitting(seed: int) -> None:
    """300 people, three variables, weights of any size: every margin to 1e-6, every weight as the slow way gives it."""
    random = np.random.default_rng(seed)
    codes = [random.permutation(np.arange(300) % size) for size in (2, 3, 5)]
    shares = [random.dirichlet(np.full(size, 8.0)) for size in (2, 3, 5)]
    weights = random.lognormal(0, 0.7, 300)
    raked = rake(weights, codes, shares)
    for places, known in zip(codes, shares, strict=True):
        assert np.abs(np.bincount(places, raked) / raked.sum() - known).max() < 1e-6
    assert raked == pytest.approx(fitted(weights, codes, shares), rel=1e-4)
    assert raked.mean() == pytest.approx(1)


def test_margins_that_hold_already_change_nothing() -> None:
    """The null: weights stay in proportion."""
    weights, places = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 1])
    assert rake(weights, [places], [np.array([0.4, 0.6])]) == pytest.approx(weights / 2.5)
    assert rake(weights, [np.zeros(4, dtype=np.int64)], [np.array([1.0])]) == pytest.approx(weights / 2.5)


def test_raking_to_one_margin_by_hand() -> None:
    """Three women and a man, half are men: a third each, and a half."""
    raked = rake(np.ones(4), [np.array([0, 0, 0, 1])], [np.array([0.5, 0.5])])
    assert raked == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])


@pytest.mark.parametrize("second", [0.5, 0.4, 0.6])
def test_margins_that_contradict_each_other_are_refused(second: float) -> None:
    """Nobody has the first value of `one` and the second of `other` reversed: .5 needs a weight of 0, .4 one below 0."""
    one, other = np.array([0, 0, 1]), np.array([0, 1, 1])
    shares = [np.array([0.5, 0.5]), np.array([1 - second, second])]
    if second > 0.5:
        assert rake(np.ones(3), [one, other], shares) == pytest.approx([1.2, 0.3, 1.5])
        return
    with pytest.raises(ValueError, match="reach all margins at once, because some combinations of values"):
        rake(np.ones(3), [one, other], shares)


def test_a_group_of_one_in_ten_thousand_is_not_raked_away() -> None:
    """The linear program allows misses of 1e-7, which is much for a group so small: its factor is looked at as well."""
    one, other = (np.repeat(values, [4999, 1, 5000]) for values in ((0, 0, 1), (0, 1, 1)))
    with pytest.raises(ValueError, match="no weights above 0"):
        rake(np.ones(10_000), [one, other], [np.array([0.5, 0.5]), np.array([0.5, 0.5])])


def test_a_sample_is_worth_less_with_unequal_weights() -> None:
    """Kish's formula by hand: (1 + 1 + 1 + 3)² / (1 + 1 + 1 + 9) = 3."""
    assert kish_size(np.array([1.0, 1.0, 1.0, 3.0])) == 3
    assert kish_size(np.full(50, 0.2)) == pytest.approx(50)
