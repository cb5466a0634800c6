"""The list of runs with folders of a stranger in it: a bounded time, and a line each that says why it is not listed."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from parley.model import run_listing
from parley.model.files import JOURNAL, RECORD
from parley.model.run_listing import list_runs
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario


@pytest.fixture
def whole(tmp_path: Path, small: Callable[..., Scenario]) -> Path:
    """A folder of runs with one good run."""
    settings = {"topic": "racism", "repetitions": 1, "rounds": 1}
    run_scenario(RunSpec(small(**settings), tmp_path / "runs" / "good", tuple(settings)))
    return tmp_path / "runs"


def endless(folder: Path) -> None:
    """The journal is a view that never ends."""
    (folder / JOURNAL).unlink()
    with closing(sqlite3.connect(folder / JOURNAL)) as file:
        columns = "'k' key, i attempt, '' voice, 1 prompt_tokens, 1 completion_tokens, '{}' reply"
        rows = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {columns} FROM n"
        file.execute(f"CREATE VIEW outcomes AS {rows}")
        file.execute("CREATE TABLE meta (name TEXT, value TEXT)")
        file.commit()


def long_line(folder: Path) -> None:
    """The header never ends."""
    with (folder / RECORD).open("wb") as file:
        file.truncate(1 << 33)


def pipe(folder: Path) -> None:
    """The record is a pipe, which waits for a writer."""
    (folder / RECORD).unlink()
    os.mkfifo(folder / RECORD)


def deep(folder: Path) -> None:
    (folder / RECORD).write_text('{"kind": "header", "scenario": ' + "[" * 1_000_000)


def with_header(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        first, rest = (folder / RECORD).read_text().split("\n", 1)
        header = json.loads(first)
        change(header["scenario"])
        (folder / RECORD).write_text(f"{json.dumps(header)}\n{rest}")

    return spoil


SPOILED: dict[str, tuple[Callable[[Path], None], str]] = {
    "a view": (endless, "cannot use the journal"),
    "endless header": (long_line, "cannot read the run"),
    "a pipe": (pipe, ""),
    "a deep header": (deep, "cannot read the run"),
    "no settings": (with_header(dict.clear), "lacks the setting"),
    "settings of other types": (with_header(lambda scenario: scenario.update(topic=7, name=[])), "cannot be read"),
}


def test_a_strangers_folder_does_not_stop_the_list(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One such folder kept the list of runs from everybody for good; now it is a line, and the good run is listed."""
    pytest.importorskip("solara", reason="the [app] extra is not installed")
    from parley.analysis.views import _run_table, _runs

    monkeypatch.setattr(_runs, "ROOT", whole)
    good = whole / "good"
    for name, (spoil, _) in SPOILED.items():
        folder = whole / name
        folder.mkdir()
        for file in (RECORD, JOURNAL):
            (folder / file).write_bytes((good / file).read_bytes())
        spoil(folder)
    began = time.process_time()
    rows, unread = _runs.listed(_run_table.row_of)
    assert time.process_time() - began < 5
    assert [row["folder"] for row in rows] == [str(good)]
    for name, (_, reason) in SPOILED.items():
        told = [line for line in unread if str(whole / name) in line]
        assert (len(told) == 1 and reason in told[0] and "\n" not in told[0]) if reason else told == []


def test_numbers_of_no_real_run_cost_nothing(whole: Path) -> None:
    """A header with repetitions=10^9 is a line like any other: nothing is made of its numbers."""
    with_header(lambda scenario: scenario.update(repetitions=10**9))(whole / "good")
    (row,) = list_runs(whole).rows
    assert row.header.scenario["repetitions"] == 10**9


def test_a_folder_with_any_number_of_files_is_left_after_some(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is nearest to the top is found first, and it is said that others were not looked at."""
    for number in range(50):
        (whole / "deep" / str(number)).mkdir(parents=True)
    monkeypatch.setattr(run_listing, "LOOKED_AT", 40)
    found = list_runs(whole)
    assert [row.folder.name for row in found.rows] == ["good"]
    assert found.unread == [f"{whole} holds more than 40 files and folders, so only some of its runs are listed"]
