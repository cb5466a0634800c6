"""The command `run.py claim`: does a claim hold in many specifications that mean the same, and on which does it depend?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_paths, results_folder
from parley.analysis.commands.sweep import add_workers, check_cells, measure_cells
from parley.model import cli
from parley.model.arguments import budgets_from_args, models_from_args, prices_from_args
from parley.model.cli import Parser, add_option, positive

if TYPE_CHECKING:
    from parley.analysis.claims.claim import Claim
    from parley.analysis.claims.multiverse import Multiverse

EXAMPLES = """claim claim.toml --llm oracle
claim claim.toml --llm openai:MODEL --specifications 32 --max-cost 5"""


def claim_parser() -> Parser:
    """Return the options of `run.py claim`."""
    parser = Parser(
        "claim",
        "Run both arms of a claim in many specifications that mean the same (wording, order, scale, memory, ...). Say whether "
        "the claim holds, and on which of these settings it depends (docs/claims.md).",
        EXAMPLES,
        cli.model("the models that the claim is checked with", "those of the file"),
        cli.budget(),
        cli.retry_failures(),
        cli.seed(),
        cli.out("runs/claim-<time>"),
        cli.dry_run("print the specifications, calls, tokens and cost, and stop: nothing is run"),
    )
    add_option(parser, "FILE", "the claim, a .toml file (docs/claims.md)", Path)
    add_option(parser, "--specifications N", "number of specifications", positive, 64)
    add_option(parser, "--repetitions N", "groups of people of each set of personas (default: 8 in all)", positive)
    add_option(parser, "--no-qualify", cli.NO_QUALIFY, action="store_true")
    add_workers(parser)
    return parser


def claim(words: Sequence[str]) -> int:
    """Run `run.py claim`."""
    options = claim_parser().parse_args(words)
    from parley.analysis.claims.claim import check_claim, read_claim
    from parley.analysis.claims.dimensions import check_size

    asked = _with_models(read_claim(options.file), options)
    check_size(asked, options.specifications)  # before the slow imports
    check_claim(asked, options.file.name)
    from parley.analysis.claims.audit import audit_claim
    from parley.analysis.claims.derivation import write_design
    from parley.analysis.claims.multiverse import Multiverse, given_fields
    from parley.analysis.claims.outcomes import RoomMeasure
    from parley.analysis.claims.report import NAME, sentence, write_claim
    from parley.analysis.qualify.before_run import qualify_models
    from parley.model.progress import bar
    from parley.model.scenario_run import lock_folder
    from parley.model.sweep.design import check_sweep_manifest

    repetitions = options.repetitions or Multiverse.usual_repetitions(asked)
    multiverse = Multiverse(asked, options.specifications, repetitions, options.seed)
    cells = multiverse.cells()
    check_cells(cells)
    if options.dry_run:
        _print_plan(multiverse, options)
        return 0
    folder = results_folder(options, "claim")
    print_paths(folder=folder)
    _warn_of_few(multiverse)
    with lock_folder(folder):
        check_sweep_manifest(folder, cells)
        measure, say = RoomMeasure(asked.measure), partial(print, flush=True)
        if not options.no_qualify:
            budget, *_ = budgets_from_args(options, *(cell.combined for cell in cells))
            qualify_models(cells, folder, bar, budget, say)
        done = measure_cells(options, cells, given_fields(multiverse), folder, measure, say)
        done.check()
        audit = audit_claim(multiverse, multiverse.differences(done.measured))
        page = write_claim(audit, folder)
        write_design(multiverse, folder)  # last: what has a design can be sealed
    print(sentence(audit, folder))
    print_paths(report=page, figure=folder / f"{NAME}.png")
    return 0


def _with_models(asked: Claim, options: argparse.Namespace) -> Claim:
    """Return the claim with the models of --llm, if there are some."""
    models = tuple(dict.fromkeys(models_from_args(options))) or asked.population.models
    return replace(asked, population=replace(asked.population, models=models))


def _warn_of_few(multiverse: Multiverse) -> None:
    """Print before anything is asked that the people are too few for a verdict."""
    from parley.analysis.claims.curve import FEWEST_UNITS
    from parley.analysis.claims.verdict import few_people

    if multiverse.people < FEWEST_UNITS:
        print(f"Whether the claim holds will be unknown: {few_people(multiverse.people)}.", flush=True)


def _print_plan(multiverse: Multiverse, options: argparse.Namespace) -> None:
    """Print for --dry-run what is varied, and the calls, tokens and cost of all specifications."""
    from parley.model.cost_estimate import estimate_cost, estimate_time, plan_run

    scenarios = [cell.scenario for cell in multiverse.cells()]
    plans = [plan_run(scenario) for scenario in scenarios]
    for one in multiverse.dimensions:
        print(f"{one.name:<20} {', '.join(one.levels)}")
    for name, why in multiverse.left_out.items():
        print(f"left out: {name}: {why}")
    total = sum(plan.calls for plan in plans)
    print(f"{len(multiverse.design)} specifications, {len(scenarios)} runs, {total:,} calls")
    _warn_of_few(multiverse)
    prices = [prices_from_args(options, scenario) for scenario in scenarios]
    print("\n".join(estimate_cost([(plan, 1) for plan in plans], prices)))
    print(estimate_time(scenarios, total))
