"""The command `run.py study raters`: how severe and how reliable raters are, and what is left without their errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option


def parser() -> Parser:
    """Return the options of `run.py study raters`."""
    options = Parser(
        "study raters",
        "Measure the severity and the error of each rater, a person or a judge who scored or coded "
        "items. The report corrects the mean score and the shares of categories for the raters' errors "
        "(studies/raters/README.md).",
        "study raters codes.csv",
        cli.out("FILE without .csv"),
    )
    add_option(options, "FILE", "a CSV with the columns item, rater, and score, category or both", Path)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study raters FILE`."""
    options = parser().parse_args(words)
    from parley.studies.raters.report import read_ratings, write_raters

    table = read_ratings(options.file)
    print_paths(report=write_raters(table, options.out or path_options.folder_beside(options.file)))
    return 0
