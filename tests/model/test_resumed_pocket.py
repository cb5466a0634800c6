"""A run on the model in the box comes back the same wherever it was stopped: one request, one reply, whatever was read before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parley.llm.backends import open_spec
from parley.llm.budget import Budget
from parley.model.files import JOURNAL
from parley.model.scenario_run import RunSpec, run_scenario

from .killed_pocket import scenario

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.thorough


def launch(folder: Path, count: int = 0) -> int:
    paths = {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).with_name("killed_pocket.py")), str(folder), str(count)]
    return subprocess.run(command, env=os.environ | paths, check=False, timeout=300).returncode


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a finished run but the journal (it keeps times) and the lock."""
    kept = [path for path in folder.rglob("*") if path.is_file() and JOURNAL not in path.name and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert launch(folder) == 0
    found = tree(folder)
    assert any(name.endswith(".csv") for name in found)
    return found


@pytest.mark.parametrize("batch", [3, 8])
def test_a_killed_run_on_pocket_ends_like_an_undisturbed_one(
    tmp_path: Path, undisturbed: dict[str, bytes], batch: int
) -> None:
    """kill -9, the same command again: record, tables and figures byte for byte, expected values and shares included."""
    assert launch(tmp_path / "run", batch) == -signal.SIGKILL
    assert launch(tmp_path / "run") == 0
    assert tree(tmp_path / "run") == undisturbed


@pytest.mark.parametrize("options", ["", ",keep=0,batch=1", ",keep=3,workers=3,batch=3"])
def test_how_it_is_read_changes_nothing(tmp_path: Path, undisturbed: dict[str, bytes], options: str) -> None:
    """Stopped after each of ten numbers of calls (`--max-calls`) and gone on with, read in other batches and pieces."""
    for calls in range(1, 20, 2) if not options else (7,):
        folder = tmp_path / str(calls)
        first = run_scenario(RunSpec(scenario(), folder, budget=Budget(calls)), backend=open_spec(f"pocket{options}"))
        assert first.stopped
        assert first.asked == calls
        run_scenario(RunSpec(scenario(), folder), backend=open_spec(f"pocket{options}"))
        assert (folder / "record.jsonl").read_bytes() == undisturbed["record.jsonl"], calls
