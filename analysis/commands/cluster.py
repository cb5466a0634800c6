"""The command that writes a job file for a cluster with Slurm: `cluster-script`. The files are templates in job_files/."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from string import Template

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model.cli import Parser, add_option, natural, positive, program
from parley.model.files import write_whole

TEMPLATES = Path(__file__).with_name("job_files")
ARRAY, CLUSTER = "array", "cluster"
CHOSEN_THERE = {"--workers", "--cluster", "--part"}
"""Options of the command that the job file gives."""
TIME = re.compile(r"(?:\d+-)?\d+:\d\d:\d\d")


def cluster_script_parser() -> Parser:
    """Return the options of `run.py cluster-script`."""
    parser = Parser(
        "cluster-script",
        "Write a job file with which a Slurm cluster runs a command of Parley. A sweep runs as an array "
        "of jobs. Any command that runs debates can use a Ray cluster of several machines. Write the "
        "command after --, with an --out folder that all machines share (docs/sweeps.md).",
        "cluster-script job.sh --jobs 10 -- sweep --scenario two_way --llm oracle --vary rounds=2,5 --out runs/array\n"
        "cluster-script job.sh --kind cluster --jobs 4 --gpus 1 -- --scenario three_way --llm hf:MODEL --out runs/a",
    )
    add_option(parser, "FILE", "the job file to write", Path)
    add_option(
        parser,
        "WORDS",
        "after --: the command of Parley; its --out must be a folder that all machines share",
        nargs="*",
    )
    about = "array: each job runs a part of a sweep\ncluster: one job starts Ray on its machines, and runs the command there"
    add_option(parser, "--kind NAME", about, default=ARRAY, choices=(ARRAY, CLUSTER))
    add_option(parser, "--jobs N", "number of jobs of the array, or of machines of the cluster", positive, 4)
    add_option(
        parser, "--cpus N", "processor cores of each job or machine; each core runs one worker process", positive, 4
    )
    add_option(parser, "--gpus N", "GPUs of each job or machine", natural, 0)
    add_option(parser, "--memory N", "GB of memory of each job or machine", positive, 16)
    add_option(parser, "--time HH:MM:SS", "the maximum duration of a job", default="04:00:00")
    return parser


def cluster_script(words: Sequence[str]) -> int:
    """Run `run.py cluster-script FILE -- WORDS`."""
    cut = list(words).index("--") if "--" in words else len(words)
    options, command = cluster_script_parser().parse_args(words[:cut]), words[cut + 1 :]
    if not TIME.fullmatch(options.time):
        raise UserError(
            f"--time {options.time}: write hours, minutes and seconds, such as 04:00:00, or days before: 1-12:00:00"
        )
    interpreter = Path(sys.executable)
    start = [sys.executable, *(["-m", "parley"] if program() == "parley" else [str(Path(sys.argv[0]).resolve())])]
    print(_check_command(command, options.kind, start), end="")
    template = Template((TEMPLATES / f"{options.kind}.sh").read_text(encoding="utf-8"))
    text = template.substitute(
        file=options.file,
        command=shlex.join([*start, *command]),
        here=shlex.quote(str(Path.cwd())),
        ray=shlex.quote(str(interpreter.with_name("ray"))),
        jobs=options.jobs,
        others=options.jobs - 1,
        cpus=options.cpus,
        workers=options.jobs * (options.gpus or options.cpus),
        memory=options.memory,
        time=options.time,
        gpus=f" --gres=gpu:{options.gpus}" if options.gpus else "",
    )
    write_whole(options.file, text)
    print_paths(job=options.file, start=f"sbatch {shlex.quote(str(options.file))}")
    return 0


def _check_command(words: Sequence[str], kind: str, start: Sequence[str]) -> str:
    """Try a command with --dry-run, and return what it prints: its plan. Errors: UserError, with the line of the command."""
    if not words:
        raise UserError(
            "no command was given: write it after --, such as -- sweep --scenario two_way --llm oracle --out runs/array"
        )
    named = {word.partition("=")[0] for word in words}
    if kind == ARRAY and words[0] != "sweep":
        raise UserError("an array runs the parts of a sweep: give a sweep command after --, or add --kind cluster")
    if "--out" not in named:
        raise UserError(
            "the command after -- needs the folder that all machines share: add --out FOLDER to this command"
        )
    if chosen := sorted(named & CHOSEN_THERE):
        raise UserError(f"leave out {chosen[0]}, because the job file sets this option")
    where = ["--part", "1/2"] if kind == ARRAY else ["--workers", "2", "--cluster", "local"]
    trial = subprocess.run([*start, *words, *where, "--dry-run"], capture_output=True, text=True, check=False)
    if trial.returncode:
        raise UserError(f"the command after -- cannot run: {trial.stderr.strip().splitlines()[-1]}")
    return trial.stdout
