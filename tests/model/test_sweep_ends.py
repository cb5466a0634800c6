"""How a sweep ends early: by Ctrl-C, in one line, to be gone on with; before a model that is not there, after a few cells."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from data_checks import check_each

import run

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
DESIGN = [
    "sweep",
    "--scenario",
    "two_way",
    "--topic",
    "racism",
    "--llm",
    "oracle",
    "--seeds",
    "0:3",
    "--repetitions",
    "15",
]
PATIENCE = 60.0


def begun(folder: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a cell has asked something."""
    until = time.monotonic() + PATIENCE
    while not list(folder.glob("cells/*/*/record.partial.jsonl")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


def test_ctrl_c_ends_in_one_line_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """The whole process group is told, as a terminal does: no traceback, exit code 130, and all cells in the end."""
    folder = tmp_path / "sweep"
    command = [sys.executable, str(ROOT / "run.py"), *DESIGN, "--workers", "2", "--out", str(folder)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores Ctrl-C
    )  # fmt: skip
    begun(folder, process)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, told
    lines = [line for line in told.splitlines() if line.strip()]
    assert len(lines) == 1, told
    assert lines[0].startswith("run.py: interrupted. Every answer that came in is saved: repeat the command")
    assert run.main([*DESIGN, "--workers", "1", "--out", str(folder)]) == 0
    assert len(list(folder.glob("cells/*/*/record.jsonl"))) == 3


def closed() -> str:
    """An address at which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/v1"


def test_a_model_that_is_not_there_ends_a_sweep_after_three_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that says what is wrong; the cells that were not tried are in the table with that reason, and no numbers."""
    command = [
        "sweep",
        "--scenario",
        "two_way",
        "--topic",
        "racism",
        "--seeds",
        "0:7",
        "--workers",
        "1",
        "--out",
        str(tmp_path),
    ]
    gone = ["--llm", "openai:echo", "--base-url", closed()]
    assert run.main([*command, *gone]) == 2  # the questions before the first cell find no server
    assert "check that the server is running" in capsys.readouterr().err
    assert not (tmp_path / "cells.csv").exists()
    assert run.main([*command, *gone, "--no-qualify"]) == 2
    told = capsys.readouterr()
    assert len([line for line in told.err.splitlines() if line.strip()]) == 1
    assert "3 cells in a row had no readable answer, so the sweep stopped: http://127.0.0.1" in told.err
    assert "0 of 7 are finished" in told.out
    rows = (tmp_path / "cells.csv").read_text(encoding="utf-8")
    assert rows.count("not tried: the cells before this one") == 4
    assert rows.count(" does not answer") == 3


@pytest.mark.parametrize("command", [["--scenario", "network"], ["study", "intervene", "--scenario", "network"]])
def test_a_graph_that_does_not_fit_leaves_no_folder(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be held is told before anything is made: a labelled folder would refuse the mended command."""
    graph, out = tmp_path / "graph.txt", tmp_path / "out"
    graph.write_text("a b\nb c\n", encoding="utf-8")
    given = ["--llm", "oracle", "--set", f"graph=file,path={graph}", "--set", "size=4", "--out", str(out)]
    more = ["--intervene", "mute round=1"] if "intervene" in command else []
    assert run.main([*command, *given, *more]) == 2
    assert "has 3 nodes, but there are 4 agents: set size=3" in capsys.readouterr().err
    assert not out.exists()


def test_nor_does_a_sweep_over_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a varied size too."""
    graph, out = tmp_path / "graph.txt", tmp_path / "out"
    graph.write_text("a b\nb c\n", encoding="utf-8")
    given = [
        "--llm",
        "oracle",
        "--set",
        f"graph=file,path={graph}",
        "--vary",
        "size=3,4",
        "--set",
        "rounds=1",
        "--out",
        str(out),
    ]
    assert run.main(["sweep", "--scenario", "network", *given]) == 2
    assert "has 3 nodes, but there are 4 agents" in capsys.readouterr().err
    assert not out.exists()


def test_a_complete_graph_has_all_links_in_order() -> None:
    """The short way gives what the long one gave: both ways, sorted."""
    from random import Random

    from parley.environments.graphs import Complete, Graph

    seats = ("republican",) * 9
    assert Complete().pairs(seats, Random(1)) == Graph.pairs(Complete(), seats, Random(1))
    assert len(Complete().pairs(seats, Random(1))) == 72


BUDGETS = {
    "intervene": ["study", "intervene", "--llm", "oracle", "--topic", "racism", "--repetitions", "1"],
    "structured": [
        "study",
        "structured",
        "closing",
        "--llm",
        "oracle",
        "--topic",
        "racism",
        "--repetitions",
        "1",
        "--rounds",
        "3",
    ],
    "validate": ["study", "validate", "--llm", "oracle", "--judge", "oracle", "--personas", "simple"],
}


@check_each("name", BUDGETS)
def test_a_budget_stops_a_study_and_the_same_command_goes_on(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over all of its folders and sittings: not one call more than allowed; raised, it asks only the rest."""
    command = [*BUDGETS[name], "--out", str(tmp_path)]
    assert run.main([*command, "--max-calls", "12"]) == 2
    assert "the budget --max-calls 12 is spent (12 calls" in capsys.readouterr().err
    assert asked(tmp_path) == 12
    assert run.main([*command, "--max-calls", "20"]) == 2
    assert "spent (20 calls" in capsys.readouterr().err
    assert asked(tmp_path) == 20
    assert run.main([*command, "--max-calls", "5000"]) == 0
    whole = asked(tmp_path)
    assert run.main([*command, "--max-calls", "1"]) == 0, "what is finished needs no budget"
    assert asked(tmp_path) == whole


def asked(folder: Path) -> int:
    """Calls made in all sittings of all journals."""
    import sqlite3
    from contextlib import closing

    count = 0
    for path in folder.rglob("*.sqlite"):
        with closing(sqlite3.connect(path)) as database:
            count += database.execute("SELECT TOTAL(asked) FROM sittings").fetchone()[0]
            known = database.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
            assert json.loads(known[0])
    return int(count)


def test_a_judge_has_a_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same limits, by the same words."""
    held = tmp_path / "run"
    assert (
        run.main(
            ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--llm", "oracle", "--out", str(held)]
        )
        == 0
    )
    for rubric in ((), ("--rubric", "sentiment")):
        given = ["study", "judge", str(held), *rubric, "--llm", "oracle"]
        assert run.main([*given, "--max-calls", "5"]) == 2
        assert "the budget --max-calls 5 is spent" in capsys.readouterr().err
        assert run.main(given) == 0
    assert run.main(["study", "judge", str(held), "--llm", "openai:nobody-prices-this", "--max-cost", "1"]) == 2
    assert "add --price IN,OUT" in capsys.readouterr().err


def test_workers_take_the_code_that_they_were_started_from(tmp_path: Path) -> None:
    """With two checkouts and one installation they took the installed one; and any folder `model` where one stands."""
    decoy = tmp_path / "model"
    decoy.mkdir()
    (decoy / "__init__.py").write_text("raise SystemExit('another model')\n", encoding="utf-8")
    design = "--scenario two_way --llm oracle --topic racism --repetitions 1 --rounds 0 --seeds 0:2 --workers 2"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, str(ROOT / "run.py"), "sweep", *design.split(), "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, check=False, timeout=120)
    assert "2 of 2 are finished" in done.stdout, done.stderr
