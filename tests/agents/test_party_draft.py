"""`parley new party`: what a new party begins with differs from what its folder has."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.agents.datafiles import read_toml
from parley.agents.skeleton import COLOURS, colour_distance, free_colour, free_marker, free_side, write_skeleton
from parley.agents.society import load_society
from parley.agents.society_check import check_path

APART = 18
"""The distance that colours of figures keep for every kind of colour vision (analysis/figures.py)."""


def test_four_new_parties_differ_in_label_names_colour_and_marker(tmp_path: Path) -> None:
    """They were all `Green` with `^` before, so that the second one was a fault. `check` finds none, and colours keep apart."""
    folder = write_skeleton("society", tmp_path / "land")
    for code in ("green", "lake", "my-town", "far_left"):
        write_skeleton("party", folder / "parties" / f"{code}.toml")
    assert check_path(str(folder)) == []
    parties = load_society(str(folder)).parties
    assert parties["far_left"].label == "Far Left voter"
    assert parties["lake"].person == "a voter of the Lake Party"
    for key in ("label", "colour", "marker", "side"):
        assert len({getattr(one, key) for one in parties.values()}) == len(parties), key
    names = [name for one in parties.values() for name in one.names]
    assert len(set(names)) == len(names)
    colours = [one.colour for one in parties.values()]
    apart = [colour_distance(one, other) for place, one in enumerate(colours) for other in colours[:place]]
    assert min(apart) > APART


def test_outside_of_a_society_it_differs_from_the_parties_of_the_skeleton(tmp_path: Path) -> None:
    alone = read_toml(write_skeleton("party", tmp_path / "lake.toml"))
    folder = write_skeleton("society", tmp_path / "land")
    for path in folder.glob("parties/*.toml"):
        other = read_toml(path)
        assert (other["colour"], other["marker"]) != (alone["colour"], alone["marker"])
        assert not set(other["names"]) & set(alone["names"])


def test_a_colour_is_chosen_by_the_kind_of_vision_that_sees_least() -> None:
    """Red and olive look alike without red or green cones, so they count as alike; black and white are 100 apart for all."""
    assert colour_distance("#000000", "#ffffff") == pytest.approx(100, abs=0.1)
    assert colour_distance("#c00000", "#5f7a00") < 5
    assert colour_distance("#0072b2", "#0072b2") == 0
    assert free_colour(COLOURS[1:]) == COLOURS[0]


def test_sides_and_markers_by_hand() -> None:
    assert free_side([-0.8, -0.6, 0.9]) == 0.15
    assert free_side([0.0]) == -0.5
    assert free_marker(["^D", "D", "v"]) == "P"
