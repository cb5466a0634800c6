"""A reader of a run with places and stages learns where a line was said, and which rounds belong to which stage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import parley
from parley.analysis.meetings import meetings, stage_starts
from parley.analysis.metrics.trajectory import compute
from parley.analysis.plots import attitudes
from parley.analysis.tables import Tables, load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight people in rooms, then with mediators and in a network, one of them silent from the second round on."""
    out = tmp_path_factory.mktemp("meetings") / "run"
    topology = "rooms,size=4 [rounds=1] > mediated,size=4 + network,graph='ring,degree=2' [rounds=2, carry=none]"
    parley.run("stages", llm="oracle", repetitions=1, size=8, topology=topology, rounds=3, survey="rounds", out=out,
               interventions=[parley.Leave(round=2, to=("republican 1",))])  # fmt: skip
    return out


@pytest.fixture(scope="module")
def run(folder: Path) -> Tables:
    return load(folder)


def test_each_turn_is_at_the_table_of_its_speaker(run: Tables) -> None:
    """The silent turn of the person who left counts too, and the mediator's is at the table whose members hear it."""
    where = meetings(run)
    seats = {(f"stage {row.stage}, {row.place}" + f", table {row.table}" * (row.place != "network"), row.agent)
             for row in run.places.itertuples()}  # fmt: skip
    turns = run.utterances
    assert len(where) == len(turns) == 8 + 2 * (8 + 2 + 8)
    spoken = turns[turns["agent"] != 0]
    assert all((where[turn.room, turn.iteration], turn.agent) in seats for turn in spoken.itertuples())
    heard = run.heard.merge(turns[turns["agent"] == 0][["room", "iteration"]], on=["room", "iteration"])
    assert len(heard)
    assert all((where[row.room, row.iteration], row.agent) in seats for row in heard.itertuples())


def test_a_run_without_places_has_no_such_places(tmp_path: Path) -> None:
    parley.run("two_way", llm="oracle", topic="racism", repetitions=1, rounds=1, out=tmp_path / "run")
    assert meetings(load(tmp_path / "run")) == {}
    assert "#####" not in (tmp_path / "run" / "transcript.md").read_text()


def test_transcript_and_summary_say_where_and_when(folder: Path) -> None:
    """The lines of a round stand under their table; the summary says which round begins a stage, and what is not remembered."""
    headings = re.findall(r"^##### (.+)$", (folder / "transcript.md").read_text(), re.M)
    second = ["Stage 2, mediated, table 1", "Stage 2, mediated, table 2", "Stage 2, network"]
    assert headings == ["Stage 1, rooms, table 1", "Stage 1, rooms, table 2", *second, *second]
    summary = (folder / "summary.md").read_text()
    assert "stage 1 (rooms) begins with round 1; stage 2 (mediated and network) begins with round 2." in summary
    assert "In a stage with carry=none, people do not remember the stages before." in summary
    assert "the rounds of different stages belong to different debates" in summary, "no share of the first round"


def test_the_figure_has_a_line_where_each_stage_begins(run: Tables, tmp_path: Path) -> None:
    """With its name above the panel, inside of its own stage; a run without stages has neither."""
    (group,) = run.groups
    assert stage_starts(run, group, run.topics[0]) == [(1, "1: rooms"), (2, "2: mediated + network")]

    def lines(tables: Tables) -> list[float]:
        (axis,) = attitudes(tables, compute(tables), tables.groups, "").axes
        names = [label.get_text() for above in axis.child_axes for label in above.get_xticklabels()]
        assert names == (["1: rooms", "2: mediated + network"] if tables is run else [])
        return [float(line.get_xdata()[0]) for line in axis.lines if line.get_linestyle() == ":"]

    assert lines(run) == [0.5, 1.5]
    parley.run("two_way", llm="oracle", topic="racism", repetitions=1, rounds=1, out=tmp_path / "run")
    assert lines(load(tmp_path / "run")) == []


def test_the_page_has_the_stages_in_chart_and_conversation(run: Tables) -> None:
    pytest.importorskip("solara")
    from parley.analysis.views.attitudes import attitude_panel
    from parley.analysis.views.conversation import room_lines

    (group,), (topic,) = run.groups, run.topics
    assert attitude_panel(run, topic, group)[0].stages == stage_starts(run, group, topic)
    headings = [line["text"] for line in room_lines(run, run.agents["room"].iloc[-1]) if line["tag"] in ("h3", "h4")]
    second = ["Stage 2, mediated, table 1", "Stage 2, mediated, table 2", "Stage 2, network"]
    assert headings == [
        "Round 1",
        "Stage 1, rooms, table 1",
        "Stage 1, rooms, table 2",
        "Round 2",
        *second,
        "Round 3",
        *second,
    ]
