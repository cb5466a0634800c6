"""The command `run.py control`: check that a run shows what its scenario fixes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.model import cli
from parley.model.cli import Parser, add_option, amount

TOLERANCE = 1.0


def parser() -> Parser:
    """Return the options of `run.py control`."""
    options = Parser(
        "control",
        "Compare everything that a scenario fixes (people, traits, links, activity, interventions) with what its run shows, and "
        "check whether ratings depend on the attributes of agents (docs/control.md). No model is asked.",
        "control runs/a",
        cli.out("RUN/control"),
    )
    add_option(options, "RUN", "a run folder", Path)
    about = "verdicts.csv written by run.py judge: also check the stance of lines (default: ratings only)"
    add_option(options, "--verdicts FILE", about, Path)
    about = f"points of 10 below which an effect of an attribute counts as none (default: {TOLERANCE:g})"
    add_option(options, "--tolerance POINTS", about, amount, default=TOLERANCE)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py control RUN`. The exit status is 1 if something is not kept."""
    options = parser().parse_args(words)
    from parley.studies.control.items import BROKEN
    from parley.studies.control.report import write

    folder = options.out or (options.run if options.run.is_dir() else options.run.parent) / "control"
    report, line = write(options.run, folder, options.verdicts, options.tolerance)
    print(line)
    print_paths(report=report)
    return int(f" 0 {BROKEN}" not in line)
