"""The command `run.py bets`: debaters bet in private on how well they do."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import (
    conditions_parser,
    each_condition,
    hold_all,
    print_paths,
    print_plan,
    results_folder,
    run_conditions,
)
from parley.llm.errors import UserError
from parley.model.arguments import (
    budgets_from_args,
    models_from_args,
    party_of,
    scenario_from_args,
    shared_budget,
    society_from_args,
)
from parley.model.cli import Parser, add_option

if TYPE_CHECKING:
    from parley.model.scenario import Scenario


def bets_parser() -> Parser:
    """Return the options of `run.py bets`."""
    parser = conditions_parser(
        "bets",
        "Let debaters bet in private that they win, against another debater and against their own copy. With --judge, a model "
        "says who wins, and bets are compared with the verdicts. With several --llm, the models debate each other "
        "(docs/competing_debates.md).",
    )
    about = "the model that says who made the better case in each debate; needed with several --llm"
    add_option(parser, "--judge SPEC", about)
    return parser


def bets(words: Sequence[str]) -> int:
    """Run `run.py bets`."""
    options = bets_parser().parse_args(words)
    from parley.analysis.studies.bets import CONDITIONS, tournament, write

    models = list(dict.fromkeys(spec for spec in options.llm if not party_of(spec)))
    if not options.judge:
        if len(models) > 1:
            raise UserError("several models need a judge who says which one wins: add --judge SPEC")
        return run_conditions(options, "bets", "bets", lambda base: CONDITIONS, write)
    if any(map(party_of, options.llm)):
        raise UserError("with --judge all debaters of a model are compared: leave out PARTY= in --llm")
    if len(models) < 2:
        return _judged(options, CONDITIONS)
    return _judged(options, tournament(models_from_args(options), society_from_args(options)))


def _judged(options: argparse.Namespace, conditions: Mapping[str, Mapping[str, Any]]) -> int:
    """Run the conditions, let the judge decide every debate, and write the report."""
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.studies.bets import WINNING, write_judged
    from parley.analysis.studies.debate_verdicts import judge_debates
    from parley.llm.backends import check_spec, identity_spec
    from parley.llm.journal import shared_ledger
    from parley.model.files import JOURNAL
    from parley.model.progress import bar
    from parley.model.scenario_run import lock_folder

    judge = models_from_args(argparse.Namespace(**vars(options) | {"llm": []}), "judge")[0]
    check_spec(judge)
    options.llm = options.llm[:1]
    base, given = scenario_from_args(options, "bets")
    settings = {name: {**own, "also": [WINNING]} for name, own in conditions.items()}
    scenarios = [base.with_settings(own) for own in settings.values()]
    if options.dry_run:
        return print_plan(dict(zip(settings, scenarios, strict=True)), options, judge)
    folder, names = results_folder(options, "bets"), [name.replace(", ", "_").replace(" ", "_") for name in settings]
    budgets = budgets_from_args(options, *scenarios)
    journals = [(folder / name / JOURNAL, budget) for name, budget in zip(names, budgets, strict=True)]
    print_paths(folder=folder)
    study = each_condition(base, settings)
    ledger = shared_ledger(budgets[0], journals)
    runs = hold_all(study, names, folder, given, None, budgets, ledger, not options.no_qualify)
    verdicts_folder = folder / "verdicts"
    verdicts_folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(verdicts_folder):
        check_manifest(verdicts_folder / "judge.json", {"judge": identity_spec(judge)}, "judge")
        desk = CallDesk(verdicts_folder, bar, options.keep_going, shared_budget(options, folder, judge))
        verdicts = judge_debates(runs, judge, desk, base.seed)
        print(desk.tally.line)
    models = {name: _models_of(scenario) for name, scenario in zip(settings, scenarios, strict=True)}
    print_paths(report=write_judged(runs, verdicts, models, judge, base.seed, folder))
    return 0


def _models_of(scenario: Scenario) -> tuple[str, str]:
    """Return the models of the first and the second seat."""
    specs = scenario.llm_by_party
    first, second = (specs.get(seat, scenario.models.llm) for seat in scenario.groups[0].labels)
    return first, second
