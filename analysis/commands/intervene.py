"""The command `run.py intervene`: the same debates with interventions and without."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import hold_all
from parley.model import cli
from parley.model.arguments import budgets_from_args, prices_from_args, scenario_from_args
from parley.model.cli import Parser, add_option

if TYPE_CHECKING:
    from parley.llm.budget import Prices
    from parley.model.scenario import Scenario


def intervene_parser() -> Parser:
    """The options of `run.py intervene`."""
    parser = Parser(
        "intervene",
        "Run the same debates with interventions and without, from the same seed, and report what the interventions changed "
        "(docs/interventions.md).",
        "intervene --llm oracle\nintervene --scenario two_way --llm oracle --intervene \"shock round=2 text='Prices double.'\"",
        cli.scenario("intervention"),
        *cli.debating("runs/intervene-<time>"),
        cli.dry_run("print branches, calls, tokens and cost, and run nothing"),
    )
    add_option(
        parser,
        "--placebo",
        "run a third branch, in which every message of an intervention is replaced by one without content "
        "(default: where an intervention has a message)",
        action=argparse.BooleanOptionalAction,
    )
    return parser


def intervene(arguments: Sequence[str]) -> int:
    """`run.py intervene`"""
    options = intervene_parser().parse_args(arguments)
    from parley.analysis.run_report import SUMMARY, write_report
    from parley.analysis.studies.intervention import (
        BRANCHES,
        PLACEBO,
        WITH,
        WITHOUT,
        intervention,
        placebo_of,
        write_intervention,
    )
    from parley.llm.journal import shared_ledger
    from parley.llm.router import open_all
    from parley.model.scenario_run import JOURNAL

    base, given = scenario_from_args(options)
    placebo, why = placebo_of(base, options.placebo)
    study = intervention(base, placebo)
    branches = (WITHOUT, PLACEBO, WITH) if placebo else BRANCHES
    if options.dry_run:
        print("\n".join(_planned(base, branches, prices_from_args(options, base))))
        return 0
    if why:
        print(f"placebo  none: {why}")
    out = options.out or Path("runs") / f"intervene-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    (limits,) = budgets_from_args(options, base)
    begun = [
        branch for branch in branches if (out / branch / JOURNAL).exists()
    ]  # each has the journal of the one before
    ledger = shared_ledger(limits, [(out / branch / JOURNAL, limits) for branch in begun[-1:]])
    opened = open_all(base.models.llm, base.llm_by_party)
    found = hold_all(study, branches, out, given, opened, [limits] * len(branches), ledger)
    for branch in branches:
        if not (out / branch / SUMMARY).exists():
            write_report(out / branch)
    print(f"report   {write_intervention(found, out)}\nfigure   {out / 'intervention.png'}")
    return 0


def _planned(base: Scenario, branches: Sequence[str], known: Prices) -> Iterator[str]:
    """`--dry-run`: each branch is a run of its own, but what comes before the first intervention is asked once."""

    from parley.model.cost_estimate import estimate_cost, estimate_lines, plan_run
    from parley.model.cost_estimate import estimate_time as lasting

    yield from list(estimate_lines(base, known))[:4]
    first = min(one.round for one in base.interventions)
    plan = plan_run(base)
    alike = (
        plan_run(base.with_settings({"rounds": first - 1, "interventions": (), "survey": "never"})).calls
        if first > 1
        else 0
    )
    surveys = plan_run(base.with_settings({"rounds": 0, "interventions": ()})).ratings * (
        first if base.surveys.survey == "rounds" else 1
    )
    whole = len(branches) * plan.calls - (len(branches) - 1) * (alike + surveys)
    yield f"  {len(branches)} branches ({', '.join(branches)}), each of these calls; all together about {whole:,}:"
    yield f"  what comes before round {first} is the same in all and asked once"
    yield from estimate_cost([(plan, len(branches))], [known])
    yield "  (tokens and cost as if every branch asked everything)"
    yield lasting([base], whole)
