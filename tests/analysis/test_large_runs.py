"""Runs of many people: tables are made as the record is read, and each limit of a report is said where it shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

from parley.analysis import (
    event_frames,
    network_field,
    network_plot,
    reply_faults,
    run_report,
    summary,
    table_export,
    transcript,
)
from parley.analysis.event_frames import EventColumns
from parley.analysis.metrics import broken_replies, friendship
from parley.analysis.record_rows import MANY, read_rows
from parley.analysis.tables import Tables, load
from parley.analysis.tables import tables as tables_of
from parley.analysis.views import _session, conversation
from parley.llm.errors import UserError
from parley.model.recorder import read_lines
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, record_of, run_scenario


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty people in a network, two rounds, on the rule-based speaker; the Default is asked outside the debates."""
    folder = tmp_path_factory.mktemp("network")
    settings = {"size": 20, "rounds": 2, "repetitions": 2, "topic": "racism", "llm": "oracle"}
    run_scenario(RunSpec(load_preset("network").with_settings(settings), folder))
    return folder


def frames(tables: Tables) -> dict[str, pd.DataFrame]:
    return {name: frame for name, frame in vars(tables).items() if isinstance(frame, pd.DataFrame)}


@check_each("latest", [7, 80])
def test_tables_of_a_record_that_is_read_in_parts_are_the_same(
    run: Path, monkeypatch: pytest.MonkeyPatch, latest: int
) -> None:
    whole = frames(load(run))
    monkeypatch.setattr(event_frames, "LATEST", latest)
    for name, frame in frames(load(run)).items():
        pd.testing.assert_frame_equal(frame, whole[name], obj=name)


def test_rows_give_the_tables_of_events(run: Path) -> None:
    record = record_of(run)
    assert {type(row).__name__ for row in read_rows(record)} >= {"UtteranceRow", "RatedRow", "CalledRow", "HeardRow"}
    of_events = frames(tables_of(read_lines(record)))
    for name, frame in frames(load(run)).items():
        pd.testing.assert_frame_equal(frame, of_events[name], obj=name)


def test_a_line_with_an_unknown_field_is_refused_as_before(run: Path, tmp_path: Path) -> None:
    text = record_of(run).read_text(encoding="utf-8")
    record = tmp_path / "record.jsonl"
    record.write_text(text.replace('{"kind":"rated",', '{"kind":"rated","mood":1,', 1), encoding="utf-8")
    with pytest.raises(UserError, match="unknown: mood"):
        load(record)
    half = text.replace('"kind":"utterance"', '"kind":"utterance"', 1).replace('"text":"', '"text":"\\ud83d ', 1)
    record.write_text(half, encoding="utf-8")
    assert load(record).utterances["text"].iloc[0].startswith("\ufffd ")


def test_a_page_reads_a_long_record_again_and_holds_no_events(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(run)
    held, events = _session._loaded(record, str(run), 1)
    assert isinstance(events, list)
    monkeypatch.setattr(_session, "HELD", 10)
    read, again = _session._loaded(record, str(run), 2)
    assert isinstance(again, _session.RecordedEvents)
    assert list(again) == list(again) == events
    for name, frame in frames(read).items():
        pd.testing.assert_frame_equal(frame, frames(held)[name], obj=name)


def test_a_page_shows_the_first_agents_of_a_large_room_and_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load(run)
    room = str(tables.utterances["room"].iloc[0])
    assert str(conversation.room_lines(tables, room)).count("'turn edge-") == 40
    monkeypatch.setattr(conversation, "MOST", 6)
    some = conversation.room_lines(tables, room)
    assert "Shown are the lines of the first 3 of 20 agents. The search finds all lines." in str(some[0])
    assert str(some).count("'turn edge-") == 6


def test_events_in_columns_can_be_read_as_events(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study's own table reads events: it sees all of them, as they were."""
    monkeypatch.setattr(event_frames, "LATEST", 7)
    record = list(read_lines(record_of(run)))
    for kind in MANY:
        written, columns = [event for event in record if type(event) is kind], EventColumns(kind)
        for event in written:
            columns.append(event)
        assert list(columns) == written
        assert len(columns) == len(written) > 7
        assert columns.largest("round") == 2


def test_the_replies_of_a_large_run_are_measured_on_a_stated_sample(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 80 turns each third one is measured, and what is found of it is what is found when all are."""
    tables = load(run)
    whole = reply_faults.reply_faults(tables)
    assert not whole.attrs
    assert broken_replies.note(broken_replies.compute(tables)) == broken_replies.NOTE
    monkeypatch.setattr(reply_faults, "MEASURED", 30)
    part = reply_faults.reply_faults(tables)
    assert len(whole) == 80
    pd.testing.assert_frame_equal(part, whole.iloc[::3].reset_index(drop=True))
    sentence = "The shares are measured on 27 of 80 turns: one in 3, in the order of the record."
    measured = broken_replies.compute(tables)
    assert broken_replies.headline(measured).endswith(sentence)
    assert broken_replies.note(measured).endswith(sentence)


def test_a_transcript_of_many_turns_has_the_first_rooms_and_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load(run)
    assert transcript.shortened(tables) == (tables, "")
    monkeypatch.setattr(transcript, "MOST", 50)
    some, sentence = transcript.shortened(tables)
    assert "40 of 80 turns: the turns of 20 of 40 agents who spoke, in 1 of 2 rooms" in sentence
    assert some.utterances["room"].nunique() == 1
    monkeypatch.setattr(transcript, "MOST", 15)
    some, sentence = transcript.shortened(tables)
    assert "14 of 80 turns: the turns of 7 of 40 agents who spoke" in sentence
    assert some.utterances.groupby("agent").size().tolist() == [2] * 7
    assert sentence.strip() in transcript.text(tables)


def test_a_long_table_is_parquet_alone_and_the_summary_says_so(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tables = load(run)
    usual = table_export.write_table(tables.calls, tmp_path / "calls")
    before = pd.read_parquet(usual[0])
    monkeypatch.setattr(table_export, "SPREADSHEET", 100)
    monkeypatch.setattr(table_export, "GROUP", 30)
    monkeypatch.setattr(summary, "SPREADSHEET", 100)
    assert table_export.write_table(tables.calls, tmp_path / "calls") == usual[:1]
    assert not usual[1].exists()
    pd.testing.assert_frame_equal(pd.read_parquet(usual[0]), before)
    run_report.write_report(run)
    said = (run / "summary.md").read_text(encoding="utf-8")
    assert (
        "Tables of more than 100 rows are written as .parquet alone, without .csv: `attitudes`, `calls`, `links`, `heard`."
        in said
    )
    assert not (run / "tables" / "calls.csv").exists()


def test_a_network_of_many_people_is_a_field(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = load(run)
    assert network_plot.network_caption(tables) == network_plot.FIGURE_CAPTION
    monkeypatch.setattr(network_field, "DRAWN", 19)
    assert network_plot.network_caption(tables) == network_field.CAPTION
    figure = network_plot.network_figure(tables, "Note.")
    drawn = [mesh.get_array() for axis in figure.axes[:4] for mesh in axis.collections]
    assert [int(np.ma.sum(counts)) for counts in drawn] == [20] * 4
    assert "more than 19 agents are drawn as numbers of agents" in figure.caption


def test_graphs_of_many_links_are_shuffled_less_often_and_the_note_says_so(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = load(run)
    assert friendship.note(friendship.compute(tables)) == friendship.NOTE
    monkeypatch.setattr(friendship, "SHUFFLED", 1)
    assert "39 shuffles (of at most 199, fewer of a graph with more links)" in friendship.note(
        friendship.compute(tables)
    )
