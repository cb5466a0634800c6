"""The commands `run.py branch`, which runs a branch of a run, and `run.py branches`, which draws the tree of branches."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_fields, prices_from_args, with_base_url
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import Progress, summary_line

if TYPE_CHECKING:
    from parley.llm.budget import Prices
    from parley.model.branching import BranchPlan


def branch_parser() -> Parser:
    """Return the options of `run.py branch`."""
    parser = Parser(
        "branch",
        "Run a branch: a new run that shares the earlier rounds of a run, and goes on with other settings. The earlier rounds "
        "come from the journal of the run, and no model is asked again about them (docs/branches.md).",
        "branch runs/a --round 3 --set temperature=0.2\n"
        "branch runs/a --round 3 --intervene \"message by=Ann text='Think of the cost.'\"\n"
        "branch runs/a --round 3 --llm second=oracle --dry-run",
        cli.rounds("those of the run"),
        cli.settings("change a setting from this round on, such as temperature=0.2 (repeatable)"),
        cli.model("the model that speaks from this round on", "that of the run", parties=True),
        cli.budget(),
        cli.retry_failures(),
        cli.out("next to RUN: RUN-round<N>-<time>"),
        cli.dry_run("print what changes, and the calls, tokens and cost of the branch, and stop: no model is called"),
    )
    add_option(parser, "RUN", "the folder of a run; it may be unfinished, or a branch itself", Path)
    add_option(parser, "--round N", "the first round that may differ", positive, required=True)
    about = (
        "an intervention from this round on, in addition to those of the run (repeatable; docs/interventions.md); "
        '"" drops those that the run has planned from this round on. Example: "message by=Ann text=\'...\'"'
    )
    add_option(parser, '--intervene "KIND KEY=VALUE ..."', about, default=[], action="append")
    return parser


def branch(words: Sequence[str]) -> int:
    """Run `run.py branch RUN --round N`."""
    options = branch_parser().parse_args(words)
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
    from parley.model.cost_estimate import estimate_cost, estimate_time

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
        yield estimate_time([plan.spec.scenario], plan.cost.calls)


def branches_parser() -> Parser:
    """Return the options of `run.py branches`."""
    parser = Parser(
        "branches",
        "Draw the tree of branches to which runs belong, as text. Branches are found in the folders that hold a run of the tree.",
        "branches runs/a",
    )
    add_option(parser, "RUN", "folders of runs or branches", Path, name="runs", nargs="+")
    return parser


def branches(words: Sequence[str]) -> int:
    """Run `run.py branches RUN ...`."""
    options = branches_parser().parse_args(words)
    from parley.analysis.branches import branch_trees, draw_trees

    print(draw_trees(branch_trees(options.runs)))
    return 0
