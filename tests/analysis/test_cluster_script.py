"""Job files for Slurm: a shell can read them, and the array of a sweep gives the tables of one sweep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import run
from parley.llm.errors import UserError

RUN = str(Path(run.__file__))
SWEEP = (
    "sweep --scenario two_way --llm oracle --topic racism --repetitions 1 --vary rounds=1,2 --seeds 0:2 --no-qualify"
)


@pytest.fixture(autouse=True)
def _started_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [RUN])


@pytest.mark.thorough
def test_the_jobs_of_an_array_and_the_last_command_give_the_sweep(tmp_path: Path) -> None:
    """Each job as Slurm starts it, then the command of the file's head: cells.csv as of one sweep, byte for byte."""
    job = tmp_path / "job.sh"
    words = [*SWEEP.split(), "--out", str(tmp_path / "array")]
    assert run.main(["cluster-script", str(job), "--jobs", "2", "--cpus", "1", "--", *words]) == 0
    for number in ("1", "2"):
        subprocess.run(["sh", str(job)], env={"SLURM_ARRAY_TASK_ID": number, "PATH": "/bin:/usr/bin"}, check=True)
    (last,) = [line.strip("# ") for line in job.read_text().splitlines() if line.startswith("#   ")]
    subprocess.run(["sh", "-c", last], check=True)
    assert run.main([*SWEEP.split(), "--out", str(tmp_path / "whole"), "--workers", "1"]) == 0
    for table in ("cells.csv",):
        assert (tmp_path / "array" / table).read_bytes() == (tmp_path / "whole" / table).read_bytes()


def test_a_cluster_of_several_machines(tmp_path: Path) -> None:
    """A shell can read the file; each machine has its cores and GPUs, and there is a worker for each GPU."""
    job, words = tmp_path / "job.sh", ["--scenario", "two_way", "--llm", "oracle", "--no-qualify", "--out", "shared"]
    assert run.main(f"cluster-script {job} --kind cluster --jobs 3 --gpus 2 --time 1-00:00:00 --".split() + words) == 0
    subprocess.run(["sh", "-n", str(job)], check=True)
    text = job.read_text()
    assert "#SBATCH --nodes=3 --ntasks-per-node=1 --cpus-per-task=4 --mem=16G --time=1-00:00:00 --gres=gpu:2" in text
    assert "--out shared --workers 6 --cluster auto" in text


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("", "no command was given"),
        ("-- sweep --scenario two_way", "add --out FOLDER"),
        ("-- --scenario two_way --out a", "an array runs the parts of a sweep"),
        ("-- sweep --scenario two_way --out a --workers 3", "leave out --workers"),
        ("-- sweep --scenario two_wey --out a", "the command after -- cannot run: .*two_way"),
        ("--kind cluster -- qualify oracle --out a", "the command after -- cannot run"),
        ("--time soon -- sweep --out a", "write hours, minutes and seconds"),
    ],
)
def test_a_wrong_command_is_refused_before_a_cluster_sees_it(tmp_path: Path, words: str, wrong: str) -> None:
    """In one line, and no file is written."""
    job = tmp_path / "job.sh"
    from parley.analysis.commands.cluster import cluster_script

    with pytest.raises(UserError, match=wrong):
        cluster_script([str(job), *words.split()])
    assert not job.exists()
