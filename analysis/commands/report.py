"""The command `run.py report`: one HTML file about runs and studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, split_names
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
    add_option(parser, "--title TEXT", "title of the document; without it that of the run", str, "")
    add_option(parser, "--author TEXT", "author, named below the title", str, "")
    add_option(
        parser, "--figures KINDS", "write each run's figures in these formats, such as pdf,svg,png", split_names, ()
    )
    add_option(parser, "RUN", "folders of runs and studies", Path, name="runs", nargs="+")
    return parser


def report(words: Sequence[str]) -> int:
    """Run `run.py report RUN...`."""
    options = report_parser().parse_args(words)
    from parley.analysis.html_report import write
    from parley.analysis.run_report import draw_figures

    for run in options.runs if options.figures else ():
        print_paths(figures=draw_figures(run, options.figures))
    out = options.out or options.runs[0] / "report.html"
    print_paths(report=write(options.runs, out, options.title, options.author))
    return 0
