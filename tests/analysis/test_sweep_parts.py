"""Parts of a sweep, as an array of jobs runs them: together they are the sweep, and nothing is asked twice."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.llm.errors import UserError
from parley.model.sweep.design import parse_part

ROOT = Path(__file__).parents[2]
DESIGN = "--scenario two_way --topic racism --repetitions 2 --llm oracle --vary rounds=1,2 --seeds 0:3 --workers 1"
SWEEP = ["sweep", *DESIGN.split(), "--out"]
KILLED_AFTER_ONE_CELL = """
import os, signal, sys, run
from parley.analysis.commands import sweep
sweep._Bar.cell = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run.main(sys.argv[1:])
"""


def started(arguments: list[str], program: tuple[str, ...] = ("run.py",)) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, *program, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=environment
    )


def tree(root: Path) -> dict[str, bytes]:
    """Every file but the journals, which keep times."""
    kept = [path for path in root.rglob("*") if path.is_file() and "journal" not in path.name]
    return {str(path.relative_to(root)): path.read_bytes() for path in kept}


@pytest.mark.thorough
def test_parts_that_ran_at_the_same_time_are_the_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two parts at once, the third killed and repeated: every file is that of one sweep, and its report calls no model."""
    parts = [*SWEEP, str(tmp_path / "parts")]
    for part in [started([*parts, "--part", f"{number}/3"]) for number in (1, 2)]:
        told, _ = part.communicate(timeout=300)
        assert "2 of 2 are finished" in told
        assert part.returncode == 0
    killed = started([*parts, "--part", "3/3"], ("-c", KILLED_AFTER_ONE_CELL))
    killed.communicate(timeout=300)
    assert killed.returncode == -9
    assert not (tmp_path / "parts" / "summary.md").exists()
    assert run.main([*parts, "--dry-run"]) == 0
    planned = capsys.readouterr().out
    assert planned.count("missing  cells/") in (0, 1), "a cell of the killed part may be finished too"
    assert run.main([*parts, "--part", "3/3"]) == 0
    told = capsys.readouterr().out
    assert "of 2 were finished before: their models are not called again" in told
    assert "part     3/3 is finished: repeat the command without --part" in told
    assert run.main(parts) == 0
    assert "6 of 6 are finished; 0 calls were made" in capsys.readouterr().out
    assert run.main([*SWEEP, str(tmp_path / "whole")]) == 0
    assert tree(tmp_path / "parts") == tree(tmp_path / "whole")


def test_a_plan_says_which_cells_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After one part of two, the plan of the sweep names the cells of the other, and counts their calls alone."""
    folder = tmp_path / "out"
    small = [*SWEEP[:-1], "--seeds", "0:1", "--out", str(folder)]
    assert run.main([*small, "--part", "2/2"]) == 0
    capsys.readouterr()
    assert run.main([*small, "--dry-run"]) == 0
    planned = capsys.readouterr().out
    assert f"2 cells in {folder}: 1 finished, 1 missing\n" in planned
    assert "missing  cells/rounds=1/seed-0\n" in planned
    assert "rounds=2" not in planned
    assert run.main([*small, "--dry-run", "--part", "2/2"]) == 0
    assert capsys.readouterr().out == f"1 cell in {folder}: 1 finished, 0 missing\n"


@pytest.mark.parametrize(("cells", "parts"), [(1, 1), (10, 3), (10, 10), (7, 2)])
def test_each_cell_is_in_one_part(cells: int, parts: int) -> None:
    """No cell is left out and none comes twice; no part has two cells more than another."""
    places = [parse_part(f"{part + 1}/{parts}", cells) for part in range(parts)]
    assert sorted(chain(*places)) == list(range(cells))
    assert max(map(len, places)) - min(map(len, places)) <= 1


@check_each("text", ["", "3", "0/2", "3/2", "a/b", "1/0", "-1/2", "1/2/3", "1.5/2"])
def test_what_is_no_part(text: str) -> None:
    with pytest.raises(UserError, match="Example: 3/10"):
        parse_part(text, 10)


def test_a_part_needs_a_folder_and_a_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before there is a folder: parts in folders of their own would never be one sweep."""
    assert run.main([*SWEEP[:-1], "--part", "1/2"]) == 2
    assert "--part needs the folder that all parts share: add --out FOLDER" in capsys.readouterr().err
    assert run.main([*SWEEP, str(tmp_path / "out"), "--part", "7/7"]) == 2
    assert "the sweep has 6 cells, so it can have at most 6 parts" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
