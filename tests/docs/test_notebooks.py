"""The notebooks of docs/ run from their first cell to their last, and show in the file what they show then."""

from __future__ import annotations

import re
import resource
from base64 import b64decode
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pytest

from docs.notebooks import NOTEBOOKS, executed, results

MOST = 60
"""Seconds of processor time: what a newcomer waits for on a machine that does nothing else."""


def used() -> float:
    """Processor time of all kernels that have ended."""
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime


def execute(name: str, folder: Path) -> tuple[Any, float]:
    """A notebook with its outputs, and the processor time of its kernel, in a folder of its own."""
    before = used()
    return executed(NOTEBOOKS[name], folder), used() - before


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


@pytest.mark.thorough
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_in_under_a_minute(ran: dict[str, tuple[Any, float]], name: str) -> None:
    assert 1 < ran[name][1] < MOST


@pytest.mark.thorough
@pytest.mark.parametrize("last", ['run.plot("attitudes")', "comparison.plot()", "sweep.plot()"])
def test_figures_are_shown_inline(ran: dict[str, tuple[Any, float]], last: str) -> None:
    """A figure that a cell returns is seen, whatever backend Matplotlib has, and once."""
    shown = [one for one in outputs(ran["first_steps"][0], last) if "image/png" in one.get("data", {})]
    assert len(shown) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_nothing_warns_and_progress_is_quiet(ran: dict[str, tuple[Any, float]], name: str) -> None:
    """No warning of tqdm, ipywidgets, Matplotlib or pandas stands between a newcomer and the first figure."""
    told = [one for cell in ran[name][0].cells for one in cell.get("outputs", ())]
    errors = "".join(one["text"] for one in told if one.output_type == "stream" and one.name == "stderr")
    assert "Warning" not in errors


@pytest.mark.thorough
def test_a_run_shows_itself(ran: dict[str, tuple[Any, float]]) -> None:
    cells = outputs(ran["first_steps"][0], "run")
    (shown,) = [one for one in cells if "text/html" in one.get("data", {}) and "Tables:" in str(one)]
    assert "three_way on" in shown["data"]["text/html"]


@pytest.mark.thorough
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


def shapes(notebook: Any) -> list[list[str]]:
    """The kinds of output of each cell of code, and the size of each table in rows and columns."""
    return [
        [f"{kind} {shape(shown)}" for output in cell.outputs for kind, shown in sorted(output.data.items())]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def shape(shown: str) -> str:
    return f"{shown.count('<tr')} {shown.count('<th')} {shown.count('<td')}" if "<table" in shown else ""


@pytest.mark.thorough
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_file_shows_what_the_notebook_shows(ran: dict[str, tuple[Any, float]], name: str) -> None:
    """On a code host a reader sees the file and runs nothing. `python docs/notebooks.py` stores the outputs anew."""
    assert shapes(nbformat.read(NOTEBOOKS[name], as_version=4)) == shapes(results(deepcopy(ran[name][0])))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_outputs_are_small_and_name_no_folder_of_a_machine(name: str) -> None:
    """A figure is 60 kB at most; a path of whoever stored it means nothing to a reader."""
    shown = [
        output for cell in nbformat.read(NOTEBOOKS[name], as_version=4).cells for output in cell.get("outputs", ())
    ]
    assert len(shown) > 4
    assert max(len(b64decode(output.data.get("image/png", ""))) for output in shown) <= 60_000
    texts = "".join(text for output in shown for kind, text in output.data.items() if kind.startswith("text/"))
    assert re.findall(r"(?<![\w./<])/(?:home|tmp|root|work|usr|Users)\b", texts) == []
