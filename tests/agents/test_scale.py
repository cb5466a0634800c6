"""Scales: what their numbers mean on the 0-10 axis, and which scales are refused before anybody is asked on them."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.agents.probe import scales
from parley.agents.scales import LABELLED, NUMERIC, Reading, Scale, read_rating
from parley.llm.errors import UserError

SCALES = scales()


@check_each(
    ("name", "rating", "attitude"),
    [
        ("severity_0_10", 7, 7), ("severity_0_10_reversed", 7, 3), ("severity_1_7", 1, 0), ("severity_1_7", 4, 5),
        ("severity_1_7", 7, 10), ("agreement_1_7", 2, 10 / 6), ("severity_0_100", 83, 8.3), ("merit_labelled", 6, 6),
        ("agreement_0_10_reversed", 0, 10),
    ],
)  # fmt: skip
def test_attitude_axis(name: str, rating: float, attitude: float) -> None:
    """Every scale is mapped to 0-10 with high meaning high, so that scales can be compared."""
    assert SCALES[name].attitude(rating) == pytest.approx(attitude)
    assert SCALES[name].attitude(rating, polarity=-1) == pytest.approx(10 - attitude)


def test_expected_is_the_mean_of_the_distribution() -> None:
    """By hand: a quarter on 1, three quarters on 7 is 5.5."""
    shares = dict.fromkeys(SCALES["agreement_1_7"].answers, 0.0) | {"1": 0.25, "7": 0.75}
    assert SCALES["agreement_1_7"].expected(shares) == 5.5


def test_anchors_say_what_the_points_mean() -> None:
    """The sentence a question is asked with; the labelled one lists every label."""
    assert SCALES["severity_0_10"].anchors == "0 means not a problem at all and 10 means a very big problem"
    assert SCALES["severity_labelled"].anchors.startswith("0 nonexistent, 1 negligible, ")


@check_each(
    ("kind", "low", "high", "labels", "polarity", "complaint"),
    [
        ("words", 0, 1, {0: "a", 1: "b"}, 1, "kind must be"),
        (NUMERIC, 1, 1, {1: "a"}, 1, "low must be below high"),
        (NUMERIC, 0, 1, {0: "a", 1: "b"}, 2, "polarity must be 1 or -1"),
        (NUMERIC, 0, 2, {0: "a", 1: "b"}, 1, "label both ends"),
        (LABELLED, 0, 2, {0: "a", 2: "b"}, 1, "label every point"),
        (LABELLED, 0, 1, {0: "a", 1: "b", 2: "c"}, 1, "not between 0 and 1"),
        (LABELLED, 0, 1, {0: "a", 1: " "}, 1, "a label is empty"),
        (LABELLED, 0, 1, {0: "Bad", 1: "bad"}, 1, "two points have the same label"),
    ],
)
def test_a_broken_scale_is_refused(
    kind: str, low: int, high: int, labels: dict[int, str], polarity: int, complaint: str
) -> None:
    """A scale on which answers could not be told apart, or would fall off, is never asked."""
    with pytest.raises(UserError, match=complaint):
        Scale("odd", kind, low, high, labels, polarity)


def test_labels_are_read_whatever_their_case() -> None:
    """A capital in scales.toml does not make a point unreadable; a label inside a longer one is not read on its own."""
    scale = Scale("odd", LABELLED, 0, 1, {0: "Agree", 1: "Strongly Agree"})
    assert read_rating("I agree.", scale) == Reading(0.0)
    assert read_rating("I strongly agree.", scale) == Reading(1.0)
