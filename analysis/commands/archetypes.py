"""The command `run.py archetypes`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import scenario_from_args, study_budgets
from parley.model.cli import Parser, add_option, natural


def archetypes_parser() -> Parser:
    """The options of `run.py archetypes`."""
    parser = Parser(
        "archetypes",
        "Run the same debates twice: once asking every agent each survey, once sharing answers among agents of one kind. Reports "
        "how many calls that saves and how far off the ratings are (docs/savings.md).",
        "archetypes --llm oracle --size 10",
        cli.scenario("three_way"),
        *cli.debating("runs/archetypes-<time>"),
    )
    add_option(parser, "--size N", "answers per kind of agent", natural, default=20)
    return parser


def archetypes(arguments: Sequence[str]) -> int:
    """`run.py archetypes`: the same debates with everybody asked and with shared answers."""
    options = archetypes_parser().parse_args(arguments)
    from parley.analysis.commands.runs import hold_all
    from parley.analysis.studies.answer_sharing import ALL, SHARED, savings_headline, write_savings
    from parley.analysis.studies.answer_sharing import archetypes as study

    base, given = scenario_from_args(options)
    if base.surveys.survey == "never" or options.size < 2:
        raise UserError("archetypes share answers to surveys: there have to be surveys, and a --size of at least 2")
    folder = options.out or Path("runs") / f"archetypes-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {folder}", flush=True)
    names = [ALL.replace(" ", "_"), SHARED]
    limits = study_budgets(options, base, folder, names)
    found = hold_all(study(base, options.size), names, folder, given, None, *limits)
    print(
        f"{savings_headline(found)}\nreport   {write_savings(found, folder, base, options.size)}\nfigure "
        f"  {folder / 'archetypes.png'}"
    )
    return 0
