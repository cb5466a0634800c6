"""Runs of a network: their tables, points where chance decides how many speak, and the figure of a population."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.axes import Axes

from parley.analysis.metrics.trajectory import compute
from parley.analysis.plots import HALF, attitudes, party_means
from parley.analysis.table_export import write_tables
from parley.analysis.tables import Tables, load
from parley.model.events import Heard, Linked, Signed, Unlinked

ROOM = "racism/2 democrat/000"
NETWORK = {"size": 24, "graph": "ring", "reference": "", "repetitions": 2}


def test_links_and_what_was_heard_become_these_very_tables(record: Callable, header: Callable) -> None:
    """A row a link and change, in the order of the record; a row a turn that somebody heard."""
    tables = load(
        record(
            [
                header(),
                Linked(ROOM, 0, ((1, 2), (2, 1))),
                Signed(ROOM, 0, ((1, 2),), (-1,)),
                Linked(ROOM, 2, ((1, 3),), (0.5,)),
                Unlinked(ROOM, 2, ((1, 2),)),
                Heard(ROOM, 1, 2, (4, 3)),
            ]
        )
    )
    assert tables.links.pop("weight").fillna(0).tolist() == [0, 0, 0.5, 0]
    assert tables.links.pop("sign").fillna(0).tolist()[:3] == [-1, 0, 0]
    assert tables.links.to_numpy().tolist() == [
        [ROOM, 0, "added", 1, 2],
        [ROOM, 0, "added", 2, 1],
        [ROOM, 2, "added", 1, 3],
        [ROOM, 2, "removed", 1, 2],
    ]
    assert tables.links.columns.to_list() == ["room", "round", "change", "source", "target"]
    assert tables.heard.to_numpy().tolist() == [[ROOM, 1, 2, 4], [ROOM, 1, 2, 3]]
    assert tables.heard.columns.to_list() == ["room", "round", "agent", "iteration"]
    empty = load(record([header()]))
    assert {empty.links.pop(name).dtype.name for name in ("weight", "sign")} == {"float64"}
    for name in ("links", "heard"):
        assert getattr(empty, name).dtypes.to_dict() == getattr(tables, name).dtypes.to_dict()
        assert getattr(empty, name).empty


def test_tables_of_links_are_written_where_there_are_some(ran: Callable, tmp_path: Path) -> None:
    for preset, settings, written in (("two_way", {}, False), ("network", NETWORK, True)):
        paths = write_tables(load(ran(preset, **settings)), tmp_path / preset)
        assert ({"links.parquet", "heard.csv"} <= {path.name for path in paths}) == written
    assert len(pd.read_parquet(tmp_path / "network" / "links.parquet")) == 2 * 24 * 4


def drawn(tables: Tables) -> Axes:
    axis: Axes = attitudes(tables, compute(tables), tables.groups, "a caption").axes[0]
    return axis


def test_a_population_has_a_line_a_party_not_a_line_a_seat(ran: Callable) -> None:
    """24 people: two lines, each the mean over rooms of the party's mean, between the quartiles of its people."""
    tables = load(ran("network", **NETWORK))
    points = party_means(tables, "racism", "12 republican+12 democrat")
    assert points is not None
    axis = drawn(tables)
    handles, labels = axis.get_legend_handles_labels()
    assert sorted(set(labels)) == ["Democrat", HALF, "Republican"]
    assert len(labels) == len(handles) == 2 + 2
    ratings = tables.attitudes[(tables.attitudes["party"] == "democrat") & (tables.attitudes["round"] == 2)]
    row = points[(points["party"] == "democrat") & (points["round"] == 2)].iloc[0]
    assert row["mean"] == pytest.approx(ratings.groupby("room")["attitude"].mean().mean())
    assert row["se"] == pytest.approx(ratings.groupby("room")["attitude"].mean().std() / 2**0.5)
    assert (row["low"], row["high"]) == tuple(ratings["attitude"].quantile([0.25, 0.75]))
    assert (row["n"], row["iteration"], row["seat"]) == (2, 48, "democrat")


def test_eight_seats_of_a_party_still_have_a_line_each(held: Callable) -> None:
    seats = {f"democrat {number}": [2, 3] for number in range(1, 10)}
    full = held(seats)
    assert party_means(full, "racism", full.groups[0]) is not None
    del seats["democrat 9"]
    table = held(seats)
    assert party_means(table, "racism", table.groups[0]) is None


def test_rooms_with_other_numbers_of_replies_are_one_point(ran: Callable) -> None:
    """Where chance decides how many speak, a round has one point, at the mean number of replies so far."""
    tables = load(ran("network", activation="poisson,rate=0.3", **NETWORK | {"size": 4, "graph": "complete"}))
    after = tables.attitudes[tables.attitudes["round"] == 2].groupby("room")["iteration"].first()
    points = compute(tables)
    assert not points.duplicated(["seat", "round"]).any()
    assert set(points["n"]) == {2}
    assert after.nunique() == 2
    assert set(points.loc[points["round"] == 2, "iteration"]) == {round(after.mean())}
