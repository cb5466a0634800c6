"""Sweeps on a Ray cluster (extra `[ray]`)."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from loopback import Loopback, said
from measuring import record

import run
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.model.scenario import load_preset
from parley.model.sweep.cell_runner import CellResult, CellTask, SweepJob
from parley.model.sweep.design import sweep_cells
from parley.model.sweep.ray_cluster import run_on_ray
from parley.model.sweep.runner import run_cells

pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
CANARY = "sk-canary-0123456789abcdef"
"""The value of a key."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's nodes have half a minute to start, which is short on a busy machine. Its workers find this checkout and the tests."""
    links = Path(__file__).parents[2] / ".links"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(links), *sys.path]))
    seconds = {
        "worker_register_timeout_seconds": "600",
        "raylet_start_wait_time_s": "600",
        "agent_register_timeout_ms": "600000",
    }
    for name, value in seconds.items():
        monkeypatch.setenv(f"RAY_{name}", value)


def swept(folder: Path, ray: str | None, most: int | None = None) -> list[CellResult]:
    base = load_preset("two_way").with_settings({"topic": "racism", "repetitions": 2, "rounds": 1, "llm": "oracle"})
    jobs = [SweepJob(cell, folder) for cell in sweep_cells(base, {"rounds": ("1", "2")}, range(2))]
    found = dict(run_cells(jobs, record, 2, Budget(calls=most), ray, lambda number: None, print))
    return [found[place] for place in range(len(jobs))]


def test_a_cluster_finds_the_same(tmp_path: Path) -> None:
    """The records of a sweep on Ray are those of worker processes, and the budget holds there too: 72 calls are needed."""
    stopped = [held.stopped for held in swept(tmp_path / "ray", "local", 50) if held.stopped]
    assert stopped
    assert all("--max-calls 50 is spent (50 calls" in why for why in stopped)
    assert [held.found for held in swept(tmp_path / "ray", "local")] == [
        held.found for held in swept(tmp_path / "here", None)
    ]


def test_a_key_travels_as_the_name_of_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers read the value where they run. Neither the folder of the sweep nor a log of Ray has it."""
    monkeypatch.setenv("SERVER_KEY_OF_MINE", CANARY)
    ray_files = Path(tempfile.mkdtemp(prefix="r"))  # a short path: Ray's sockets lie in it
    monkeypatch.setenv("RAY_TMPDIR", str(ray_files))
    with Loopback(lambda body, number: said("7")) as server:
        words = "sweep --scenario two_way --topic racism --repetitions 1 --rounds 1 --seeds 0:2 --no-qualify --cluster local"
        model = ["--llm", "openai:echo,key=SERVER_KEY_OF_MINE", "--base-url", server.url]
        code = run.main([*words.split(), "--workers", "2", *model, "--out", str(tmp_path / "sweep"), "--keep-going"])
    assert (code, server.keys) == (0, {f"Bearer {CANARY}"})
    written = [path for folder in (tmp_path, ray_files) for path in folder.rglob("*") if path.is_file()]
    assert any(path.name.startswith("raylet") for path in written)
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []
    assert any(b"SERVER_KEY_OF_MINE" in path.read_bytes() for path in written)
    shutil.rmtree(ray_files)


def test_a_cluster_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the local node timed out, and Ray's plain Exception was a traceback."""

    def slow(**options: object) -> None:
        raise Exception("The current node timed out during startup.\nThis could happen because ...")

    monkeypatch.setattr("ray.init", slow)
    with pytest.raises(UserError, match=r"no Ray cluster at local: The current node timed out during startup\.$"):
        run_on_ray(CellTask(record), [], 1, None, lambda number: None, print, "local").__next__()
