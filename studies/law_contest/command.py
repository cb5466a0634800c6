"""The command `run.py study fit-law`: which law of opinion change predicts a run best."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option, positive


def parser() -> Parser:
    """Return the options of `run.py study fit-law`."""
    options = Parser(
        "study fit-law",
        "Fit many laws of opinion change to each run, and rank the laws by their error on rooms not used "
        "for the fit. The report says which law the run supports, or that the run does not decide "
        "between laws (studies/law_contest/README.md).",
        "study fit-law runs/a",
        cli.out("RUN/laws"),
    )
    add_option(
        options, "RUN", "run folders with a survey after each round", path_options.recorded_run, name="runs", nargs="+"
    )
    about = (
        "laws to compare with the baselines: names of files in agents/mechanisms/, and ./FILE.py for a "
        "law of your own (default: every law of Parley)"
    )
    add_option(options, "--laws NAME,...", about, default="all")
    about = (
        "what agents respond to\ngrades: the messages that they read, graded by the rule-based speaker (default if only "
        "oracle or pocket speaks)\nattitudes: the attitude of the agent that spoke (default otherwise)"
    )
    add_option(options, "--heard", about, default="", choices=("grades", "attitudes"))
    add_option(
        options,
        "--draws N",
        "number of random samples of a law's parameters, which reflect the uncertainty of the fit in "
        "simulated populations",
        positive,
        default=200,
    )
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study fit-law RUN...`."""
    options = parser().parse_args(words)
    if options.out and len(options.runs) > 1:
        raise UserError(
            "--out is one folder: give one run with --out, or leave out --out and find the results in each run's folder"
        )
    from parley.analysis.report import disk_errors
    from parley.analysis.tables import load

    from .contest import choose_mechanisms
    from .report import contest, verdict_line, write

    for folder in options.runs:
        tables = load(folder)
        results = contest(tables, choose_mechanisms(options.laws.split(",")), options.heard, options.draws)
        for topic, (_, result) in results.items():
            print(f"{topic}: {verdict_line(result)}")
        out = options.out or (folder if folder.is_dir() else folder.parent) / "laws"
        with disk_errors(out, "give another folder with --out"):
            print_paths(**write(tables, results, out, options.heard))
    return 0
