"""The command `run.py fit-law`: which law of opinion change predicts a run best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option, positive


def fit_law_parser() -> Parser:
    """Return the options of `run.py fit-law`."""
    parser = Parser(
        "fit-law",
        "Fit many laws of opinion change to each run, rank them by their error on rooms not used for the fit, and say which "
        "one the run supports, or that it cannot tell (docs/laws.md).",
        "fit-law runs/a",
        cli.out("RUN/laws"),
    )
    add_option(parser, "RUN", "run folders with a survey after each round", Path, name="runs", nargs="+")
    about = (
        "laws that take part besides the baselines: names of files in agents/mechanisms/, and ./FILE.py for one of your own "
        "(default: all, that is, every law of Parley)"
    )
    add_option(parser, "--laws NAME,...", about, default="all")
    about = (
        "what agents respond to\ngrades: the text they read, graded by the rule-based speaker (default if only oracle or pocket "
        "speaks)\nattitudes: the attitude of the agent that spoke (default otherwise)"
    )
    add_option(parser, "--heard", about, default="", choices=("grades", "attitudes"))
    add_option(parser, "--draws N", "number of draws of each law's numbers, for populations", positive, default=200)
    return parser


def fit_law(words: Sequence[str]) -> int:
    """Run `run.py fit-law RUN...`."""
    options = fit_law_parser().parse_args(words)
    if options.out and len(options.runs) > 1:
        raise UserError(
            "--out is one folder: give one run with it, or leave it out and find the results in each run's folder"
        )
    for run in options.runs:
        _fit_run(run, options.out, options.laws, options.heard, options.draws)
    return 0


def _fit_run(run: Path, out: Path | None, laws: str, heard: str, draws: int) -> None:
    """Fit all laws to one run; print the verdict of each topic and the paths."""
    from parley.analysis.law_contest.contest import choose_mechanisms
    from parley.analysis.law_contest.report import contest, verdict_line, write
    from parley.analysis.report import disk_errors
    from parley.analysis.tables import load

    tables = load(run)
    results = contest(tables, choose_mechanisms(laws.split(",")), heard, draws)
    for topic, (_, result) in results.items():
        print(f"{topic}: {verdict_line(result)}")
    folder = out or (run if run.is_dir() else run.parent) / "laws"
    with disk_errors(folder, "give another folder with --out"):
        paths = write(tables, results, folder, heard)
    print_paths(**paths)
