"""`run.py study arguments` and `personalised`: debates that differ in the arguments, or in what is said of the opponent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from parley.analysis.commands.runs import conditions_parser, run_conditions
from parley.model.cli import Parser, add_option


def parser() -> Parser:
    """Return the options of `run.py study arguments`."""
    return conditions_parser(
        "arguments",
        "Let one agent, the convincer, argue with another agent, the skeptic. Measure how far each kind "
        "of argument moves the skeptic.",
    )


def run(words: Sequence[str]) -> int:
    """Run `run.py study arguments`."""
    options = parser().parse_args(words)
    from .arguments import conditions, write

    return run_conditions(options, "arguments", "persuasion", conditions, write)


def personalised_parser() -> Parser:
    """Return the options of `run.py study personalised`."""
    options = conditions_parser(
        "personalised",
        "Run debates in which the opponent is introduced as a person or as an AI, and in which debaters "
        "do or do not know each other's demographics.",
    )
    add_option(options, "--data FOLDER", "the folder with Salvi's table (docs/personas.md)", Path)
    return options


def personalised(words: Sequence[str]) -> int:
    """Run `run.py study personalised`."""
    options = personalised_parser().parse_args(words)
    from .personalised import CONDITIONS, write

    report = partial(write, data=options.data)
    return run_conditions(options, "personalised", "personalised", lambda base: CONDITIONS, report)
