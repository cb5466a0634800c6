"""The notebooks of docs/ run from their first cell to their last, and are committed without outputs."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

pytestmark = pytest.mark.thorough

NOTEBOOKS = {path.stem: path for path in sorted((Path(__file__).parents[2] / "docs").glob("*.ipynb"))}
MOST = 60
"""Seconds of processor time: what a newcomer waits for on a machine that does nothing else."""


def used() -> float:
    """Processor time of all kernels that have ended."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime


def execute(name: str, folder: Path) -> tuple[Any, float]:
    """A notebook with its outputs, and the processor time of its kernel, in a folder of its own."""
    notebook, before = nbformat.read(NOTEBOOKS[name], as_version=4), used()
    here = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=here).execute()
    return notebook, used() - before


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, float]]:
    return {name: execute(name, tmp_path_factory.mktemp(name)) for name in NOTEBOOKS}


def outputs(notebook: Any, last: str) -> list[Any]:
    """The outputs of the cell whose last line is this."""
    cells = [one for one in notebook.cells if one.cell_type == "code"]
    (found,) = [one for one in cells if one.source.splitlines()[-1] == last]
    return list(found.outputs)


def plain(notebook: Any, last: str) -> str:
    """What the cell shows as text."""
    (shown,) = [one for one in outputs(notebook, last) if "text/plain" in one.get("data", {})]
    return str(shown["data"]["text/plain"])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_in_under_a_minute(ran: dict[str, tuple[Any, float]], name: str) -> None:
    assert 1 < ran[name][1] < MOST


@pytest.mark.parametrize("last", ['run.plot("attitudes")', "comparison.plot()", "sweep.plot()"])
def test_figures_are_shown_inline(ran: dict[str, tuple[Any, float]], last: str) -> None:
    """A figure that a cell returns is seen, whatever backend Matplotlib has, and once."""
    shown = [one for one in outputs(ran["first_steps"][0], last) if "image/png" in one.get("data", {})]
    assert len(shown) == 1


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_nothing_warns_and_progress_is_quiet(ran: dict[str, tuple[Any, float]], name: str) -> None:
    """No warning of tqdm, ipywidgets, Matplotlib or pandas stands between a newcomer and the first figure."""
    told = [one for cell in ran[name][0].cells for one in cell.get("outputs", ())]
    errors = "".join(one["text"] for one in told if one.output_type == "stream" and one.name == "stderr")
    assert "Warning" not in errors


def test_a_run_shows_itself(ran: dict[str, tuple[Any, float]]) -> None:
    cells = outputs(ran["first_steps"][0], "run")
    (shown,) = [one for one in cells if "text/html" in one.get("data", {}) and "Tables:" in str(one)]
    assert "three_way on" in shown["data"]["text/html"]


def test_the_equivalences_are_what_the_text_says(ran: dict[str, tuple[Any, float]]) -> None:
    """The table has groups enough for an interval; each step of the chain is seen; one turned ballot moves two rules."""
    notebook = ran["equivalences"][0]
    found = plain(notebook, 'chain.value_counts().rename("rows").reset_index()').split("\n")[1:]
    rows = [tuple(map(float, line.split()[1:5])) for line in found]
    assert {(0, 0, 1, 1), (0, 0, 0, 1), (1, 1, 1, 1)} <= set(rows)
    interval = plain(
        notebook, 'table.loc[("one", "own - lot"), ["same_choice", "same_choice_low", "same_choice_high"]]'
    )
    assert "NaN" not in interval
    assert float(interval.split("same_choice_low")[1].split()[0]) > 0
    turned = plain(notebook, "choices(poll, poll.ballots), choices(poll, {**poll.ballots, **turned})")
    assert (turned.count(": 0"), turned.count("'approval': 1"), turned.count("'maximin': 1")) == (12, 1, 1)
    assert "same_choice=1.0" in plain(notebook, 'outcomes(poll, turned, choices(poll, poll.ballots))["bo"]')


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_committed_without_outputs(name: str) -> None:
    """A figure in the file would be of another version of the code."""
    cells = nbformat.read(NOTEBOOKS[name], as_version=4).cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells if cell.cell_type == "code")
