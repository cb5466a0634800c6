"""The command `run.py study consensus-phases`: measure a response curve, run groups, and compare them with theory."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from parley.analysis.commands.runs import conditions_parser, run_conditions
from parley.model.cli import Parser, add_option, amount, positive

BEGINS = ("alone", "for", "against")


def parser() -> Parser:
    """Return the options of `run.py study consensus-phases`."""
    options = conditions_parser(
        "consensus-phases",
        "Measure how often agents agree with a claim, depending on how many other agents agree. The "
        "report estimates conformity, bias and noise, and tests the predictions of a theory for groups "
        "of several sizes.",
        "studies/consensus_phases/README.md",
    )
    about = (
        "number of people in a room, or several numbers separated by commas; each size has its own curve (default: 3,8)"
    )
    add_option(options, "--sizes LIST", about, several(positive), default=(3, 8))
    about = "sampling temperatures of answers: one, or several separated by commas (default: 1)"
    add_option(options, "--temperatures LIST", about, several(amount), default=(1.0,))
    add_option(
        options, "--respondents N", "number of people whose answers make a curve (default: 40)", positive, default=40
    )
    about = "answers that people see in the first round: alone (none), for (all agree), against (all disagree) (default: all)"
    add_option(options, "--begins LIST", about, several(_begin), default=BEGINS)
    return options


def several(kind: Callable[[str], object]) -> Callable[[str], tuple[object, ...]]:
    """Return a reader of values with commas between them, each once."""

    def values(text: str) -> tuple[object, ...]:
        return tuple(dict.fromkeys(kind(part.strip()) for part in text.split(",")))

    return values


def _begin(text: str) -> str:
    if text not in BEGINS:
        raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(BEGINS)}")
    return text


def run(words: Sequence[str]) -> int:
    """Run `run.py study consensus-phases`."""
    options = parser().parse_args(words)
    from .report import Plan, conditions, write

    plan = Plan(options.sizes, options.temperatures, options.respondents, options.begins)
    return run_conditions(options, "consensus-phases", "consensus_phases", partial(conditions, plan=plan), write)
