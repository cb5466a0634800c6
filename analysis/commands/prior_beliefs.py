"""The command `run.py prior-beliefs`: debaters argue before a judge, for their own belief or against it."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import conditions_parser, run_conditions
from parley.model.cli import Parser


def prior_beliefs_parser() -> Parser:
    """Return the options of `run.py prior-beliefs`."""
    return conditions_parser(
        "prior-beliefs",
        "Run debates before a judge in which debaters argue for their own belief or against it, in turn or at once.",
    )


def prior_beliefs(words: Sequence[str]) -> int:
    """Run `run.py prior-beliefs`."""
    options = prior_beliefs_parser().parse_args(words)
    from parley.analysis.studies.prior_beliefs import CONDITIONS, write

    return run_conditions(options, "prior-beliefs", "prior_beliefs", lambda base: CONDITIONS, write)
