"""docs/howto.md: a reader copies a block into a shell, and gets what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
FIRST, *TASKS = re.split(r"^## \.\.\. ", PAGE, flags=re.M)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
BLOCKS = {task.splitlines()[0]: BLOCK.findall(task) for task in TASKS}
IN_SHELL = {task: code for task, [(language, code), *_] in BLOCKS.items() if language == "sh"}
IN_R = {task: code for task, [(language, code), *_] in BLOCKS.items() if language == "r"}
GAINED = {
    "debate a topic of my own": "summary  runs/cars/summary.md",
    "debate with people of my own": "summary  runs/mine/summary.md",
    "debate in a country of my own": "summary  runs/mycountry/summary.md",
    "use GPT-4o, with a limit on cost": "cost about $",
    "continue a run that stopped": "from the journal",
    "compare three models": "15 of 15 are finished",
    "cite Parley": '"revision":',
    "compute a number of my own": "agreed_low",
    "run a network of 1,000 agents": "1,000 agents and 1 reference room",
    "run a sweep on a cluster": "12 of 12 are finished",
    "know how far opinions drift": "drift_low",
}
"""What a block prints, among other lines."""
STOPPED = {"continue a run that stopped": 1}
"""Lines that say why a command stopped, where the page says that it does."""
SBATCH = """#!/bin/sh
for SLURM_ARRAY_TASK_ID in 1 3; do export SLURM_ARRAY_TASK_ID; sh -c "$3"; done
"""
"""A scheduler that starts two jobs of the array; the others died."""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a reader has copied the first block of the page."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "run.py").symlink_to(ROOT / "run.py")
    (folder / "bin").mkdir()
    script(folder / "bin" / "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "bin" / "parley").symlink_to(ROOT)
    script(folder / "bin" / "sbatch", SBATCH)
    ((_, code),) = BLOCK.findall(FIRST)
    assert "summary  runs/a/summary.md" in copied(folder, code).stdout
    return folder


def script(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def copied(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """What a block prints in a shell."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(folder / "bin"), "MPLBACKEND": "agg"}
    return subprocess.run(
        ["sh", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_the_page_is_short_and_each_task_has_one_block() -> None:
    assert len(PAGE.split()) <= 900
    assert [task for task, blocks in BLOCKS.items() if len(blocks) != 1] == []
    assert set(GAINED) == set(IN_SHELL)
    assert len(IN_R) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("task", IN_SHELL)
def test_a_block_does_what_the_page_says(reader: Path, task: str) -> None:
    done = copied(reader, IN_SHELL[task])
    assert done.returncode == 0, done.stderr
    assert GAINED[task] in done.stdout
    assert len(re.findall(r"^run\.py: ", done.stderr, re.M)) == STOPPED.get(task, 0), done.stderr


@pytest.mark.thorough
def test_the_block_of_r_reads_what_is_there(reader: Path) -> None:
    """R runs it where there is R; its file, its columns and the JSON in a cell are looked at in any case."""
    (code,) = IN_R.values()
    (file,) = re.findall(r'read_parquet\("([^"]+)"\)', code)
    table = pd.read_parquet(reader / file)
    assert {"attitude", "topic", "party", "round", "probabilities", "reason"} <= set(table.columns)
    shares = [json.loads(cell) for cell in table["probabilities"].dropna()]
    assert {len(row) for row in shares} == {11}
    assert all(abs(sum(row) - 1) < 1e-9 for row in shares)
    if shutil.which("Rscript"):
        (reader / "block.R").write_text(code, encoding="utf-8")
        assert "attitude" in copied(reader, "Rscript block.R").stdout
