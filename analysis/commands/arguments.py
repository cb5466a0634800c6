"""The command `run.py arguments`: how far each kind of argument moves a skeptic."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import conditions_parser, run_conditions
from parley.model.cli import Parser


def arguments_parser() -> Parser:
    """Return the options of `run.py arguments`."""
    return conditions_parser(
        "arguments", "Measure how far a skeptic moves, by the kind of argument that a convincer uses."
    )


def arguments(words: Sequence[str]) -> int:
    """Run `run.py arguments`."""
    options = arguments_parser().parse_args(words)
    from parley.analysis.studies.arguments import conditions, write

    return run_conditions(options, "arguments", "persuasion", conditions, write)
