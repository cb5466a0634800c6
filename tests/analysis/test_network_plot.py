"""The figure of a network: who hears whom at the start and at the end, opinions as colours, what is missing as white."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import colormaps

from parley.analysis.figures import save
from parley.analysis.metrics._network import populations
from parley.analysis.network_plot import MISSING, MOST, has_network, network_figure
from parley.analysis.run_report import figures
from parley.analysis.tables import load

pytestmark = pytest.mark.usefixtures("pictures")

SMALL = {"topic": "climate_change", "size": 12, "rounds": 2, "repetitions": 1}


def test_colours_are_opinions_and_places_stay(ran: Callable, tmp_path: Path) -> None:
    """Every agent has the colour of its rating, in the same place in both panels; the same run gives the same bytes."""
    tables = load(ran("network", **SMALL))
    figure = network_figure(tables, "made")
    first, last = figure.axes[:2]
    assert [axis.get_title() for axis in (first, last)] == ["Before the debate", "After round 2"]
    (network,) = populations(tables)
    for axis, round_ in ((first, 0), (last, 2)):
        drawn = np.concatenate([marks.get_facecolors() for marks in axis.collections])
        parties = network.room.parties.to_numpy()
        order = np.concatenate([np.flatnonzero(parties == party) for party in dict.fromkeys(parties)])
        assert np.allclose(drawn, colormaps["cividis"](network.room.at(round_)[order] / 10))
    places = [np.concatenate([marks.get_offsets() for marks in axis.collections]) for axis in (first, last)]
    assert np.array_equal(*places)
    assert (
        save(figure, tmp_path / "a").read_bytes() == save(network_figure(tables, "made"), tmp_path / "b").read_bytes()
    )
    assert "network" in figures(tables, tmp_path)


def test_several_rooms_are_drawn_and_the_note_says_which(ran: Callable) -> None:
    """Two rooms: both before and after, each named. Of eight rooms six are drawn, and the caption says so."""
    figure = network_figure(load(ran("network", **SMALL | {"repetitions": 2})), "made")
    titles = [axis.get_title() for axis in figure.axes if axis.get_visible() and axis.get_title()]
    assert titles == ["Room 1, before", "Room 1, after round 2", "Room 2, before", "Room 2, after round 2"]
    assert "All 2 rooms are shown." in figure.caption
    many = {"topic": "climate_change,racism", "repetitions": 4, "size": 8, "graph": "ring,degree=2"}
    figure = network_figure(load(ran("network", **SMALL | many)), "made")
    assert sum("before" in axis.get_title() for axis in figure.axes) == MOST
    assert any("Climate change" in axis.get_title() for axis in figure.axes)
    assert "The first 6 of 8 rooms are shown." in figure.caption


def test_an_agent_without_a_rating_is_white_and_explained(ran: Callable) -> None:
    """Missing is not an opinion in the middle."""
    tables = load(ran("network", **SMALL))
    ratings = tables.attitudes.copy()
    ratings.loc[(ratings["round"] == 2) & (ratings["party"] == "democrat"), "attitude"] = np.nan
    figure = network_figure(replace(tables, attitudes=ratings), "made")
    white = [tuple(colour) == (1, 1, 1, 1) for marks in figure.axes[1].collections for colour in marks.get_facecolors()]
    assert sum(white) == 6
    assert MISSING in [text.get_text() for text in figure.legends[0].get_texts()]
    assert not has_network(load(ran("two_way")))
