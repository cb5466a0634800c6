"""The command `run.py bets`: debaters bet in private on how well they do."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import conditions_parser, run_conditions
from parley.model.cli import Parser


def bets_parser() -> Parser:
    """Return the options of `run.py bets`."""
    return conditions_parser(
        "bets", "Let debaters bet in private that they win, against another debater and against their own copy."
    )


def bets(words: Sequence[str]) -> int:
    """Run `run.py bets`."""
    options = bets_parser().parse_args(words)
    from parley.analysis.studies.bets import CONDITIONS, write

    return run_conditions(options, "bets", "bets", lambda base: CONDITIONS, write)
