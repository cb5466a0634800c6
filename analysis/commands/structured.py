"""The command `run.py structured`: the experiments of the UCL study."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import add_judging, hold_all
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, fields_from_args, party_of, with_base_url
from parley.model.cli import Parser, add_option, amount
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.analysis.statement_judge import Judging
    from parley.analysis.studies.structured.experiments import Experiment
    from parley.model.scenario import Scenario


OURS = ("oracle", "pocket")
ONE_PERSONA = {"personas": "simple", "cast": "fixed"}
"""The published procedure: Sam, Alex and Taylor in every run."""


def structured_parser() -> Parser:
    """The options of `run.py structured`."""
    own = {
        "topic": "the study's four",
        "repetitions": "10",
        "rounds": "12",
        "llm": "pocket; experiment models: several",
    }
    parser = Parser(
        "structured",
        "Run an experiment of the UCL study: debates, a judge that scores every statement, and a report (docs/structured.md).",
        "structured closing --llm oracle",
        *cli.debating("runs/structured-<experiment>-<time>", own),
        cli.dry_run("print conditions, rooms and calls, and run nothing"),
    )
    add_option(parser, "EXPERIMENT", "baseline, alone, closing, orders, gender, echo or models")
    add_option(parser, "--judge SPEC", "the model that judges (default: oracle, where our own models debate)")
    add_judging(parser)
    add_option(parser, "--judge-temperature X", "the judge's temperature", amount, default=0.01)
    add_option(
        parser,
        "--mode",
        "run: tests by run (default)\nucl: the published procedure, with the study's one persona per seat",
        default="run",
        choices=("run", "ucl"),
    )
    return parser


def structured(arguments: Sequence[str]) -> int:
    """`run.py structured EXPERIMENT`"""
    options = structured_parser().parse_args(arguments)
    from parley.analysis.statement_judge import VERDICTS, Judging
    from parley.analysis.studies.structured.experiments import condition_folders, experiment
    from parley.analysis.studies.structured.experiments import run_experiment as study
    from parley.analysis.studies.structured.report import write
    from parley.llm.backends import check_reached, check_spec
    from parley.llm.journal import shared_ledger
    from parley.model.scenario_run import JOURNAL
    from parley.model.validation import check_topics

    *specs, named = with_base_url([*options.llm, options.judge or ""], options.base_url)
    models, own = [one for one in specs if not party_of(one)] or ["pocket"], [one for one in specs if party_of(one)]
    judge = named or _judge(models)
    for spec in (*models, judge):
        check_spec(spec)
    chosen = experiment(options.experiment, models)
    base, given = _base(options, chosen, [models[0], *own])
    for spec in (*models, *base.llm_by_party.values(), judge):
        check_topics(spec, base.subject.all_topics)
    if options.dry_run:
        return _planned(chosen, base, options.calls)
    for spec in (*models, *base.llm_by_party.values(), judge):
        check_reached(spec)
    scenarios = [base.with_settings(settings) for settings in chosen.conditions.values()]
    *budgets, judges = budgets_from_args(options, *scenarios, judge)
    out = options.out or Path("runs") / f"structured-{options.experiment}-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    told = tuple(part.strip() for part in options.tell.split(",") if part.strip())
    judging = Judging(options.calls, options.judge_temperature, options.examples, told)
    _claim(out, options.experiment, base, judge, judging)
    held = list(condition_folders(chosen, out).values())
    debated = [(folder / JOURNAL, one) for folder, one in zip(held, budgets, strict=True)]
    ledger = shared_ledger(judges, [*debated, *((folder / "judge" / VERDICTS, judges) for folder in held)])
    steps = study(chosen, base, out, judge, judging, bar, judges, ledger)
    found = hold_all(steps, [folder.name for folder in held], out, given, budgets=budgets, ledger=ledger)
    command = f"python run.py structured {shlex.join(arguments)}"
    report = write(found, options.experiment, chosen, out, judge, options.mode == "ucl", command)
    print(f"report   {report}\nfigure   {out / 'scores.png'}")
    return 0


def _base(options: argparse.Namespace, chosen: Experiment, models: Sequence[str]) -> tuple[Scenario, tuple[str, ...]]:
    """The preset with what was asked for, and the names of the fields that were given. Errors: UserError."""
    from parley.analysis.studies.structured.experiments import PRESET
    from parley.model.scenario import load_preset, parse_settings

    if taken := {key for one in chosen.conditions.values() for key in one} & set(parse_settings(options.set)):
        raise UserError(f"--set {', '.join(sorted(taken))}: the conditions of {options.experiment} differ in that")
    settings = (ONE_PERSONA if options.mode == "ucl" else {}) | fields_from_args(options, models)
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
    from parley.model.cost_estimate import plan_run

    whole, width = 0, max(28, *map(len, chosen.conditions))
    for name, settings in chosen.conditions.items():
        plan = plan_run(base.with_settings(settings))
        rooms, replies, ratings = plan.rooms, plan.replies, plan.ratings
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
    asked = {**base.to_dict(), "llm": identity_spec(base.models.llm)}
    check_manifest(
        out / "structured.json",
        {"experiment": name, "base": asked, "judge": identity_spec(judge), **asdict(judging)},
        "experiment",
    )
