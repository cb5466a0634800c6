"""The command `run.py report`: one HTML file about runs and studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.model import cli
from parley.model.cli import Parser, add_option


def report_parser() -> Parser:
    """Return the options of `run.py report`."""
    parser = Parser(
        "report",
        "Write one HTML file about runs and studies, with figures, tables, caveats and examples. The file can be shared alone.",
        "report runs/a runs/b --out both.html",
        cli.out("report.html in the first folder", "FILE"),
    )
    add_option(parser, "RUN", "folders of runs and studies", Path, name="runs", nargs="+")
    return parser


def report(words: Sequence[str]) -> int:
    """Run `run.py report RUN...`."""
    options = report_parser().parse_args(words)
    from parley.analysis.html_report import write

    print_paths(report=write(options.runs, options.out or options.runs[0] / "report.html"))
    return 0
