"""The command `run.py analyse`: compare conditions in a table of scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder
from parley.model import cli
from parley.model.cli import Parser, add_option


def analyse_parser() -> Parser:
    """Return the options of `run.py analyse`."""
    parser = Parser(
        "analyse",
        "Compare conditions in a CSV of scores with the columns topic, condition, run, agent, statement and score (1-7).",
        "analyse scores.csv --out runs/compared",
        cli.out("runs/analyse-<time>"),
    )
    add_option(parser, "FILE", "the CSV of scores", Path)
    about = "run: test differences between runs (default)\nucl: the procedure of the UCL study, which smooths scores"
    add_option(parser, "--mode", about, default="run", choices=("run", "ucl"))
    about = "do not smooth the scores, because the file has smoothed ones (scores in thirds are recognised without this option)"
    add_option(parser, "--smoothed", about, action="store_true")
    return parser


def analyse(words: Sequence[str]) -> int:
    """Run `run.py analyse FILE`."""
    options = analyse_parser().parse_args(words)
    from parley.analysis.judge_quality import warning_of
    from parley.analysis.scores.report import ReportedTest, write
    from parley.analysis.scores.table import read
    from parley.analysis.scores.ucl import is_smoothed

    scores, folder = read(options.file), results_folder(options, "analyse")
    warning = warning_of(options.file.parent)
    notes = ReportedTest([f"> {warning}"] if warning else [])
    report = write(scores, folder, options.mode == "ucl", options.file.name, told=notes, already=options.smoothed)
    if warning:
        print(warning.replace("**", ""))
    if options.smoothed or is_smoothed(scores):
        print("note     the scores are smoothed already; they are not smoothed again")
    print_paths(report=report, figure=folder / "scores.png")
    return 0
