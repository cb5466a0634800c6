"""`run.py study refutation`: a story with an early, a late and no official statement."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import PLANNED, each_condition, judged_runs, print_paths, print_plan, results_folder
from parley.model import cli
from parley.model.arguments import only_model, scenario_from_args
from parley.model.cli import Parser, add_option, natural


def parser() -> Parser:
    """Return the options of `run.py study refutation`."""
    options = Parser(
        "study refutation",
        "Let agents pass a news story on three times: without an official statement, with an early "
        "statement, and with a late statement. The report compares how far each story moves from the "
        "true report (studies/news/README.md).",
        "study refutation --llm oracle,drift=0.5 --repetitions 5",
        *cli.debating("runs/refutation-<time>"),
        cli.dry_run(PLANNED),
    )
    add_option(options, "--early N", "the early statement comes before this day", natural, default=2)
    add_option(options, "--late N", "the late statement comes before this day", natural, default=5)
    add_option(
        options, "--judge SPEC", "the model that judges the versions (default: the model that writes the versions)"
    )
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study refutation`."""
    options = parser().parse_args(words)
    from parley.llm.backends import in_society

    from .refutation import EARLY, LATE, conditions, write
    from .versions import RUBRIC, plan_versions, verdicts

    base, given = scenario_from_args(options, "news_evolution")
    days = {EARLY: options.early, LATE: options.late}
    settings, folder = conditions(base, options.early, options.late), results_folder(options, "refutation")
    names = [name.replace(" ", "_") for name in settings]
    spec = in_society(only_model([options.judge] if options.judge else [], base.models.llm), base.subject.society)
    if options.dry_run:
        return print_plan(
            {name: base.with_settings(condition_settings) for name, condition_settings in settings.items()},
            options,
            spec,
        )
    study = each_condition(base, settings), names, folder, spec, RUBRIC, "deviation"
    with judged_runs(options, base, given, *study) as (tables, judge):
        for run_tables, name in zip(tables.values(), names, strict=True):
            plan_versions(run_tables, folder / name)
        judged = {
            condition: (run_tables, verdicts(run_tables, judge, base.seed)) for condition, run_tables in tables.items()
        }
    print_paths(report=write(judged, folder, days, spec))
    return 0
