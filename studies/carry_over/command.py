"""The command `run.py study carry-over`: the same people with their memory, without it, and with another person's."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import PLANNED, print_paths, print_plan, results_folder, run_continued
from parley.model import cli
from parley.model.arguments import budgets_from_args, scenario_from_args
from parley.model.cli import Parser


def parser() -> Parser:
    """Return the options of `run.py study carry-over`."""
    return Parser(
        "study carry-over",
        "Run a scenario with stages three times. Agents begin the last stage with their own memory, "
        "without memory, or with the memory of another agent of their party "
        "(studies/carry_over/README.md).",
        "study carry-over --llm oracle --repetitions 6",
        cli.scenario("two_topics"),
        *cli.debating("runs/carry-over-<time>"),
        cli.dry_run(PLANNED),
    )


def run(words: Sequence[str]) -> int:
    """Run `run.py study carry-over`."""
    options = parser().parse_args(words)
    from . import measures, report

    base, given = scenario_from_args(options)
    settings = measures.arms(base)
    if options.dry_run:
        return print_plan({arm: base.with_settings(changes) for arm, changes in settings.items()}, options)
    folder = results_folder(options, "carry-over")
    (budget,) = budgets_from_args(options, base)
    print_paths(folder=folder)
    runs, _ = run_continued(options, base, given, measures.study(base), list(measures.ARMS), folder, budget)
    print_paths(report=report.write(runs, folder))
    return 0
