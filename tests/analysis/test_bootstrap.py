"""Intervals: they cover what they should, come out the same twice, and take the room as their unit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.bootstrap import interval, mean_interval, share_interval, tail


def coverage(rooms: int, truth: float, draw) -> float:
    """The share of 400 seeded data sets whose interval holds the truth."""
    hits = 0
    for seed in range(400):
        low, high = mean_interval(draw(np.random.default_rng(seed), rooms), "coverage", seed)
        hits += low <= truth <= high
    return hits / 400


@pytest.mark.parametrize("rooms", [8, 40])
def test_the_mean_is_covered_19_times_in_20_also_with_few_rooms(rooms: int) -> None:
    """A plain percentile interval covers 0.89 at 8 rooms. 400 seeded data sets: the standard error of the coverage is 0.011."""
    assert 0.92 <= coverage(rooms, 5.0, lambda rng, n: rng.normal(5, 1, n)) <= 0.98


def test_whole_number_ratings_are_covered_too() -> None:
    """Ratings are whole numbers from 0 to 10: coverage does not rest on a smooth distribution."""
    truth = float(np.clip(np.round(np.random.default_rng(1).normal(7, 1.5, 10**6)), 0, 10).mean())
    assert 0.92 <= coverage(40, truth, lambda rng, n: np.clip(np.round(rng.normal(7, 1.5, n)), 0, 10)) <= 0.98


def test_the_same_values_and_name_give_the_same_interval_and_another_name_another() -> None:
    """The same record gives the same bytes, and two intervals share no random draws."""
    values = np.random.default_rng(0).normal(0, 1, 12)
    assert mean_interval(values, "drift", "racism") == mean_interval(values, "drift", "racism")
    assert mean_interval(values, "drift", "racism") != mean_interval(values, "drift", "abortion")


@pytest.mark.parametrize("values", [[], [3.0]])
def test_fewer_than_two_rooms_have_no_interval(values: list[float]) -> None:
    """One room says nothing about the spread between rooms: never (3, 3)."""
    assert all(math.isnan(end) for end in mean_interval(np.array(values), "x"))


def test_rows_are_drawn_whole() -> None:
    """The unit is the room: numbers of one room stay together (here each row's difference is 0)."""
    rows = np.column_stack([np.arange(20.0), np.arange(20.0)])
    assert interval(rows, lambda drawn: (drawn[..., 0] - drawn[..., 1]).mean(axis=1), "x") == (0, 0)


def test_agents_of_one_room_do_not_count_as_rooms(held) -> None:
    """Two agents that always agree give the interval of one: no precision out of copies."""
    from analysis.metrics.drift import compute

    ends = (3.0, 5.0, 4.0, 6.0, 5.0)
    one = compute(held(*[{"republican": [2, end]} for end in ends], reference=8)).iloc[0]
    two = compute(held(*[{"republican 1": [2, end], "republican 2": [2, end]} for end in ends], reference=8)).iloc[0]
    assert two["drift"] == one["drift"] == pytest.approx(2.6)
    width, double = (row["drift_high"] - row["drift_low"] for row in (one, two))
    assert double == pytest.approx(width, rel=0.15)


def test_draws_without_a_value_are_left_out_and_too_many_of_them_leave_no_interval() -> None:
    """A ratio over zero in some draws does not poison the interval; in most draws it forbids one."""
    values = np.arange(10.0).reshape(-1, 1)
    rare = interval(values, lambda d: np.where(d[:, 0, 0] == 0, np.nan, 1.0), "x")
    often = interval(values, lambda d: np.where(d[:, 0, 0] < 8, np.nan, 1.0), "x")
    assert rare == (1, 1)
    assert all(math.isnan(end) for end in often)


def test_tails_shrink_with_few_rooms_and_tend_to_one_fortieth() -> None:
    """Hesterberg 2015: 20 rooms use Phi(-sqrt(20 / 19) * 2.0930) = 0.0159 in place of 0.025."""
    assert tail(20) == pytest.approx(0.01588, abs=5e-5)
    assert tail(10**6) == pytest.approx(0.025, abs=1e-5)
    assert tail(3) < tail(10) < tail(100)


def test_wilson_agrees_with_its_worked_example() -> None:
    """Newcombe 1998, table I: 81 of 263 has (0.2553, 0.3662); 0 of 20 has (0, 0.1611)."""
    assert share_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert share_interval(0, 20) == pytest.approx((0, 0.1611), abs=5e-5)
    assert share_interval(20, 20) == pytest.approx((0.8389, 1), abs=5e-5)
    assert all(math.isnan(end) for end in share_interval(0, 0))
