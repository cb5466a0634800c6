"""The command `run.py study herding`: people choose one after another, with and without a planner."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import conditions_parser, run_conditions
from parley.model.cli import Parser


def parser() -> Parser:
    """Return the options of `run.py study herding`."""
    return conditions_parser(
        "herding",
        "Let people choose between two options one after another. In some conditions, a planner sets how precise "
        "people's private signals are. The report compares people with ideal Bayesian choosers.",
    )


def run(words: Sequence[str]) -> int:
    """Run `run.py study herding`."""
    options = parser().parse_args(words)
    from .report import conditions, write

    return run_conditions(options, "herding", "herding", conditions, write)
