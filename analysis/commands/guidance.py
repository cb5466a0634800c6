"""The commands `run.py guidance` and `refutation`: statements of an official account, of several kinds or at several times."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import PLANNED, each_condition, hold_all, print_paths, print_plan, results_folder
from parley.model import cli
from parley.model.arguments import budgets_from_args, only_model, scenario_from_args
from parley.model.cli import Parser, add_option, natural
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
    from parley.analysis.judging import VERDICTS, open_judge
    from parley.analysis.sentiment import RUBRIC, verdicts
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
    with open_judge(RUBRIC, judge, folder / "judge", bar, {"seed": seed}, judge_budget, ledger) as opened:
        scored = {name: verdicts(tables, opened, seed) for name, tables in runs.items()}
    path = study.write(runs, scored, study.first_round(base), judge, folder)
    print_paths(report=path, figure=folder / "guidance.png")
    return 0


JUDGE_FOLDER = "deviation"


def refutation_parser() -> Parser:
    """Return the options of `run.py refutation`."""
    parser = Parser(
        "refutation",
        "Run the same story three times: without an official statement, with an early one, and with a late one. Compare how far "
        "each moves from the true report (docs/news.md).",
        "refutation --llm oracle,drift=0.5 --repetitions 5",
        *cli.debating("runs/refutation-<time>"),
        cli.dry_run(PLANNED),
    )
    add_option(parser, "--early N", "the early statement comes before this day", natural, default=2)
    add_option(parser, "--late N", "the late statement comes before this day", natural, default=5)
    add_option(parser, "--judge SPEC", "the model that judges the versions (default: the model that writes them)")
    return parser


def refutation(words: Sequence[str]) -> int:
    """Run `run.py refutation`."""
    options = refutation_parser().parse_args(words)
    from parley.analysis.judging import VERDICTS, open_judge
    from parley.analysis.story_versions import RUBRIC, check_story, verdicts
    from parley.analysis.studies.refutation import EARLY, LATE, conditions, write
    from parley.llm.backends import in_society
    from parley.llm.journal import shared_ledger
    from parley.llm.router import open_all
    from parley.model.files import JOURNAL

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
        check_story(one, str(folder / name))
    with open_judge(RUBRIC, spec, folder / JUDGE_FOLDER, bar, {"seed": base.seed}, limit, ledger) as judge:
        judged = {condition: (one, verdicts(one, judge, base.seed)) for condition, one in tables.items()}
    print_paths(report=write(judged, folder, days, spec))
    return 0
