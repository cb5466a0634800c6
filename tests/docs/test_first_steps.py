"""The notebook docs/first_steps.ipynb runs from its first cell to its last, and is committed without outputs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "first_steps.ipynb"
MOST = 60
"""Seconds: what a newcomer waits for."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, float]:
    """The notebook with its outputs, and how long it took, in a folder of its own."""
    notebook, began = nbformat.read(NOTEBOOK, as_version=4), time.monotonic()
    here = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=here).execute()
    return notebook, time.monotonic() - began


def outputs(notebook: Any, last: str) -> list[Any]:
    """The outputs of the cell whose last line is this."""
    cells = [one for one in notebook.cells if one.cell_type == "code"]
    (found,) = [one for one in cells if one.source.splitlines()[-1] == last]
    return list(found.outputs)


def test_it_runs_in_under_a_minute(ran: tuple[Any, float]) -> None:
    assert ran[1] < MOST


@pytest.mark.parametrize("last", ['run.plot("attitudes")', "comparison.plot()", "sweep.plot()"])
def test_figures_are_shown_inline(ran: tuple[Any, float], last: str) -> None:
    """A figure that a cell returns is seen, whatever backend Matplotlib has, and once."""
    shown = [one for one in outputs(ran[0], last) if "image/png" in one.get("data", {})]
    assert len(shown) == 1


def test_nothing_warns_and_progress_is_quiet(ran: tuple[Any, float]) -> None:
    """No warning of tqdm, ipywidgets, Matplotlib or pandas stands between a newcomer and the first figure."""
    told = [one for cell in ran[0].cells for one in cell.get("outputs", ())]
    errors = "".join(one["text"] for one in told if one.output_type == "stream" and one.name == "stderr")
    assert "Warning" not in errors


def test_a_run_shows_itself(ran: tuple[Any, float]) -> None:
    (shown,) = [one for one in outputs(ran[0], "run") if "text/html" in one.get("data", {}) and "Tables:" in str(one)]
    assert "three_way on" in shown["data"]["text/html"]


def test_it_is_committed_without_outputs() -> None:
    """A figure in the file would be of another version of the code."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells if cell.cell_type == "code")
