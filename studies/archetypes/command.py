"""`run.py study archetypes`."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import print_paths, results_folder, run_study
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import scenario_from_args
from parley.model.cli import Parser, add_option, natural


def parser() -> Parser:
    """Return the options of `run.py study archetypes`."""
    made = Parser(
        "study archetypes",
        "Run the same debates twice: once every agent answers each survey, and once agents of one kind "
        "share an answer. The report says how many model calls sharing saves, and how far the ratings of "
        "the two runs differ (studies/archetypes/README.md).",
        "study archetypes --llm oracle --size 10",
        cli.scenario("three_way"),
        *cli.debating("runs/archetypes-<time>"),
    )
    add_option(made, "--size N", "number of survey answers to sample per kind of agent", natural, default=20)
    return made


def run(words: Sequence[str]) -> int:
    """Run `run.py study archetypes`."""
    options = parser().parse_args(words)
    from parley.studies.archetypes import measures as study

    base, given = scenario_from_args(options)
    if base.surveys.survey == "never" or options.size < 2:
        raise UserError(
            "archetypes need surveys and several answers to share: give --set survey=rounds (or ends) and --size 2 or more"
        )
    folder, names = results_folder(options, "archetypes"), [study.ALL.replace(" ", "_"), study.SHARED]
    result = run_study(options, base, given, study.archetypes(base, options.size), names, folder)
    print(study.savings_headline(result))
    print_paths(report=study.write_savings(result, folder, base, options.size), figure=folder / "archetypes.png")
    return 0
