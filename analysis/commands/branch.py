"""The commands `run.py branch` and `study intervene`: a run continued, or repeated, with something changed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import print_paths, results_folder, run_continued
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.arguments import budgets_from_args, model_fields, prices_from_args, scenario_from_args, with_base_url
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import Progress, summary_line

if TYPE_CHECKING:
    from parley.llm.prices import Prices
    from parley.model.branching import BranchPlan
    from parley.model.cost_estimate import Check
    from parley.model.scenario import Scenario


def branch_parser() -> Parser:
    """Return the options of `run.py branch`."""
    parser = Parser(
        "branch",
        "Run a branch: a new run that keeps the earlier rounds of a run, and continues with other "
        "settings. The earlier rounds are read from the journal of the run, without calling a model "
        "(docs/interventions.md).",
        'branch runs/a --round 3 --set temperature=0.2\nbranch runs/a --round 3 --intervene "message by=Ann '
        "text='Think of the cost.'\"\nbranch runs/a --round 3 --llm second=oracle --dry-run\nbranch runs/a --tree",
        cli.rounds("the rounds of the run"),
        cli.settings("change a setting from this round on, such as temperature=0.2 (repeatable)"),
        cli.model("the model that speaks from this round on", "the model of the run", parties=True),
        cli.workers(),
        cli.budget(),
        cli.retry_failures(),
        cli.out("next to RUN: RUN-round<N>-<time>"),
        cli.dry_run(
            "print what changes, and the calls, tokens and cost of the branch, and stop without calling a model"
        ),
    )
    add_option(parser, "RUN", "the folder of a run; the run may be unfinished, or a branch", path_options.recorded_run)
    add_option(parser, "--round N", "the first round that may differ from RUN", positive)
    tree = (
        "print the tree of branches to which the run belongs, and stop. To include branches in other "
        "folders, name a run of each folder"
    )
    add_option(parser, "--tree [RUN ...]", tree, Path, nargs="*")
    about = (
        "an intervention from this round on, in addition to the interventions of the run (repeatable; "
        'docs/interventions.md). The value "" cancels the interventions that the run has planned from '
        "this round on. Example: \"message by=Ann text='...'\""
    )
    add_option(parser, '--intervene "KIND KEY=VALUE ..."', about, default=[], action="append")
    return parser


def branch(words: Sequence[str]) -> int:
    """Run `run.py branch RUN --round N`, or draw the tree of its branches."""
    options = branch_parser().parse_args(words)
    if options.tree is not None:
        from parley.analysis.branches import branch_trees, draw_trees

        print(draw_trees(branch_trees([options.run, *options.tree])))
        return 0
    if options.round is None:
        raise UserError(
            "give the first round that may differ, such as --round 3 (or --tree, to see the branches of the run)"
        )
    from parley.analysis.branches import branch_folder
    from parley.analysis.run_report import SUMMARY, main_figure, write_report
    from parley.model.branching import plan_branch
    from parley.model.scenario_run import run_scenario

    out = branch_folder(options.run, options.round, options.out)
    plan = plan_branch(options.run, options.round, out, _fields(options), options.intervene)
    scenario, prices = plan.spec.scenario, prices_from_args(options, plan.spec.scenario)
    print("\n".join(_plan_lines(plan, prices)), flush=True)
    if options.dry_run:
        return 0
    (budget,) = budgets_from_args(options, scenario)
    print_paths(folder=out)
    with Progress(scenario) as bar:
        outcome = run_scenario(plan.with_budget(budget, options.retry_failures), bar.calls, bar.step, on_open=bar.found)
    print(summary_line(scenario, out, outcome))
    if not (outcome.already and (out / SUMMARY).exists()):
        write_report(out, prices)
    print_paths(summary=out / SUMMARY, figure=main_figure(out))
    if outcome.stopped:
        raise UserError(outcome.stopped)
    return 0


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that the command line changes."""
    from parley.model.scenario import parse_settings

    models = model_fields(with_base_url(options.llm, options.base_url))
    fields = {"rounds": options.rounds, **models}
    return parse_settings(options.set) | {key: value for key, value in fields.items() if value is not None}


def _plan_lines(plan: BranchPlan, prices: Prices) -> Iterator[str]:
    """Yield what a branch changes, and what it will ask."""
    from parley.model.cost_estimate import estimate_cost

    first, rounds = plan.first, plan.spec.scenario.rounds
    yield f"branch of {plan.parent} from round {first} on, {rounds} rounds in all"
    yield from [f"  change: {change}" for change in plan.changes] or ["  change: nothing"]
    yield f"  rounds before {first} come from the journal of {plan.parent}: no call"
    yield (
        f"  about {plan.cost.calls:,} calls that the journal lacks: {plan.cost.replies:,} replies, "
        f"{plan.cost.ratings:,} ratings, {plan.cost.others + plan.cost.notes:,} others"
    )
    if plan.cost.calls:
        yield from estimate_cost([(plan.cost, 1)], [prices])


def intervene_parser() -> Parser:
    """Return the options of `run.py study intervene`."""
    parser = Parser(
        "study intervene",
        "Run the same debates with interventions and without, from the same seed, and report what the interventions changed "
        "(docs/interventions.md).",
        "study intervene --llm oracle\n"
        "study intervene --scenario two_way --llm oracle --intervene \"shock round=2 text='Prices double.'\"",
        cli.scenario("intervention"),
        *cli.debating("runs/intervene-<time>"),
        cli.dry_run("print the planned branches, calls, tokens and cost, and stop without running a branch"),
    )
    about = (
        "also run a placebo branch, in which each intervention's message is replaced by a message without content "
        "(default: yes, if an intervention has a message)"
    )
    add_option(parser, "--placebo", about, action=argparse.BooleanOptionalAction)
    return parser


def intervene(words: Sequence[str]) -> int:
    """Run `run.py study intervene`."""
    options = intervene_parser().parse_args(words)
    from parley.analysis.run_report import SUMMARY, write_report
    from parley.analysis.studies import intervention as study

    base, given = scenario_from_args(options)
    placebo, why_none = study.placebo_of(base, options.placebo)
    scenarios = study.intervention(base, placebo)
    branches = (study.WITHOUT, study.PLACEBO, study.WITH) if placebo else study.BRANCHES
    if options.dry_run:
        from parley.analysis.qualify.before_run import planned_checks

        checks = planned_checks([base], options.no_qualify)
        print("\n".join(_condition_lines(base, branches, prices_from_args(options, base), checks)))
        return 0
    if why_none:
        print(f"placebo  none: {why_none}")
    folder = results_folder(options, "intervene")
    print_paths(folder=folder)
    (budget,) = budgets_from_args(options, base)
    result, _ = run_continued(options, base, given, scenarios, branches, folder, budget)
    for branch in branches:
        if not (folder / branch / SUMMARY).exists():
            write_report(folder / branch)
    print_paths(report=study.write_intervention(result, folder), figure=folder / "intervention.png")
    return 0


def _condition_lines(base: Scenario, branches: Sequence[str], prices: Prices, checks: Sequence[Check]) -> Iterator[str]:
    """Return the lines of --dry-run. The part before the first intervention is the same in all branches and asked once."""
    from parley.model.cost_estimate import estimate_cost, estimate_lines
    from parley.model.run_plan import plan_run

    yield from list(estimate_lines(base, prices))[:4]
    first = min(event.round for event in base.interventions)
    plan, bare = plan_run(base), base.with_settings({"interventions": ()})
    debate = plan_run(bare.with_settings({"rounds": first - 1, "survey": "never"})).calls if first > 1 else 0
    surveys = first if base.surveys.survey == "rounds" else 1
    shared = debate + surveys * plan_run(bare.with_settings({"rounds": 0})).ratings
    calls = len(branches) * plan.calls - (len(branches) - 1) * shared
    yield (
        f"  {len(branches)} branches ({', '.join(branches)}), each with the calls below; all branches together "
        f"make about {calls:,} calls:"
    )
    yield f"  before round {first} all branches are the same, so these calls are made only once"
    yield from estimate_cost([(plan, len(branches))], [prices], checks, calls)
    yield "  (tokens and cost as if every branch made all its calls)"
