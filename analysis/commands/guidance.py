"""The command `run.py guidance`: statements of an official account, of several kinds."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import PLANNED, hold_all, print_paths, print_plan, results_folder
from parley.model import cli
from parley.model.arguments import budgets_from_args, scenario_from_args
from parley.model.cli import Parser, add_option
from parley.model.progress import bar


def guidance_parser() -> Parser:
    """Return the options of `run.py guidance`."""
    parser = Parser(
        "guidance",
        "Run the same people four times: without a statement of an official account, with an empty one, with facts, and with "
        "empathy. A judge scores how negative or positive posts are (docs/guidance.md).",
        "guidance --llm oracle,tone=4,empathic_tone=-1 --repetitions 6",
        cli.scenario("public_opinion"),
        *cli.debating("runs/guidance-<time>"),
        cli.dry_run(PLANNED),
    )
    add_option(parser, "--judge SPEC", "the model that scores posts (default: the model of --llm)")
    return parser


def guidance(words: Sequence[str]) -> int:
    """Run `run.py guidance`."""
    options = guidance_parser().parse_args(words)
    from parley.analysis.judging import VERDICTS, judge_by_rubric, open_judge
    from parley.analysis.studies import guidance as study
    from parley.llm.backends import in_society
    from parley.llm.journal import shared_ledger
    from parley.llm.router import open_all
    from parley.model.files import JOURNAL

    base, given = scenario_from_args(options)
    judge = in_society(options.judge or base.models.llm, base.subject.society)
    conditions = study.conditions(base)
    if options.dry_run:
        return print_plan(conditions, options, judge)
    scenarios, folder = study.guidance(base), results_folder(options, "guidance")
    print_paths(folder=folder)
    budget, judge_budget = budgets_from_args(options, base, judge)
    last = [path for name in study.CONDITIONS if (path := folder / name / JOURNAL).exists()][-1:]
    spent = [*((path, budget) for path in last), (folder / "judge" / VERDICTS, judge_budget)]
    ledger = shared_ledger(budget, spent)  # each run begins with the replies of the run before it
    models = open_all(base.models.llm, base.llm_by_party)
    budgets = [budget] * len(study.CONDITIONS)
    runs = hold_all(scenarios, study.CONDITIONS, folder, given, models, budgets, ledger, not options.no_qualify)
    seed = base.seed
    with open_judge(study.RUBRIC, judge, folder / "judge", bar, {"seed": seed}, judge_budget, ledger) as opened:
        scored = {name: judge_by_rubric(study.RUBRIC, tables, opened, seed) for name, tables in runs.items()}
    path = study.write(runs, scored, study.first_round(base), judge, folder)
    print_paths(report=path, figure=folder / "guidance.png")
    return 0
