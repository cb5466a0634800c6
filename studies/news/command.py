"""`run.py refutation`: a story with an early, a late and no official statement."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import (
    PLANNED,
    each_condition,
    hold_all,
    print_paths,
    print_plan,
    results_folder,
)
from parley.model import cli
from parley.model.arguments import budgets_from_args, only_model, scenario_from_args
from parley.model.cli import Parser, add_option, natural
from parley.model.progress import bar

JUDGE_FOLDER = "deviation"


def parser() -> Parser:
    """Return the options of `run.py refutation`."""
    options = Parser(
        "refutation",
        "Run the same story three times: without an official statement, with an early one, and with a late one. Compare how far "
        "each moves from the true report (docs/news.md).",
        "refutation --llm oracle,drift=0.5 --repetitions 5",
        *cli.debating("runs/refutation-<time>"),
        cli.dry_run(PLANNED),
    )
    add_option(options, "--early N", "the early statement comes before this day", natural, default=2)
    add_option(options, "--late N", "the late statement comes before this day", natural, default=5)
    add_option(options, "--judge SPEC", "the model that judges the versions (default: the model that writes them)")
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py refutation`."""
    options = parser().parse_args(words)
    from parley.analysis.judging import VERDICTS, open_judge
    from parley.llm.backends import in_society
    from parley.llm.journal import shared_ledger
    from parley.llm.router import open_all
    from parley.model.files import JOURNAL

    from .refutation import EARLY, LATE, conditions, write
    from .versions import RUBRIC, plan_versions, verdicts

    base, given = scenario_from_args(options, "news_evolution")
    days = {EARLY: options.early, LATE: options.late}
    settings, folder = conditions(base, options.early, options.late), results_folder(options, "refutation")
    names = [name.replace(" ", "_") for name in settings]
    spec = in_society(only_model([options.judge] if options.judge else [], base.models.llm), base.subject.society)
    if options.dry_run:
        return print_plan({name: base.with_settings(own) for name, own in settings.items()}, options, spec)
    (budget,), (limit,) = budgets_from_args(options, base), budgets_from_args(options, spec)
    print_paths(folder=folder)
    journals = [path for name in names if (path := folder / name / JOURNAL).exists()]
    spent = [*((path, budget) for path in journals[-1:]), (folder / JUDGE_FOLDER / VERDICTS, limit)]
    ledger = shared_ledger(budget, spent)  # each run begins with the replies of the run before it
    models, runs = open_all(base.models.llm, base.llm_by_party), each_condition(base, settings)
    budgets = [budget] * len(names)
    tables = hold_all(runs, names, folder, given, models, budgets, ledger, not options.no_qualify)
    for one, name in zip(tables.values(), names, strict=True):
        plan_versions(one, folder / name)
    with open_judge(RUBRIC, spec, folder / JUDGE_FOLDER, bar, {"seed": base.seed}, limit, ledger) as judge:
        judged = {condition: (one, verdicts(one, judge, base.seed)) for condition, one in tables.items()}
    print_paths(report=write(judged, folder, days, spec))
    return 0
