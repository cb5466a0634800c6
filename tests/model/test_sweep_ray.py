"""Sweeps on a Ray cluster (extra `[ray]`)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from measuring import record

from parley.llm.budget import Budget
from parley.model.scenario import load_preset
from parley.model.sweep.cell_runner import CellResult, SweepJob
from parley.model.sweep.design import sweep_cells
from parley.model.sweep.runner import run_cells

pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


def swept(folder: Path, ray: str | None, most: int | None = None) -> list[CellResult]:
    base = load_preset("two_way").with_settings({"topics": "racism", "repetitions": 2, "rounds": 1, "llm": "oracle"})
    jobs = [SweepJob(cell, folder) for cell in sweep_cells(base, {"rounds": ("1", "2")}, range(2))]
    found = dict(run_cells(jobs, record, 2, Budget(calls=most), ray, lambda number: None, print))
    return [found[place] for place in range(len(jobs))]


def test_a_cluster_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of a sweep on Ray are those of worker processes, and the budget holds there too: 72 calls are needed."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    stopped = [held.stopped for held in swept(tmp_path / "ray", "local", 50) if held.stopped]
    assert stopped
    assert all("--max-calls 50 is spent (50 calls" in why for why in stopped)
    assert [held.found for held in swept(tmp_path / "ray", "local")] == [
        held.found for held in swept(tmp_path / "here", None)
    ]
