"""`run.py sweep-lora`: Table 1 by rank and method."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from parley.analysis.commands import hold_all
from parley.llm.budget import Budget
from parley.model.commandline import Parser, bar, positive
from parley.model.options import add_keep_going
from parley.training.base_model import base_model
from parley.training.commands import add_dry_run, add_plan, add_set, chosen
from parley.training.estimate import of_sweep, show
from parley.training.tuning.pipeline import PARTIES, Pipeline, TuningPlan


def sweep_lora(arguments: Sequence[str]) -> int:
    """Train at every rank with every seed, debate, measure, write the table."""
    options = sweep_parser().parse_args(arguments)
    from parley.model.scenario import load_preset, parse_settings
    from parley.training.capability.harness import Harness
    from parley.training.capability.measure import measure, saved_capability
    from parley.training.studies.sweep_lora import PREFERRED, RANKS, cells, report, sweep

    tasks = options.tasks.split(",")
    plan, kind = chosen(TuningPlan, options), base_model(options.llm or TuningPlan.llm).kind
    settings = parse_settings(options.set) | {
        name: value for name in ("topics", "repetitions") if (value := getattr(options, name)) is not None
    }
    base = load_preset("fine_tuned").with_settings(settings)
    plan = replace(plan, people=base.personas)
    planned = cells(options.ranks or RANKS[kind], options.dpo or PREFERRED[kind], options.seeds)
    out = options.out or Path("runs") / f"sweep_lora-{time.strftime('%Y%m%d-%H%M%S')}"
    if options.dry_run:
        return show(of_sweep(plan, base, planned, options.party))
    Harness(tasks, options.limit, 1)  # says what is missing before anything is trained
    pipelines = [Pipeline(replace(plan, seed=seed), out / f"seed-{seed}", bar) for seed in range(options.seeds)]
    asked = saved_capability(
        partial(measure, tasks=tasks, limit=options.limit, load=pipelines[0].base.load),
        out / "capability",
        f"{tasks} {options.limit} {pipelines[0].base.load}",
    )
    print(f"folder   {out}", flush=True)
    study = sweep(base, plan.llm, options.party, planned, pipelines, asked, options.beside)
    budgets = [Budget(keep_going=options.keep_going)] * len(planned)
    found = hold_all(study, [cell.name for cell in planned], out, tuple(settings), budgets=budgets)
    print(f"table    {report(found, out, base, plan.llm, options.party)}")
    return 0


def ranks(text: str) -> tuple[int, ...]:
    """`2,8,16`."""
    return tuple(map(positive, text.split(",")))


def sweep_parser() -> Parser:
    from parley.training.capability.tasks import LOCAL

    parser = Parser(
        prog="run.py sweep-lora",
        description="Table 1: how far the Default is moved and what that costs, by rank and method, over training seeds.",
    )
    add_plan(parser, ("questions", "answers", "personas", "tokens"))
    parser.add_argument("--party", choices=PARTIES, default="republican", help="whose answers are learned (republican)")
    parser.add_argument("--ranks", metavar="N[,N]", type=ranks, help="ranks of SFT (16,64,128,256; pocket: 2,8,16,32)")
    parser.add_argument("--dpo", metavar="N", type=positive, help="rank of DPO, and of an SFT that it goes on from (8)")
    parser.add_argument("--seeds", metavar="N", type=positive, default=3, help="trainings of each (3)")
    parser.add_argument(
        "--tasks", default=",".join(LOCAL), help="of lm-evaluation-harness, such as mmlu,hellaswag (our own, offline)"
    )
    parser.add_argument("--limit", metavar="N", type=positive, help="most items of a task (all)")
    parser.add_argument(
        "--beside",
        metavar="MODEL",
        action="append",
        default=[],
        help="another model (folder or hub id) whose scores stand in the table, such as the paper's Llama 2 7B (repeatable)",
    )
    add_set(parser, "any field of the preset, such as probe=attitude; personas are those of training too (repeatable)")
    add_dry_run(parser)
    parser.add_argument("--topic", dest="topics", metavar="SLUG[,SLUG]", help="topics (those of the paper)")
    parser.add_argument("--repetitions", metavar="N", help="rooms per topic (40)")
    add_keep_going(parser)
    return parser
