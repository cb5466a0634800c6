"""The law fitted to whole rooms: followed line by line, exact where data are exact, honest where something is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.analysis.influence_model import (
    GIVEN,
    KAPPA,
    MU,
    PULL,
    Floats,
    InfluenceFit,
    RoomPassages,
    Unidentified,
    bias_estimate,
    combine_fits,
    distance_closed,
    fit_influence,
    fit_plain,
    follow_model,
    parties_differ,
)
from parley.analysis.rating_value import predict_ratings


def rooms(before: list[list[float]], theta: tuple[float, ...], speakers: tuple[int, ...]) -> RoomPassages:
    """Rooms that follow the law without noise; everybody hears everybody else."""
    rows, seats = len(before), len(before[0])
    heard = np.array([[[seat != speaker for seat in range(seats)] for speaker in speakers]] * rows)
    start = np.array(before, dtype=float)
    told = RoomPassages(start, start, np.array([speakers] * rows), np.full((rows, len(speakers)), np.nan), heard,
                 np.arange(rows), np.zeros(rows, dtype=int))  # fmt: skip
    return replace(told, after=follow_model(np.array(theta), told)[0])


STARTS = [[1.0, 9.0], [2.0, 5.0], [7.0, 3.0], [4.0, 8.0], [6.0, 6.5], [3.0, 0.5]]


def test_a_room_of_two_by_hand() -> None:
    """kappa 0.1, mu 0.2, pull 1: 9 speaks, 1 becomes 1 + 0.8 + 1 - 0.2 = 2.6; 2.6 speaks, 9 becomes 9 - 0.64 + 1 - 1.8 = 7.56."""
    found = rooms([[1.0, 9.0]], (0.1, 0.2, 1.0), (1, 0))
    assert found.after.tolist() == [pytest.approx([2.6, 7.56])]


def test_exact_data_give_the_exact_parameters() -> None:
    """No text is read: what was said stands where its speaker stood at that moment."""
    law = fit_influence(rooms(STARTS, (0.1, 0.2, 1.2), (1, 0, 1, 0)))
    assert law.theta.tolist() == pytest.approx([0.1, 0.2, 1.2], abs=1e-7)
    assert bias_estimate(law).value == pytest.approx(6.0, abs=1e-5)
    assert (law.clusters, law.ratings) == (6, 12)


def test_subjects_have_levels_of_their_own_and_the_rest_in_common() -> None:
    one, other = (rooms(STARTS, (0.1, 0.2, pull), (0, 1)) for pull in (1.0, 1.6))
    joined = RoomPassages(
        *[
            np.concatenate([getattr(one, name), getattr(other, name)])
            for name in ("before", "after", "speaker", "grade", "heard")
        ],
        cluster=np.arange(12),
        subject=np.repeat([0, 1], 6),
    )
    law = fit_influence(joined)
    assert law.theta.tolist() == pytest.approx([0.1, 0.2, 1.0, 1.6], abs=1e-7)
    assert combine_fits(law, np.array([0, 0, -1.0, 1.0])).value == pytest.approx(0.6, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.tuples(*[st.floats(-0.2, 0.6)] * 2, st.floats(-1, 3)), st.lists(st.integers(0, 2), min_size=1, max_size=6))
def test_slopes_are_those_of_small_steps(theta: tuple[float, ...], speakers: list[int]) -> None:
    """The derivatives that the fit goes by, beside differences."""
    told = rooms([[1.0, 9.0, 5.0], [2.5, 6.0, 0.0]], theta, tuple(speakers))
    slopes, step = follow_model(np.array(theta), told)[1], 1e-6
    for place in (KAPPA, MU, PULL):
        more, less = (follow_model(np.array(theta) + sign * step * np.eye(3)[place], told)[0] for sign in (1, -1))
        assert slopes[..., place] == pytest.approx((more - less) / (2 * step), abs=1e-5)


def noisy(seed: int, rows: int = 24) -> RoomPassages:
    """Rooms in eight clusters of one line each, in which the law is linear in its parameters."""
    rng = np.random.default_rng(seed)
    told = rooms(rng.uniform(1, 9, (rows, 2)).tolist(), (0.1, 0.05, 0.3), (0,))
    return replace(told, after=told.after + rng.normal(0, 0.2, told.after.shape), cluster=np.arange(rows) % 8)


def test_the_jackknife_is_that_of_refits() -> None:
    """In a linear law one Newton step is exact: the same as leaving out a cluster and fitting anew, CR3 and all."""
    told = noisy(0)
    design = np.column_stack([told.before[:, 0] - told.before[:, 1], -told.before[:, 1], np.ones(len(told.before))])
    change = told.after[:, 1] - told.before[:, 1]

    def solved(kept: np.ndarray) -> Floats:
        return np.asarray(np.linalg.lstsq(design[kept], change[kept], rcond=None)[0])

    whole = solved(np.full(len(change), True))
    left = np.array([solved(told.cluster != one) for one in range(8)])
    law = fit_influence(told)
    assert law.theta == pytest.approx(8 * whole - 7 * left.mean(axis=0), abs=1e-6)
    assert law.covariance == pytest.approx(7 / 8 * (left - left.mean(axis=0)).T @ (left - left.mean(axis=0)), abs=1e-6)


def test_what_is_missing_is_left_out_and_never_a_zero() -> None:
    """A speaker whose attitude is unknown says something unknown: its hearers of that round are left out, the others are not."""
    told = rooms(STARTS, (0.1, 0.2, 1.2), (1, 0, 1, 0))
    holed = replace(told, before=np.where(np.arange(12).reshape(6, 2) == 1, np.nan, told.before))
    law = fit_influence(holed)
    assert law.ratings == 10
    assert law.theta.tolist() == pytest.approx([0.1, 0.2, 1.2], abs=1e-7)


def test_lines_without_content_leave_the_pull_alone() -> None:
    """Partners who say nothing of substance: no influence to fit, the pull is found by itself; with influence it is refused."""
    told = rooms(STARTS, (0.0, 0.2, 1.2), (1, 0))
    mute = replace(told, speaker=np.full_like(told.speaker, GIVEN))
    assert fit_influence(mute, influence=False).theta.tolist() == pytest.approx([0.0, 0.2, 1.2], abs=1e-7)
    with pytest.raises(Unidentified):
        fit_influence(mute)


def test_no_pull_has_no_direction() -> None:
    """Where mu cannot be told from 0, where to is no number."""
    still = noisy(3)
    law = fit_influence(
        replace(still, after=still.before + np.random.default_rng(5).normal(0, 0.2, still.before.shape))
    )
    assert fit_plain(law, MU).low < 0 < fit_plain(law, MU).high
    assert np.isnan(bias_estimate(law).value)
    assert bias_estimate(law).high == np.inf


def surveyed(ratings: np.ndarray, party: np.ndarray, predict: bool) -> RoomPassages:
    """Rooms (n, 2 seats, surveys) in twenty clusters, from each survey to the next; each seat speaks once between two surveys."""
    size, seats, surveys = ratings.shape
    cluster = np.arange(size) % 20
    flat = ratings.reshape(-1, surveys), party.ravel(), np.repeat(cluster, seats), party.ravel()
    predicted = predict_ratings(*flat).reshape(ratings.shape)
    before, after, expected = (
        np.concatenate([values[..., place + shift] for place in range(surveys - 1)])
        for values, shift in ((ratings, 0), (ratings, 1), (predicted, 0))
    )
    told = rooms(before.tolist(), (0.0, 0.0, 0.0), (0, 1))
    kinds = np.tile(party, (surveys - 1, 1))
    return replace(
        told, after=after, cluster=np.tile(cluster, surveys - 1), kind=kinds, predicted=expected if predict else None
    )


def still(whole: bool, sd: float, predict: bool) -> InfluenceFit:
    """People of two parties who hear each other and never move; a rating has noise of its own, or is a whole point."""
    rng, size = np.random.default_rng(4), 600
    party = np.tile([0, 1], (size, 1))
    opinion = np.where(party == 0, 2.5, 7.5) + rng.normal(0, 0.8, party.shape)
    paths = opinion[..., None] + rng.normal(0, 0.15, (*party.shape, 4)).cumsum(axis=-1)
    ratings = paths + sd * rng.normal(size=paths.shape)
    return fit_influence(surveyed(np.round(ratings) if whole else ratings, party, predict))


@pytest.mark.parametrize(("whole", "sd", "seeming"), [(False, 1.0, 0.3), (False, 0.5, 0.1), (True, 0.0, 0.0)])
def test_noise_in_ratings_is_no_pull(whole: bool, sd: float, seeming: float) -> None:
    """Nobody is pulled. Least squares on noisy ratings finds a pull of each party; with what other ratings predict it is gone."""
    naive, mended = (still(whole, sd, predict) for predict in (False, True))
    for party in (0, 1):
        fooled, own = (fit_plain(law, MU * 2 + party) for law in (naive, mended))
        assert fooled.low > seeming
        assert own.low < 0 < own.high
        assert abs(own.value) < fooled.value / 2
        assert fit_plain(mended, party).low < 0 < fit_plain(mended, party).high  # kappa


def test_people_who_never_move_have_no_rates_and_do_not_differ() -> None:
    """Exactly no movement: rates of 0, no level, and no parties that move differently by rounding."""
    party = np.tile([0, 1], (20, 1))
    ratings = np.repeat(np.random.default_rng(1).uniform(1, 9, (20, 2, 1)), 4, axis=-1)
    law = fit_influence(surveyed(ratings, party, predict=True))
    assert law.theta == pytest.approx(np.zeros(6), abs=1e-12)
    assert np.isnan(bias_estimate(law, kinds=2).value)
    assert not parties_differ(law, 2)


def test_rates_without_noise_differ_if_they_do() -> None:
    """Without any noise a difference is exact, and needs no interval to be seen."""
    told = rooms(STARTS, (0.1, 0.2, 1.2), (1, 0, 1, 0))
    kinds = replace(told, kind=np.tile([0, 1], (6, 1)))
    slower = replace(kinds, after=follow_model(np.array([0.1, 0.05, 0.2, 0.1, 1.2, 0.6]), kinds)[0])
    assert parties_differ(fit_influence(slower), 2)
    assert not parties_differ(fit_influence(kinds), 2)


def test_a_kind_of_people_that_cannot_be_estimated_leaves_the_others_alone() -> None:
    """Lines are given, so agents are independent: the second kind jumps about beyond any law, the first has its rates."""
    rng, size = np.random.default_rng(2), 40
    before, grade = rng.uniform(2, 8, (size, 1)), rng.uniform(0, 10, (size, 1))
    kind = np.repeat([0, 1], size // 2)[:, None]
    told = RoomPassages(before, before, np.full((size, 1), GIVEN), grade, np.ones((size, 1, 1), dtype=bool),
                        np.arange(size) % 10, np.zeros(size, dtype=int), kind)  # fmt: skip
    after = follow_model(np.array([0.1, 0.0, 0.2, 0.0, 1.2, 0.0]), told)[0]
    law = fit_influence(replace(told, after=np.where(kind == 1, -9 * before, after)))
    assert fit_plain(law, KAPPA).value == pytest.approx(0.1, abs=1e-6)
    assert fit_plain(law, MU * 2).value == pytest.approx(0.2, abs=1e-6)
    assert np.isnan([fit_plain(law, MU * 2 + 1).value, bias_estimate(law, kind=1, kinds=2).value]).all()
    assert np.isnan(distance_closed(law, 0, 2, minus=1).value)
