"""The runs of a process: started, found again, resumed and deleted by their folders."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.journal import reply_rate
from parley.llm.prices import Price
from parley.model import run_listing
from parley.model.run_listing import list_runs, read_header, scenario_of
from parley.model.run_registry import RunRegistry
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

SETTINGS = {"topic": "racism", "repetitions": 2, "rounds": 2, "llm": "oracle"}


@pytest.fixture
def scenario() -> Scenario:
    return load_preset("three_way").with_settings(SETTINGS)


def until(so: Callable[[], bool]) -> None:
    ended = time.monotonic() + 60
    while not so():
        assert time.monotonic() < ended
        threading.Event().wait(0.005)


def test_a_stopped_run_is_listed_as_unfinished_and_resumed_by_another_process(
    scenario: Scenario, tmp_path: Path
) -> None:
    """Another registry is another process: it knows nothing but the folder."""
    first, second = RunRegistry(tmp_path), RunRegistry(tmp_path)
    run = first.start(scenario, tuple(SETTINGS), Budget(prices={"": Price(1.0, 1.0)}))
    run.play(1)
    until(lambda: run.phase == "paused")
    (row,) = list_runs(tmp_path).rows
    assert second.state_of(row.folder, row.state) == "elsewhere"
    with pytest.raises(UserError, match="another process"):
        second.resume(run.folder)
    run.stop()
    run.join(60)
    (row,) = list_runs(tmp_path).rows
    assert (row.state, row.rounds, row.calls) == ("unfinished", 1, run.calls) or row.rounds == 0
    again = second.resume(run.folder)
    assert again.budget.prices == {"": Price(1.0, 1.0)}
    again.play()
    until(lambda: again.phase == "done")
    (row,) = list_runs(tmp_path).rows
    assert (row.state, row.rounds, row.calls) == ("done", 2, 30)
    assert row.cost is not None
    whole = run_scenario(RunSpec(scenario, tmp_path / "whole", tuple(SETTINGS)))
    assert (run.folder / "record.jsonl").read_bytes() == whole.record.read_bytes()
    again.stop()


def test_the_report_is_written_when_a_run_ends_and_its_failure_is_no_failure_of_the_run(
    scenario: Scenario, tmp_path: Path
) -> None:
    def finish(folder: Path) -> None:
        assert (folder / "record.jsonl").exists()
        raise ValueError("no ink")

    run = RunRegistry(tmp_path, finish).start(scenario, tuple(SETTINGS))
    run.play()
    until(lambda: run.phase == "done")
    assert (run.error, run.problem) == ("", "the report could not be written: ValueError: no ink")
    run.stop()


def test_only_a_run_in_the_folder_of_runs_is_deleted_and_none_that_goes_on(scenario: Scenario, tmp_path: Path) -> None:
    root, other = tmp_path / "runs", tmp_path / "mine"
    registry = RunRegistry(root)
    run = registry.start(scenario, tuple(SETTINGS))
    run.play(1)
    until(lambda: run.phase == "paused")
    with pytest.raises(UserError, match="was not deleted, because a run in it is still running"):
        registry.delete(run.folder)
    run_scenario(RunSpec(scenario, other, tuple(SETTINGS)))
    (root / "notes").mkdir()
    (root / "link").symlink_to(other)
    for folder in (other, root, root / "notes", root / "link", root / ".." / "mine"):
        with pytest.raises(UserError, match="was not deleted"):
            registry.delete(folder)
    run.play()
    until(lambda: run.phase == "done")
    registry.delete(run.folder)
    assert not run.folder.exists()
    assert other.exists()


def test_time_in_which_a_run_waited_for_its_user_does_not_count(scenario: Scenario, tmp_path: Path) -> None:
    """A run that was paused for an hour would make the page promise hours for every later one."""
    run = RunRegistry(tmp_path).start(scenario, tuple(SETTINGS))
    run.play(1)
    until(lambda: run.phase == "paused")
    threading.Event().wait(1.0)  # what is measured, not a wait for something
    run.play()
    until(lambda: run.phase == "done")
    rate = reply_rate(run.folder / "journal.sqlite")
    assert rate is not None
    assert rate > 30  # of 30 calls, with the second that it waited
    run.stop()


def test_calls_of_an_unchanged_journal_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal of two million calls took the page 5 seconds at each look; a run that goes on shows its new calls."""
    setup = load_preset("two_way").with_settings({"topic": "racism", "repetitions": 1, "rounds": 2, "llm": "oracle"})
    run_scenario(RunSpec(setup, tmp_path / "run", budget=Budget(calls=5)))
    counted: list[Path] = []
    own_usage = run_listing.own_usage

    def counting(journal: Path) -> object:
        counted.append(journal)
        return own_usage(journal)

    monkeypatch.setattr(run_listing, "own_usage", counting)
    assert [list_runs(tmp_path).rows[0].calls for _ in range(3)] == [5, 5, 5]
    assert len(counted) == 1
    run_scenario(RunSpec(setup, tmp_path / "run", budget=Budget(calls=8)))
    assert list_runs(tmp_path).rows[0].calls == 8


def test_the_scenario_of_a_record_is_that_of_its_run(tmp_path: Path) -> None:
    settings = {"size": 6, "graph": "ring,degree=2", "repetitions": 1, "rounds": 1, "llm": "oracle,kappa=0"}
    scenario = load_preset("network").with_settings(settings)
    run_scenario(RunSpec(scenario, tmp_path / "run", tuple(settings)))
    assert scenario_of(read_header(tmp_path / "run"), tmp_path / "run").to_dict() == scenario.to_dict()
