"""Sweeps: the cells are those asked for, whoever holds them finds the same, and nothing that happens to a worker is hidden."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from multiprocessing import active_children
from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st
from measuring import deadly, record

from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.model.files import JOURNAL
from parley.model.scenario import Scenario, load_preset, read_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.sweep.cell_runner import CellResult, CellTask, SweepJob, run_cell
from parley.model.sweep.design import SweepCell, check_sweep_manifest, parse_seeds, parse_vary, sweep_cells
from parley.model.sweep.runner import run_cells, run_on_processes

BASE = load_preset("two_way").with_settings({"topic": "racism", "repetitions": 2, "rounds": 1, "llm": "oracle"})


def jobs(folder: Path, base: Scenario = BASE, seeds: int = 3, **varied: tuple[str, ...]) -> list[SweepJob]:
    return [SweepJob(cell, folder) for cell in sweep_cells(base, varied, range(seeds))]


def swept(asked: list[SweepJob], workers: int, most: int | None = None) -> list[CellResult]:
    found = dict(run_cells(asked, record, workers, Budget(calls=most), None, lambda number: None, print))
    return [found[place] for place in range(len(asked))]


def calls(folder: Path) -> int:
    """Outcomes in all journals of a sweep: one asked twice would be one more."""
    total = 0
    for path in folder.rglob(JOURNAL):
        with closing(sqlite3.connect(path)) as journal:
            total += journal.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0]
    return total


@check_each(
    ("pairs", "varied"),
    [
        (["rounds=1,2"], {"rounds": ("1", "2")}),
        (["topic=racism,abortion;gun_violence"], {"topic": ("racism,abortion", "gun_violence")}),
        (["topic=racism,abortion;"], {"topic": ("racism,abortion",)}),
        (
            ["llm=oracle,kappa=0;oracle", "frame=debate , talk"],
            {"llm": ("oracle,kappa=0", "oracle"), "frame": ("debate", "talk")},
        ),
        (["default-agent=with"], {"default_agent": ("with",)}),
        (["interventions=;shock round=2 text=b"], {"interventions": ("", "shock round=2 text=b")}),
        (["interventions=shock round=2 text=b;;"], {"interventions": ("shock round=2 text=b", "")}),
    ],
)
def test_values_of_a_field(pairs: list[str], varied: dict[str, tuple[str, ...]]) -> None:
    """Commas divide, but where there is a semicolon it alone does: lists and options of a model have commas."""
    assert parse_vary(pairs) == varied


@check_each("pairs", [["rounds"], ["rounds="], ["rounds=1,1"], ["rounds=1", "rounds=2"], ["rounds=;"]])
def test_what_is_no_field_with_values(pairs: list[str]) -> None:
    with pytest.raises(UserError, match="--vary"):
        parse_vary(pairs)


def test_seeds() -> None:
    assert parse_seeds("0:20") == tuple(range(20))
    assert parse_seeds("7") == (7,)
    assert parse_seeds("3,1") == (3, 1)
    for text in ("", "5:5", "a", "1:2:3", "1,1", "-1", ":3"):
        with pytest.raises(UserError, match="--seeds"):
            parse_seeds(text)


def test_a_full_factorial() -> None:
    """Two lengths x two frames x three seeds: each cell has its own values, its own seed and its own folder."""
    made = sweep_cells(BASE, {"rounds": ("1", "2"), "frame": ("debate", "talk")}, (4, 5, 6))
    found = {(cell.scenario.rounds, cell.scenario.speech.frame, cell.scenario.seed) for cell in made}
    assert found == {(rounds, frame, seed) for rounds in (1, 2) for frame in ("debate", "talk") for seed in (4, 5, 6)}
    assert [cell.folder for cell in made[:2]] == [
        "cells/rounds=1,frame=debate/seed-4",
        "cells/rounds=1,frame=debate/seed-5",
    ]
    assert len({cell.folder for cell in made}) == len(made) == 12
    assert [cell.folder for cell in sweep_cells(BASE, {}, (0,))] == ["cells/all/seed-0"]


@given(st.lists(st.text(min_size=1, max_size=200).filter(str.strip), min_size=2, max_size=5, unique=True))
def test_folders_are_safe_and_apart(names: list[str]) -> None:
    """Whatever a value holds (slashes, dots, anything): one folder below the sweep's, another for each."""
    folders = [SweepCell((("frame", name),), BASE, 0).combination for name in names]
    assert len(set(folders)) == len(names)
    assert all(
        Path(folder).name == folder and len(folder.encode()) < 256 and folder.isprintable() for folder in folders
    )


@check_each(
    ("varied", "words"),
    [
        ({"roundz": ("1",)}, "--vary roundz=1: unknown field 'roundz': did you mean rounds"),
        ({"rounds": ("1", "one")}, "--vary rounds=one: rounds is 'one', but must be a whole number"),
        ({"rounds": ("3", "03")}, "the same run as another"),
        ({"temperature": ("1", "1.0")}, "the same run as another"),
        ({"llm": ("oracle", "orakel")}, "did you mean oracle"),
        ({"llm": ("openai:m,rpm=1", "openai:m,rpm=2")}, "differ only in its address or limits"),
    ],
)
def test_cells_that_cannot_be(varied: dict[str, tuple[str, ...]], words: str) -> None:
    """Said before anything is run, with the combination."""
    with pytest.raises(UserError, match=words):
        sweep_cells(BASE, varied, (0,))


def test_the_base_is_checked_with_the_values_that_are_varied() -> None:
    """That 8 people are too few for the block model of the preset is no fault of a sweep which varies the graph."""
    base = read_preset("network", {"size": "8", "llm": "oracle"})
    made = sweep_cells(base, {"graph": ("ring", "complete")}, (0,))
    assert [str(cell.scenario.environment_spec.options["graph"]) for cell in made] == ["ring", "complete"]
    with pytest.raises(UserError, match=r"^--vary rounds=1: .* cannot have 6 links"):
        sweep_cells(base, {"rounds": ("1", "2")}, (0,))
    with pytest.raises(UserError, match=r"^(?!--vary).* cannot have 6 links"):
        sweep_cells(base, {}, (0,))


def test_a_party_s_own_model_is_varied_by_its_options() -> None:
    made = sweep_cells(BASE, {"llms": ("republican=oracle,kappa=0", "republican=oracle,kappa=0.5")}, (0,))
    assert [cell.scenario.llm_by_party for cell in made] == [
        {"republican": f"oracle,kappa={kappa}"} for kappa in ("0", "0.5")
    ]


def test_nothing_is_a_value_too() -> None:
    """The arm without interventions is a cell with a name, beside the one with them."""
    (control, rain) = sweep_cells(BASE, parse_vary(["interventions=;shock round=1 text=Rain."]), (0,))
    assert (control.values, control.combination) == ((("interventions", "none"),), "interventions=none")
    assert (len(control.scenario.interventions), len(rain.scenario.interventions)) == (0, 1)
    alone, own = sweep_cells(BASE, parse_vary(["llms=;republican=oracle,kappa=0"]), (0,))
    assert (alone.combination, alone.scenario.llm_by_party) == ("llms=none", {})
    assert own.scenario.llm_by_party == {"republican": "oracle,kappa=0"}


def test_one_folder_one_sweep(tmp_path: Path) -> None:
    """Another scenario, setting or value is refused; more seeds are not, and fewer are."""
    check_sweep_manifest(tmp_path, sweep_cells(BASE, {"rounds": ("1", "2")}, (0, 1)))
    check_sweep_manifest(tmp_path, sweep_cells(BASE, {"rounds": ("2", "1")}, (0, 1, 2)))
    for base, varied, seeds, words in (
        (BASE, {"rounds": ("1", "3")}, (0, 1, 2), "other fields or values"),
        (BASE.with_settings({"words": 40}), {"rounds": ("1", "2")}, (0, 1, 2), "another scenario"),
        (BASE, {"rounds": ("1", "2")}, (0, 1), "seeds"),
    ):
        with pytest.raises(UserError, match=words):
            check_sweep_manifest(tmp_path, sweep_cells(base, varied, seeds))
    run_scenario(RunSpec(BASE, tmp_path / "run"))
    with pytest.raises(UserError, match="is not the folder of a sweep"):
        check_sweep_manifest(tmp_path / "run", sweep_cells(BASE, {}, (0,)))


def test_any_number_of_workers_finds_the_same_as_a_run_by_hand(tmp_path: Path) -> None:
    """Records of one worker, of three, and of `sit` itself are the same bytes; in a second sitting nothing is asked."""
    alone = swept(jobs(tmp_path / "one", rounds=("1", "2")), 1)
    among = swept(jobs(tmp_path / "three", rounds=("1", "2")), 3)
    assert [held.found for held in alone] == [held.found for held in among]
    made = jobs(tmp_path / "hand", rounds=("1", "2"))[4]
    assert run_scenario(RunSpec(made.cell.scenario, tmp_path / "hand")).record.read_bytes() == alone[4].found
    again = swept(jobs(tmp_path / "three", rounds=("1", "2")), 2)
    assert [(held.found, held.asked) for held in again] == [(held.found, 0) for held in among]


def test_a_killed_worker_costs_its_own_cell_and_the_sweep_goes_on(tmp_path: Path) -> None:
    """kill -9 while the first cell is under way: the sweep says so, goes on with a new worker, and asks nothing twice."""
    base = BASE.with_settings({"repetitions": 20, "rounds": 3})
    undisturbed = swept(jobs(tmp_path / "undisturbed", base), 1)
    killed: list[int | None] = []
    said: list[str] = []

    others = set(active_children())  # such as the process that writes reports of the page

    def kill(number: int) -> None:
        if not killed:
            (victim,) = set(active_children()) - others
            killed.append(victim.pid)
            os.kill(victim.pid or 0, signal.SIGKILL)

    asked = jobs(tmp_path / "killed", base)
    found = dict(run_on_processes(CellTask(record), asked, 1, None, kill, said.append))
    assert said == ["cells/all/seed-0: its worker was killed (SIGKILL); its replies so far are saved"]
    assert [found[place].found for place in range(3)] == [held.found for held in undisturbed]
    assert found[0].replayed > 0
    assert calls(tmp_path / "killed") == calls(tmp_path / "undisturbed")


def test_a_cell_that_kills_its_worker_again_is_told_and_costs_no_other(tmp_path: Path) -> None:
    """After two workers it is left unfinished, by name; the same sweep later finishes it."""
    said: list[str] = []
    asked = jobs(tmp_path)
    found = dict(run_on_processes(CellTask(deadly), asked, 2, None, lambda number: None, said.append))
    assert (len(said), found[1].stopped) == (2, "its worker was killed (SIGKILL), 2 times")
    assert found[0].stopped is found[2].stopped is None
    assert all(held.stopped is None for held in swept(asked, 2))


def test_a_cell_that_fails_says_why(tmp_path: Path) -> None:
    """A folder of another run stops its own cell only, in one line."""
    asked = jobs(tmp_path, seeds=2)
    asked[0].run.mkdir(parents=True)
    (asked[0].run / "notes.txt").write_text("precious")
    first, second = (run_cell(CellTask(record), job) for job in asked)
    assert "is not empty and is not a run folder" in (first.stopped or "")
    assert second.stopped is None


def test_what_is_measured_may_fail(tmp_path: Path) -> None:
    def broken(run: Path) -> None:
        raise RuntimeError("no ruler")

    (job,) = jobs(tmp_path, seeds=1)
    assert run_cell(CellTask(broken), job).stopped == "RuntimeError: no ruler"


def test_one_budget_for_all_workers(tmp_path: Path) -> None:
    """Exactly the allowed calls are made, whoever makes them, also in a second sitting; a raised budget finishes."""
    whole = jobs(tmp_path / "whole", seeds=4)
    swept(whole, 2)
    needed = calls(tmp_path / "whole")
    asked = jobs(tmp_path / "limited", seeds=4)
    for most in (needed // 2, needed - 3):
        stopped = [held.stopped for held in swept(asked, 3, most) if held.stopped]
        assert stopped
        assert all(f"the budget --max-calls {most} is spent ({most} calls" in why for why in stopped)
        assert calls(tmp_path / "limited") == most
    assert [held.found for held in swept(asked, 3, needed)] == [held.found for held in swept(whole, 1)]
