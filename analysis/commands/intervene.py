"""The command `run.py intervene`: the same debates with interventions and without."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import hold_all, print_paths, results_folder
from parley.model import cli
from parley.model.arguments import budgets_from_args, prices_from_args, scenario_from_args
from parley.model.cli import Parser, add_option

if TYPE_CHECKING:
    from parley.llm.budget import Prices
    from parley.model.scenario import Scenario


def intervene_parser() -> Parser:
    """Return the options of `run.py intervene`."""
    parser = Parser(
        "intervene",
        "Run the same debates with interventions and without, from the same seed, and report what the interventions changed "
        "(docs/interventions.md).",
        "intervene --llm oracle\nintervene --scenario two_way --llm oracle --intervene \"shock round=2 text='Prices double.'\"",
        cli.scenario("intervention"),
        *cli.debating("runs/intervene-<time>"),
        cli.dry_run("print the planned branches, calls, tokens and cost, and stop: nothing is run"),
    )
    about = (
        "also run a placebo branch, in which each intervention's message is replaced by a message without content "
        "(default: yes, if an intervention has a message)"
    )
    add_option(parser, "--placebo", about, action=argparse.BooleanOptionalAction)
    return parser


def intervene(words: Sequence[str]) -> int:
    """Run `run.py intervene`."""
    options = intervene_parser().parse_args(words)
    from parley.analysis.run_report import SUMMARY, write_report
    from parley.analysis.studies import intervention as study
    from parley.llm.journal import shared_ledger
    from parley.llm.router import open_all
    from parley.model.files import JOURNAL

    base, given = scenario_from_args(options)
    placebo, why_none = study.placebo_of(base, options.placebo)
    scenarios = study.intervention(base, placebo)
    branches = (study.WITHOUT, study.PLACEBO, study.WITH) if placebo else study.BRANCHES
    if options.dry_run:
        print("\n".join(_plan_lines(base, branches, prices_from_args(options, base))))
        return 0
    if why_none:
        print(f"placebo  none: {why_none}")
    folder = results_folder(options, "intervene")
    print_paths(folder=folder)
    (budget,) = budgets_from_args(options, base)
    journals = [path for branch in branches if (path := folder / branch / JOURNAL).exists()]
    ledger = shared_ledger(budget, [(path, budget) for path in journals[-1:]])  # each begins with those before it
    models = open_all(base.models.llm, base.llm_by_party)
    result = hold_all(
        scenarios, branches, folder, given, models, [budget] * len(branches), ledger, not options.no_qualify
    )
    for branch in branches:
        if not (folder / branch / SUMMARY).exists():
            write_report(folder / branch)
    print_paths(report=study.write_intervention(result, folder), figure=folder / "intervention.png")
    return 0


def _plan_lines(base: Scenario, branches: Sequence[str], prices: Prices) -> Iterator[str]:
    """Return the lines of --dry-run. The part before the first intervention is the same in all branches and asked once."""
    from parley.model.cost_estimate import estimate_cost, estimate_lines, estimate_time, plan_run

    yield from list(estimate_lines(base, prices))[:4]
    first = min(event.round for event in base.interventions)
    plan, bare = plan_run(base), base.with_settings({"interventions": ()})
    debate = plan_run(bare.with_settings({"rounds": first - 1, "survey": "never"})).calls if first > 1 else 0
    surveys = first if base.surveys.survey == "rounds" else 1
    shared = debate + surveys * plan_run(bare.with_settings({"rounds": 0})).ratings
    calls = len(branches) * plan.calls - (len(branches) - 1) * shared
    yield f"  {len(branches)} branches ({', '.join(branches)}), each of these calls; all together about {calls:,}:"
    yield f"  before round {first} all branches are the same, so these calls are made only once"
    yield from estimate_cost([(plan, len(branches))], [prices])
    yield "  (tokens and cost as if every branch made all its calls)"
    yield estimate_time([base], calls)
