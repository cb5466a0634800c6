"""Two runs beside each other: the same axes, and everything that differs is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parley.analysis.comparisons import differences, draw_comparison, mean_attitudes, shared_seats
from parley.analysis.tables import load


def test_differences_name_what_was_set_and_always_model_adapters_and_seed(ran: Callable[..., Path]) -> None:
    """Two curves that differ by more than one thinks are no comparison."""
    one, other = load(ran(seed=1)).header, load(ran(seed=2, frame="conversation")).header
    told = {name: (mine, theirs) for name, mine, theirs in differences(one, other)}
    assert told["seed"] == ("1", "2")
    assert told["frame"] == ("debate", "conversation")
    assert told["fine-tuned adapters"] == ("none", "none")
    assert set(told) == {"model", "fine-tuned adapters", "seed", "frame"}
    assert set(dict.fromkeys(name for name, *_ in differences(one, one))) == {"model", "fine-tuned adapters", "seed"}


def test_means_are_of_rooms(held: Callable) -> None:
    """Two people in one room are one observation. By hand: rooms (2 + 4) / 2 = 3 and 7, mean 5, se |7 - 3| / 2 = 2."""
    tables = held({"republican 1": [2.0], "republican 2": [4.0]}, {"republican 1": [7.0], "republican 2": [None]})
    (row,) = mean_attitudes(tables).to_dict("records")
    assert (row["party"], row["round"], row["mean"], row["n"]) == ("republican", 0, 5.0, 2)
    assert row["se"] == pytest.approx(2.0)


def test_panels_are_what_both_have(ran: Callable[..., Path]) -> None:
    one, other = load(ran(topics="racism,climate_change")), load(ran(topics="climate_change", seed=1))
    pairs = shared_seats(one, other)
    assert [topic for topic, _ in pairs] == ["climate_change"]
    figure = draw_comparison(one, other, ("a", "b"))
    (axis,) = figure.axes
    names = axis.get_legend_handles_labels()[1]
    assert names == ["Republican, a", "Democrat, a", "Republican, b", "Democrat, b"]
    assert draw_comparison(one, load(ran(topics="gun_violence")), ("a", "b")).axes[0].get_visible() is False
