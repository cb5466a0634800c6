"""Polarisation and diversity of the text, on rooms small enough to check by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from statistics import fmean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.analysis.metrics import applies, metrics, polarisation, text_diversity
from parley.analysis.metrics.polarisation import bimodality, esteban_ray, variance
from parley.analysis.metrics.text_diversity import distinct
from parley.analysis.tables import load

ATTITUDES = st.lists(st.integers(0, 10), min_size=2, max_size=12).map(lambda values: np.array(values, dtype=float))


def four(*rounds: list[float | None]) -> dict[str, list[float | None]]:
    """Four Republicans; one list a survey."""
    return {f"republican {seat}": [survey[seat] for survey in rounds] for seat in range(4)}


def test_polarisation_by_hand(held: Callable) -> None:
    """0, 0, 10, 10: variance 100/3, Esteban-Ray 1, bimodality 1 / (-6 + 27/2); 4, 4, 6, 6: 4/3, a fifth, the same."""
    found = polarisation.compute(held(four([0, 0, 10, 10], [4, 4, 6, 6])))
    assert list(found["round"]) == [0, 1]
    assert found["variance"].to_list() == pytest.approx([100 / 3, 4 / 3])
    assert found["bimodality"].to_list() == pytest.approx([2 / 15, 2 / 15])
    assert found["esteban_ray"].to_list() == pytest.approx([1, 0.2])
    assert set(found["reason"]) == {"fewer than 5 rooms"}
    assert found["variance_low"].isna().all()
    assert found["change"].to_list()[1] == pytest.approx(-32)
    assert "is unknown" in polarisation.headline(found)


def test_polarisation_is_told_by_the_change_within_rooms(held: Callable) -> None:
    """Variances fall by about as much in each of five rooms, which differ more among themselves: that is sure. The people of one
    survey are not compared with others at the next. Counting signs said `fell` for one room already.
    """
    rooms = [
        four([5 - w, 5 - w, 5 + w, 5 + w], [5 - v, 5 - v, 5 + v, 5 + v])
        for w, v in ((2, 1), (3, 2.4), (4, 3.5), (5, 4.4), (4, 3.6))
    ]
    found = polarisation.compute(held(*rooms))
    assert polarisation.headline(found) == "Opinions within rooms came closer together (measured by the variance)."
    assert "is unknown" in polarisation.headline(polarisation.compute(held(*rooms[:4])))
    unequal = polarisation.compute(held(*[four([2, 2, 6, 6], [2, None, 6, None])] * 5))
    assert unequal["change"].to_list()[1] == pytest.approx(8 - 8)
    assert polarisation.headline(unequal) == "Opinions within rooms did not spread or come closer together in any room."
    alike = polarisation.compute(held(*[four([2, 2, 6, 6], [4, 4, 4, 4])] * 5))
    same = "The variance of opinions within rooms ended 5.33 lower than it began, by the same amount in every room, so "
    assert polarisation.headline(alike) == f"{same}there is no interval."
    few = polarisation.compute(held(*[four([2, 2, 6, 6], [2, 2, 6, 6])] * 4))
    assert polarisation.headline(few).startswith("With fewer than 5 rooms, it is unknown whether opinions")
    unread = unequal.assign(change=np.nan, change_low=np.nan, change_high=np.nan)
    assert "because no room has two agents rated" in polarisation.headline(unread)


def test_the_end_of_the_scale_is_no_agreement(held: Callable) -> None:
    """Opinions 3 points apart all rise by 3, and ratings are cut at 10: three quarters are at the end, so nothing can be said.
    The same ratings in reverse leave the end and seem to spread. Where they fall away from an end, they do come closer."""
    before = [[6, 6.5, 7 + by, 9] for by in (0, 0.1, 0.2, 0.3, 0.4)]
    after = [[min(value + 3, 10) for value in room] for room in before]
    up = polarisation.compute(held(*map(four, before, after)))
    assert up["ends"].to_list() == [0, 0.75]
    sentence = "because 75% of the ratings are at an end of the scale, where a further change cannot be seen."
    assert polarisation.headline(up).endswith(sentence)
    assert polarisation.headline(polarisation.compute(held(*map(four, after, before)))).endswith(sentence)
    apart = [[0, 0, 10, 10 - by] for by in (0, 0.1, 0.2, 0.3, 0.4)]
    nearer = polarisation.compute(held(*map(four, apart, [[4, 4, 6, 6]] * 5)))
    assert polarisation.headline(nearer) == "Opinions within rooms came closer together (measured by the variance)."


def test_means_are_over_rooms_and_every_gap_has_a_reason(held: Callable) -> None:
    """Variances 100/3 and 0: 50/3. Two peaks of people who are all alike: none, in 3 of 9 rooms; nine ratings are lost."""
    rooms = [four([0, 0, 10, 10]), four([5, 5, 5, 5]), four([5, None, None, None])] * 3
    found = polarisation.compute(held(*rooms))
    row = found.iloc[0]
    assert (row["rooms"], row["missing"]) == (9, 9)
    assert row["variance"] == pytest.approx(50 / 3)
    assert row["bimodality"] == pytest.approx(2 / 15)
    told = "variance: fewer than 2 rated (3 of 9 rooms); bimodality: all agents alike (3 of 9 rooms); bimodality: fewer than 4"
    assert row["reason"].startswith(told)
    assert row["esteban_ray"] == pytest.approx(1 / 2)
    assert row["variance_low"] < row["variance"] < row["variance_high"]


def test_intervals_of_variance_and_polarisation_stay_in_their_bounds(held: Callable) -> None:
    """One of five rooms differs: Student's interval of the variance began at -11.8, that of polarisation below 0."""
    row = polarisation.compute(held(*map(four, [[0, 0, 10, 10], *[[5, 5, 5, 5]] * 4]))).iloc[0]
    assert (row["variance"], row["esteban_ray"]) == pytest.approx((20 / 3, 0.2))
    for name, most in (("variance", math.inf), ("esteban_ray", 1.0)):
        assert 0 < row[f"{name}_low"] < row[name] < row[f"{name}_high"] <= most


def test_two_points_and_a_flat_distribution_have_their_known_coefficients() -> None:
    """Pfister et al. 2013: two points reach 1, the flat distribution 5/9; a normal one has 1/3."""
    normal = np.random.default_rng(0).normal(size=20_000)
    assert bimodality(np.repeat([0.0, 10.0], 5000)).value == pytest.approx(1, abs=1e-3)
    assert bimodality(np.linspace(0, 10, 10_001)).value == pytest.approx(5 / 9, abs=1e-3)
    assert bimodality(normal).value == pytest.approx(1 / 3, abs=0.01)


@given(ATTITUDES)
def test_esteban_ray_lies_between_agreement_and_two_camps(values: np.ndarray) -> None:
    """0 only where all agree, never above the 1 of two equal camps at the ends; as many of each again changes nothing."""
    found = esteban_ray(values).value
    assert found is not None
    assert -1e-12 <= found <= 1 + 1e-12
    assert (found < 1e-12) == (np.ptp(values) == 0)
    assert esteban_ray(np.tile(values, 3)).value == pytest.approx(found)
    assert esteban_ray(10 - values).value == pytest.approx(found)


def test_what_cannot_be_measured_is_none_with_a_reason() -> None:
    """One rating has no variance and no camps, three no two peaks: never a zero."""
    assert variance(np.array([3.0])) == (None, "fewer than 2 rated")
    assert bimodality(np.array([1.0, 2.0, 3.0])) == (None, "fewer than 4 rated")
    assert bimodality(np.full(9, 4.0)) == (None, "all agents alike")
    assert esteban_ray(np.array([3.0])) == (None, "fewer than 2 rated")


def test_other_probes_are_left_aside(held: Callable) -> None:
    """Only the run's own probe is an attitude: a confidence asked beside it would double the people."""
    tables = held(four([0, 0, 10, 10]))
    other = tables.attitudes.assign(probe="confidence", attitude=3.0)
    both = pd.concat([tables.attitudes, other], ignore_index=True)
    object.__setattr__(tables, "attitudes", both)
    assert polarisation.compute(tables)["esteban_ray"].to_list() == [1]


@given(st.lists(st.sampled_from("abcd"), min_size=3, max_size=8))
def test_distinct_words_are_the_mean_over_all_draws(words: list[str]) -> None:
    """The formula against every draw of three of the words, one by one."""
    drawn = [len(set(three)) / 3 for three in combinations(words, 3)]
    assert distinct([" ".join(words)], sample=3).value == pytest.approx(fmean(drawn))


def test_a_short_text_has_no_diversity_rather_than_a_high_one() -> None:
    """Five words are all different because they are five."""
    assert distinct(["One, two; three - four five!"]) == (None, "fewer than 42 words")
    assert distinct(["It's over-due. IT’S not"], sample=4).value == 1
    assert distinct(["the the the the"], sample=4).value == 0.25


def test_a_room_that_repeats_itself_is_less_diverse(ran: Callable) -> None:
    """One row a round of a real run; the same texts twice over are less diverse at the same sample."""
    tables = load(ran("two_way"))
    once = text_diversity.compute(tables)
    assert list(once["round"]) == [1, 2]
    assert list(once["rooms"]) == [3, 3]
    said = tables.utterances.assign(text=tables.utterances["text"] + " " + tables.utterances["text"])
    object.__setattr__(tables, "utterances", said)
    twice = text_diversity.compute(tables)
    assert (twice["distinct"] < once["distinct"]).all()
    assert (twice["words"] == 2 * once["words"]).all()


def test_network_metrics_of_other_runs_are_empty_with_their_columns(ran: Callable) -> None:
    """A round table has no graph: no rows, the same columns as ever, and nothing in the summary."""
    tables = load(ran("two_way"))
    for name, metric in metrics().items():
        if getattr(metric, "NEEDS", "") == "links":
            found = metric.compute(tables)
            assert len(found) == 0, name
            assert set(metric.LABELS) | {"topic", "group", "rooms", "missing"} <= set(found.columns)
            assert not applies(metric, tables)
