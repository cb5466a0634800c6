"""`run.py study guidance`: statements of an official account, of several kinds."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import PLANNED, judged_runs, print_paths, print_plan, results_folder
from parley.model import cli
from parley.model.arguments import scenario_from_args
from parley.model.cli import Parser, add_option


def parser() -> Parser:
    """Return the options of `run.py study guidance`."""
    options = Parser(
        "study guidance",
        "Run a scenario four times: without a statement from an official account, with an empty "
        "statement, with a statement of facts, and with a statement of empathy. A judge scores how "
        "negative or positive posts are (studies/guidance/README.md).",
        "study guidance --llm oracle,tone=4,empathic_tone=-1 --repetitions 6",
        cli.scenario("public_opinion"),
        *cli.debating("runs/guidance-<time>"),
        cli.dry_run(PLANNED),
    )
    add_option(options, "--judge SPEC", "the model that scores posts (default: the model of --llm)")
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study guidance`."""
    options = parser().parse_args(words)
    from parley.analysis.judging import judge_by_rubric
    from parley.llm.backends import in_society

    from . import report

    base, given = scenario_from_args(options)
    judge = in_society(options.judge or base.models.llm, base.subject.society)
    conditions = report.conditions(base)
    if options.dry_run:
        return print_plan(conditions, options, judge)
    study, folder = report.guidance(base), results_folder(options, "guidance")
    with judged_runs(options, base, given, study, report.CONDITIONS, folder, judge, report.RUBRIC) as (runs, opened):
        scored = {name: judge_by_rubric(report.RUBRIC, tables, opened, base.seed) for name, tables in runs.items()}
    path = report.write(runs, scored, report.first_round(base), judge, folder)
    print_paths(report=path, figure=folder / "guidance.png")
    return 0
