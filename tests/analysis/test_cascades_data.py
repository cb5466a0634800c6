"""Cascades of a run beside those of a user's table: by hand, and one line for each fault of the file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each

from parley.analysis.formatting import format_estimate
from parley.analysis.human.cascades import read_shares, real_trees, run_trees, shape, write_cascades
from parley.analysis.human.rooms import casts_of_rooms
from parley.analysis.statistics.intervals import POSITIVE, mean_interval
from parley.analysis.tables import tables
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

GOOD = "cascade,person,parent,time\n1,ann,,3\n1,bob,ann,4\n1,cy,ann,5\n2,ann,,1\n"


def trees_of(file: Path) -> pd.DataFrame:
    return real_trees(file, read_shares(file))


def test_real_trees_by_hand(tmp_path: Path) -> None:
    """Cascade 1: the author, Ann, and two who have it from Ann; cascade 2: the author and Ann."""
    (tmp_path / "c.csv").write_text(GOOD)
    assert trees_of(tmp_path / "c.csv").to_numpy().tolist() == [[4, 2, 2], [2, 1, 1]]
    assert shape(7, {}) == (1, 0, 1)


def test_a_chain_of_any_length_has_its_depth(tmp_path: Path) -> None:
    """5,000 people, each with the post from the one before: more than Python can call functions in functions."""
    rows = [f"1,p{n},{f'p{n - 1}' if n else ''}" for n in reversed(range(5000))]
    (tmp_path / "c.csv").write_text("\n".join(["cascade,person,parent", *rows]))
    assert trees_of(tmp_path / "c.csv").to_numpy().tolist() == [[5001, 5000, 1]]


@check_each(
    ("text", "message"),
    [
        ("cascade,person\n1,ann\n", "lacks the column parent"),
        ("cascade,person,parent\n", "has no rows"),
        ("cascade,person,parent\n1,,ann\n", "row 2: person is empty"),
        ("cascade,person,parent\n1,ann,\n1,ann,\n", "cascade 1: ann is listed twice"),
        ("cascade,person,parent\n1,ann,zoe\n", "the parent zoe did not share"),
        ("cascade,person,parent\n1,ann,\n1,bob,cy\n1,cy,bob\n", "cascade 1: the parents of bob lead in a circle"),
        ("cascade,person,parent\n2,ann,ann\n", "cascade 2: the parents of ann lead in a circle"),
    ],
)
def test_a_wrong_table_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        trees_of(tmp_path / "c.csv")
    with pytest.raises(UserError, match="cannot read"):
        trees_of(tmp_path / "none.csv")


def test_the_report_has_both_and_a_run_without_acts_is_refused(tmp_path: Path) -> None:
    """A small run beside the table: the data's mean scale is 3; below five cascades there is no interval."""
    (tmp_path / "c.csv").write_text(GOOD)
    settings = {"llm": "oracle,homophily=0,repost=1", "repetitions": 5, "rounds": 4, "size": 12}
    scenario, recorder = load_preset("spread").with_settings(settings), MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    found = tables([make_header(scenario, (), model.backend), *recorder.events])
    text = write_cascades(found, tmp_path / "c.csv", tmp_path / "out").read_text()
    assert "c.csv, 2 cascades" in text
    line = next(line for line in text.splitlines() if line.startswith("| people in a tree"))
    assert line.split("|")[3].strip() == "3.00"
    assert "to" in line.split("|")[2]
    with pytest.raises(UserError, match="no agent could share"):
        write_cascades(tables([make_header(load_preset("two_way"), (), model.backend)]), tmp_path / "c.csv", tmp_path)


def test_the_same_people_on_two_topics_are_one_unit(tmp_path: Path) -> None:
    """Five sets of people on two topics: the interval is that of five means, one for the rooms of each set."""
    (tmp_path / "c.csv").write_text(GOOD)
    settings = {
        "llm": "oracle,homophily=0,repost=1",
        "repetitions": 5,
        "rounds": 3,
        "size": 6,
        "topic": "racism,gun_violence",
    }
    scenario, recorder = load_preset("spread").with_settings(settings), MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    found = tables([make_header(scenario, (), model.backend), *recorder.events])
    text = write_cascades(found, tmp_path / "c.csv", tmp_path / "out").read_text()
    rooms = run_trees(found)
    assert f"run, {len(rooms)} rooms of 5 sets of people" in text
    sets = rooms.groupby([casts_of_rooms(found)[room] for room in rooms.index])["scale"].mean()
    assert format_estimate(sets.mean(), *mean_interval(sets.to_numpy(), bounds=POSITIVE)) in text
