"""The command `run.py honesty`: the same conversation in a neutral frame, for a reward, under pressure, before an audience."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import PLANNED, hold_all, print_paths, print_plan, results_folder
from parley.model import cli
from parley.model.arguments import budgets_from_args, scenario_from_args
from parley.model.cli import Parser, add_option
from parley.model.progress import bar


def parser() -> Parser:
    """Return the options of `run.py honesty`."""
    parser = Parser(
        "honesty",
        "Run the same conversation in a neutral frame (twice), for a reward, under an order, under threat of exclusion, and "
        "before an audience. A judge grades the lines, and the report compares them with private ratings (docs/honesty.md).",
        "honesty --llm oracle,tact=reward:2 --repetitions 5",
        cli.scenario("honesty"),
        *cli.debating("runs/honesty-<time>"),
        cli.dry_run(PLANNED),
    )
    add_option(parser, "--judge SPEC", "the model that grades lines (default: the model of --llm)")
    add_option(parser, "--lines FILE", "CSV of your own lines of known grade: topic, text, grade (0-10)", Path)
    return parser


def run(words: Sequence[str]) -> int:
    """Run `run.py honesty`."""
    options = parser().parse_args(words)
    from parley.analysis.judging import VERDICTS, open_judge
    from parley.analysis.statement_judge import Judging, verdict_table
    from parley.llm.backends import in_society
    from parley.llm.journal import shared_ledger
    from parley.llm.router import open_all
    from parley.model.files import JOURNAL
    from parley.studies.honesty import measures
    from parley.studies.honesty.measures import judge_lines, known_lines, read_lines
    from parley.studies.honesty.report import write

    base, given = scenario_from_args(options)
    conditions = {name: base.with_settings(own) for name, own in measures.conditions(base).items()}
    lines = known_lines(base.subject.topics, read_lines(options.lines, base.subject.topics) if options.lines else None)
    judge, judging = in_society(options.judge or base.models.llm, base.subject.society), Judging(seed=base.seed)
    if options.dry_run:
        return print_plan(conditions, options, judge)
    folder = results_folder(options, "honesty")
    print_paths(folder=folder)
    budget, judge_budget = budgets_from_args(options, base, judge)
    last = [path for name in measures.CONDITIONS if (path := folder / name / JOURNAL).exists()][-1:]
    spent = [*((path, budget) for path in last), (folder / "judge" / VERDICTS, judge_budget)]
    ledger = shared_ledger(budget, spent)  # each run begins with the replies of the run before it
    models, budgets = open_all(base.models.llm, base.llm_by_party), [budget] * len(measures.CONDITIONS)
    study, check = measures.honesty(base), not options.no_qualify
    runs = hold_all(study, measures.CONDITIONS, folder, given, models, budgets, ledger, check)
    with open_judge(judging.rubric, judge, folder / "judge", bar, {"seed": base.seed}, judge_budget, ledger) as opened:
        judged = judge_lines(lines, opened, judging)
        verdicts = {name: verdict_table(tables, opened, judging) for name, tables in runs.items()}
    path = write(runs, verdicts, judged, judge, folder)
    print_paths(report=path, figure=folder / "honesty.png")
    return 0
