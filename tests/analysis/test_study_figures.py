"""The figures of studies can be understood alone: a title in words, labels, a caption that says what points and bars are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from parley.analysis.card.figure import Panel, Point, panel_figure
from parley.analysis.human.report import draw
from parley.analysis.run_comparison import compare_runs
from parley.analysis.run_comparison_figure import draw_runs
from parley.analysis.sweep.report import crossing, figure
from parley.analysis.tables import load
from parley.studies.competing_debates import bets
from parley.studies.herding import report as herding
from parley.studies.herding import run_report as herding_report

FIELDS = {
    "field": "words", "topic": "racism", "party": "republican", "group": "republican+democrat", "seeds": 3,
    "change_low": 0.1, "change_high": 0.9,
}  # fmt: skip
BETS = pd.DataFrame(
    [("another", 0, 5, 70.0, 60.0, 80.0), ("own copy", 0, 5, 80.0, 70.0, 90.0)],
    columns=["condition", "round", "rooms", "bet", "bet_low", "bet_high"],
)


def change(value: str, other: str) -> dict[str, Any]:
    return FIELDS | {"value": value, "change": 0.5, "other": "memory", "other_value": other}


@pytest.fixture(scope="module")
def pairs() -> pd.DataFrame:
    return pd.DataFrame([change(value, other) for value in ("30", "60") for other in ("whole", "last:2")])


def drawn(kind: str, ran: Callable, pairs: pd.DataFrame) -> Any:
    if kind == "bets":
        return bets.bet_figure(BETS, "oracle")
    if kind == "sweep":
        return figure(pairs[pairs["other_value"] == "whole"], "means over 3 seeds, 95% intervals")
    if kind == "pairs":
        return crossing(pairs, "means over 3 seeds, 95% intervals")
    if kind == "human":
        return draw([], pd.DataFrame(columns=["source", "condition", "key", "estimate"]), [], "bars are 95% intervals")
    if kind == "cards":
        return panel_figure(
            [Panel("One", [Point(0, 0.1, 0.0, 0.2)])] * 2, ["a"], "Bars: 95% intervals.", "Bias compared"
        )
    if kind == "herding":
        return herding_report.figure(load(ran("herding", topic="two_options", repetitions=5)))
    if kind == "planners":
        return herding._figure({"a": load(ran("herding", topic="two_options", repetitions=5))}, "oracle")
    runs = {"a": load(ran("two_way", repetitions=5)), "b": load(ran("two_way", repetitions=5, seed=1))}
    return draw_runs(runs, compare_runs(runs))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["bets", "sweep", "pairs", "human", "cards", "herding", "planners", "compare"])
def test_a_figure_of_a_study_explains_itself(kind: str, ran: Callable, pairs: pd.DataFrame) -> None:
    """A title of words without code, labels on the outer axes, and a caption with the kind of bars."""
    made = drawn(kind, ran, pairs)
    assert made.title
    assert not set("_=:").intersection(made.title.replace("opinions move: ", "")), made.title
    assert made.get_suptitle().replace("\n", " ") == made.title
    assert "95% interval" in made.caption
    assert made.caption.startswith(made.title)
    if kind != "cards":
        axes = [axis for axis in made.axes if axis.get_visible()]
        assert any(axis.get_xlabel() for axis in axes)
        assert any(axis.get_ylabel() for axis in axes)


def test_shares_stay_between_none_and_all(ran: Callable) -> None:
    """With five rooms Student's interval of a share ends above 1; the figure and its table do not say so."""
    points = herding_report.by_position(load(ran("herding", topic="two_options", repetitions=5)))
    ends = points[["right_low", "right_high", "signal_low", "signal_high"]].to_numpy(dtype=float)
    assert ends[ends == ends].min() >= 0
    assert ends[ends == ends].max() <= 1
