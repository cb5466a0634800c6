"""The command `run.py study sheet`: reporting standards filled in from the folder of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option


def parser() -> Parser:
    """Return the options of `run.py study sheet`."""
    options = Parser(
        "study sheet",
        "Fill in the form of a reporting standard from the folder of a run (studies/sheets/README.md). A "
        "cell of the form shows evidence from the run with its source, or an answer of the author. A "
        "cell without evidence or answer is marked as not known.",
        "study sheet runs/a\nstudy sheet runs/a --form pimmur --answers answers.toml",
        cli.out("RUN/sheets"),
    )
    add_option(options, "RUN", "the folder of a run", path_options.recorded_run)
    about = "the form: pimmur, trails, odd, rat-rs, control, all, or a .toml file of your own"
    add_option(options, "--form NAME", about, default="all")
    about = "a .toml file with the answers of the author, a table for each form (default: none)"
    add_option(options, "--answers FILE", about, Path)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study sheet RUN`."""
    options = parser().parse_args(words)
    from parley.studies.sheets.forms import load_forms, read_answers
    from parley.studies.sheets.sheet import write_sheets

    forms = load_forms(options.form)
    author, answers = read_answers(options.answers, forms) if options.answers else ("", {})
    for page in write_sheets(options.run, forms, answers, author, options.out):
        print_paths(sheet=page)
    return 0
