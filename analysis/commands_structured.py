"""The command `run.py structured`: the experiments of the UCL study."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands import hold_all
from parley.llm.errors import UserError
from parley.model.commandline import Parser, amount, bar, natural
from parley.model.options import add_limits, budget, budget_of

if TYPE_CHECKING:
    from parley.analysis.judge.judging import Judging
    from parley.analysis.studies.structured.experiments import Experiment
    from parley.model.scenario import Scenario

OURS = ("oracle", "pocket")
ONE_PERSONA = {"personas": "simple", "cast": "fixed"}
"""The published procedure: Sam, Alex and Taylor in every run."""


def parser() -> Parser:
    found = Parser(
        prog="run.py structured",
        description="Hold an experiment of the UCL study, have every statement judged, and write the report. "
        "EXPERIMENT: baseline, alone, closing, orders, gender, echo, models (docs/structured.md has the figures they stand for).",
    )
    found.add_argument("experiment", metavar="EXPERIMENT")
    found.add_argument("--llm", metavar="SPEC", action="append", help="the debaters' model (pocket); models: several")
    found.add_argument("--judge", metavar="SPEC", help="the judge's model (oracle, where the debaters are ours)")
    found.add_argument(
        "--calls", metavar="N", type=natural, default=3, help="times a judge is asked, as run.py judge (3)"
    )
    found.add_argument("--judge-temperature", metavar="X", type=amount, default=0.01, help="(0.01)")
    found.add_argument(
        "--examples", metavar="N", type=natural, default=4, help="scored statements that it is shown (4)"
    )
    found.add_argument(
        "--tell", metavar="name,party", default="", help="what the judge is told of the speaker (nothing)"
    )
    found.add_argument("--topic", dest="topics", metavar="SLUG[,SLUG]", help="topics (the study's four)")
    found.add_argument("--repetitions", metavar="N", help="runs a topic and condition (10)")
    found.add_argument("--rounds", metavar="N", help="statements of each speaker (12)")
    found.add_argument("--seed", metavar="N", help="same seed, same record")
    found.add_argument(
        "--mode",
        choices=("run", "ucl"),
        default="run",
        help="ucl: the published procedure first, with the study's one persona a seat (run)",
    )
    found.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="as of run.py --scenario")
    found.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/structured-...); what it holds is gone on with"
    )
    add_limits(found, "experiment's folder")
    found.add_argument("--dry-run", action="store_true", help="print conditions, rooms and calls, and run nothing")
    return found


def structured(arguments: Sequence[str]) -> int:
    """`run.py structured EXPERIMENT`"""
    options = parser().parse_args(arguments)
    from parley.analysis.judge.judging import VERDICTS, Judging
    from parley.analysis.studies.structured.experiments import experiment
    from parley.analysis.studies.structured.report import write
    from parley.analysis.studies.structured.runner import condition_folders
    from parley.analysis.studies.structured.runner import run_experiment as study
    from parley.llm.backends import check_reached, check_spec
    from parley.llm.journal import shared_ledger
    from parley.model.scenario_run import JOURNAL
    from parley.model.validation import check_topics

    models = options.llm or ["pocket"]
    judge = options.judge or _judge(models)
    for spec in (*models, judge):
        check_spec(spec)
    chosen = experiment(options.experiment, models)
    base, given = _base(options, chosen, models[0])
    for spec in (*models, *base.own_llms().values(), judge):
        check_topics(spec, base.subjects())
    if options.dry_run:
        return _planned(chosen, base, options.calls)
    for spec in (*models, *base.own_llms().values(), judge):
        check_reached(spec)
    out = options.out or Path("runs") / f"structured-{options.experiment}-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    told = tuple(part.strip() for part in options.tell.split(",") if part.strip())
    judging = Judging(options.calls, options.judge_temperature, options.examples, told)
    _claim(out, options.experiment, base, judge, judging)
    scenarios = [base.with_settings(settings) for settings in chosen.conditions.values()]
    (judges,), budgets = budget_of(options, judge), budget(options, *scenarios)
    held = list(condition_folders(chosen, out).values())
    debated = [(folder / JOURNAL, one) for folder, one in zip(held, budgets, strict=True)]
    ledger = shared_ledger(judges, [*debated, *((folder / "judge" / VERDICTS, judges) for folder in held)])
    steps = study(chosen, base, out, judge, judging, bar, judges, ledger)
    found = hold_all(steps, [folder.name for folder in held], out, given, budgets=budgets, ledger=ledger)
    command = f"python run.py structured {shlex.join(arguments)}"
    report = write(found, options.experiment, chosen, out, judge, options.mode == "ucl", command)
    print(f"report   {report}\nfigure   {out / 'scores.png'}")
    return 0


def _base(options: argparse.Namespace, chosen: Experiment, model: str) -> tuple[Scenario, tuple[str, ...]]:
    """The preset with what was asked for, and the names of the fields that were given. Errors: UserError."""
    from parley.analysis.studies.structured.experiments import PRESET
    from parley.model.scenario import load_preset, parse_settings

    settings = parse_settings(options.set)
    if taken := {key for one in chosen.conditions.values() for key in one} & set(settings):
        raise UserError(f"--set {', '.join(sorted(taken))}: the conditions of {options.experiment} differ in that")
    named = {key: getattr(options, key) for key in ("topics", "repetitions", "rounds", "seed")}
    if options.mode == "ucl":
        settings = {**ONE_PERSONA, **settings}
    settings |= {"llm": model, **{key: value for key, value in named.items() if value is not None}}
    base = load_preset(PRESET).with_settings(settings)
    if base.rounds < 2:
        raise UserError("a structured debate has at least two rounds: an opening and what comes after it")
    return base, tuple(settings)


def _judge(models: Sequence[str]) -> str:
    if all(spec.partition(":")[0].partition(",")[0] in OURS for spec in models):
        return "oracle"
    raise UserError(
        "--judge SPEC: say which model scores the statements (the oracle knows only our own speakers' sentences)"
    )


def _planned(chosen: Experiment, base: Scenario, calls: int) -> int:
    from parley.model.cost_estimate import count_calls

    whole, width = 0, max(28, *map(len, chosen.conditions))
    for name, settings in chosen.conditions.items():
        _, rooms, replies, ratings = count_calls(base.with_settings(settings))
        whole += replies + ratings + replies * calls
        print(
            f"{name:<{width}} {rooms:>5} rooms  {replies:>7,} replies  {ratings:>7,} ratings  {replies:>7,} statements to judge"
        )
    print(f"{'in all':<{width}} {whole:,} calls at most, with {calls} for each statement to the judge")
    return 0


def _claim(out: Path, name: str, base: Scenario, judge: str, judging: Judging) -> None:
    """One folder, one experiment. Errors: UserError on a folder of another."""
    from parley.analysis.journaled_calls import check_manifest
    from parley.llm.backends import identity_spec

    out.mkdir(parents=True, exist_ok=True)
    asked = {**base.to_dict(), "llm": identity_spec(base.llm)}
    check_manifest(
        out / "structured.json",
        {"experiment": name, "base": asked, "judge": identity_spec(judge), **asdict(judging)},
        "experiment",
    )
