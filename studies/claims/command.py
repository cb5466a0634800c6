"""The commands `run.py study claim`, `register` and `confirm`: a claim over many settings, and the test of a frozen plan."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_paths, results_folder
from parley.analysis.commands.sweep import cells_of_workers, check_cells, measure_cells
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.arguments import budgets_from_args, models_from_args, prices_from_args
from parley.model.cli import Parser, add_option, amount, positive

if TYPE_CHECKING:
    import pandas as pd

    from parley.studies.claims.claim import Claim
    from parley.studies.claims.confirmation import Look
    from parley.studies.claims.multiverse import Multiverse
    from parley.studies.claims.registration import Registration
    from parley.studies.claims.stamp import Attempt

EXAMPLES = """study claim claim.toml --llm oracle
study claim claim.toml --llm openai:MODEL --specifications 32 --max-cost 5"""


def claim_parser() -> Parser:
    """Return the options of `run.py study claim`."""
    parser = Parser(
        "study claim",
        "Run the two conditions that a claim compares, under many combinations of settings that should "
        "not matter (wording, order, scale, memory, ...). The report says whether the claim holds, and "
        "on which settings the claim depends (studies/claims/README.md).",
        EXAMPLES,
        cli.model("the models with which the claim is checked", "the models named in the file"),
        cells_of_workers(),
        cli.budget(),
        cli.retry_failures(),
        cli.seed(),
        cli.out("runs/claim-<time>"),
        cli.dry_run("print the specifications, calls, tokens and cost, and stop without running anything"),
    )
    add_option(parser, "FILE", "the claim, a .toml file (studies/claims/README.md)", path_options.given_file)
    add_option(parser, "--specifications N", "number of combinations of settings (specifications)", positive, 64)
    add_option(
        parser,
        "--repetitions N",
        "number of groups of people from each set of personas (default: 8 groups, shared among the sets)",
        positive,
    )
    add_option(parser, "--no-qualify", cli.NO_QUALIFY, action="store_true")
    return parser


def claim(words: Sequence[str]) -> int:
    """Run `run.py study claim`."""
    options = claim_parser().parse_args(words)
    from parley.studies.claims.claim import check_claim, read_claim
    from parley.studies.claims.dimensions import check_size

    stated_claim = _with_models(read_claim(options.file), options)
    check_size(stated_claim, options.specifications)  # before the slow imports
    check_claim(stated_claim, options.file.name)
    from parley.analysis.outcomes import RoomMeasure
    from parley.analysis.qualify.before_run import qualify_models
    from parley.model.progress import bar
    from parley.model.scenario_run import lock_folder
    from parley.model.sweep.design import check_sweep_manifest
    from parley.studies.claims.audit import audit_claim
    from parley.studies.claims.derivation import write_design
    from parley.studies.claims.multiverse import Multiverse, given_fields
    from parley.studies.claims.report import NAME, sentence, write_claim

    repetitions = options.repetitions or Multiverse.usual_repetitions(stated_claim)
    multiverse = Multiverse(stated_claim, options.specifications, repetitions, options.seed)
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
        measure, say = RoomMeasure(stated_claim.measure), partial(print, flush=True)
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


def _with_models(stated_claim: Claim, options: argparse.Namespace) -> Claim:
    """Return the claim with the models of --llm, if there are some."""
    models = tuple(dict.fromkeys(models_from_args(options))) or stated_claim.population.models
    return replace(stated_claim, population=replace(stated_claim.population, models=models))


def _warn_of_few(multiverse: Multiverse) -> None:
    """Print before anything is asked that the people are too few for a verdict."""
    from parley.studies.claims.curve import FEWEST_UNITS
    from parley.studies.claims.verdict import few_people

    if multiverse.people < FEWEST_UNITS:
        print(f"The claim's result will be unknown, because {few_people(multiverse.people)}.", flush=True)


def _print_plan(multiverse: Multiverse, options: argparse.Namespace) -> None:
    """Print for --dry-run what is varied, and the calls, tokens and cost of all specifications."""
    from parley.analysis.qualify.before_run import planned_checks
    from parley.model.cost_estimate import estimate_cost
    from parley.model.run_plan import plan_run

    scenarios = [cell.scenario for cell in multiverse.cells()]
    plans = [plan_run(scenario) for scenario in scenarios]
    for dimension in multiverse.dimensions:
        print(f"{dimension.name:<20} {', '.join(dimension.levels)}")
    for name, why in multiverse.left_out.items():
        print(f"left out: {name}: {why}")
    total = sum(plan.calls for plan in plans)
    print(f"{len(multiverse.design)} specifications, {len(scenarios)} runs, {total:,} calls")
    _warn_of_few(multiverse)
    prices = [prices_from_args(options, scenario) for scenario in scenarios]
    checks = planned_checks(scenarios, options.no_qualify)
    print("\n".join(estimate_cost([(plan, 1) for plan in plans], prices, checks)))


REGISTER = """study register claim.toml --units 40 --out plan.json
study register claim.toml --units 20,40 --missing 50 --out plan.json
study register claim.toml --units 40 --pilot runs/pilot --out plan.json"""
CONFIRM = "study confirm plan.json --out runs/test"


def register_parser() -> Parser:
    """Return the options of `run.py study register`."""
    parser = Parser(
        "study register",
        "Write the plan for the test of a claim to one file, before any result is seen (studies/claims/README.md).",
        REGISTER,
        cli.seed(),
        cli.out("FILE.json, with the name of the claim's file", "FILE", "the registration to write"),
    )
    add_option(parser, "FILE", "the claim, a .toml file (studies/claims/README.md)", path_options.given_file)
    about = "number of seeds; with several numbers (20,40), the claim is tested after each number, until the claim is decided"
    add_option(parser, "--units N", about, units, required=True)
    add_option(parser, "--missing PERCENT", "leave out a seed if more than this percentage of its topics lacks an outcome",
               amount, 0.0)  # fmt: skip
    about = (
        "print the power of the plan and the number of seeds that the plan needs. The variance between seeds is "
        "taken from a pilot, a folder of run.py study confirm or run.py study claim"
    )
    add_option(parser, "--pilot FOLDER", about, Path)
    return parser


def confirm_parser() -> Parser:
    """Return the options of `run.py study confirm`."""
    parser = Parser(
        "study confirm",
        "Check that a registration and its frozen files are unchanged, run exactly the registered plan, "
        "and test the claim. A test that differs from the plan is called exploratory "
        "(studies/claims/README.md).",
        CONFIRM,
        cli.model("the model, which must be one of the registered models", "the first registered model"),
        cells_of_workers(),
        cli.budget(),
        cli.retry_failures(),
        cli.out("the registration without its ending"),
    )
    add_option(parser, "FILE", "the registration, a .json file", path_options.given_file)
    add_option(
        parser, "--units N", "a number of seeds other than the registered one; the test is then exploratory", units
    )
    return parser


def units(text: str) -> tuple[int, ...]:
    """Read the number of units at each look: `20,40`."""
    return tuple(cli.positive(number) for number in text.split(","))


def register(words: Sequence[str]) -> int:
    """Run `run.py study register`."""
    options = register_parser().parse_args(words)
    from parley.agents.datafiles import save_text
    from parley.studies.claims import registration
    from parley.studies.claims.claim import load_claim

    path = options.out or options.file.with_suffix(".json")
    if path.exists():
        raise UserError(f"{path} exists already, and a registration is never overwritten: give another --out")
    if options.missing > 100:
        raise UserError("--missing is a percentage: give 0 to 100")
    claim, now = load_claim(options.file), datetime.now(UTC).replace(microsecond=0)
    text = registration.register(claim, options.units, options.missing / 100, options.seed, now)
    lines = _power_lines(claim, options) if options.pilot else []
    save_text(path, text)
    print("\n".join(lines), end="\n" if lines else "")
    print_paths(plan=path, hash=registration.read_registration(path).code)
    return 0


def _power_lines(claim: Claim, options: argparse.Namespace) -> list[str]:
    """Return what a pilot says of the power of the plan."""
    from parley.studies.claims.pilot import check_compared, check_seeds, power_lines, read_pilot
    from parley.studies.claims.registration import corrected_level

    pilot, looks = read_pilot(options.pilot), options.units
    check_compared(pilot, claim, options.pilot)
    check_seeds(pilot, options.seed, looks[-1], options.pilot)
    level = corrected_level(len(looks), len(claim.population.models))
    return power_lines(claim, pilot, looks, level, options.missing / 100)


def confirm(words: Sequence[str]) -> int:
    """Run `run.py study confirm`."""
    options = confirm_parser().parse_args(words)
    from parley.analysis.formatting import count_phrase
    from parley.model.scenario_run import lock_folder
    from parley.studies.claims.confirmation import claim_sentence, stamp_text, write_confirmation
    from parley.studies.claims.registration import read_registration
    from parley.studies.claims.stamp import Attempt, replaced_debates, why_exploratory

    plan = read_registration(options.file)
    given = models_from_args(options)
    if len(given) > 1:
        raise UserError("--llm: give one model, because each model is a separate test")
    folder = options.out or path_options.folder_beside(options.file)
    attempt = Attempt(options.units or plan.looks, (given or plan.models)[0], folder)
    reasons = why_exploratory(plan, options.file, attempt)
    print_paths(folder=folder)
    with lock_folder(folder):
        looks, differences = _test(plan, attempt, options)
        if count := replaced_debates(options.file):
            reasons.append(f"{count_phrase(count, 'run')} had other results before")
        page = write_confirmation(plan, looks, differences, attempt.model, reasons, folder)
    print(f"{stamp_text(reasons)}\n{claim_sentence(plan.claim, looks, plan.level)}")
    print_paths(report=page)
    return 0


def _test(plan: Registration, attempt: Attempt, options: argparse.Namespace) -> tuple[list[Look], pd.DataFrame]:
    """Run the units of each look and test, until a look decides. Return the looks, and the differences of the last one."""
    import pandas as pd

    from parley.analysis.outcomes import RoomMeasure
    from parley.model.sweep.design import SweepCell, check_sweep_manifest
    from parley.studies.claims.confirmation import make_look
    from parley.studies.claims.differences import pair_rooms
    from parley.studies.claims.multiverse import ARMS
    from parley.studies.claims.stamp import NotedMeasure, note_begun, seen_file

    claim, looks = plan.claim, []
    arms = claim.arms({**claim.base_settings(), "llm": attempt.model, "repetitions": 1})
    seeds = range(plan.seed, plan.seed + attempt.looks[-1])
    cells = [SweepCell((("arm", name),), arm, seed) for seed in seeds
             for name, arm in zip(ARMS, arms, strict=True)]  # fmt: skip
    check_cells(cells)
    check_sweep_manifest(attempt.folder, cells)
    note_begun(options.file, attempt)
    measure = NotedMeasure(RoomMeasure(claim.measure), attempt, seen_file(options.file.resolve()))
    say = partial(print, flush=True)
    for count in attempt.looks:
        done = measure_cells(options, cells[: 2 * count], ("seed",), attempt.folder, measure, say)
        done.check()
        rooms = done.measured
        parts = [pair_rooms(rooms[2 * at], rooms[2 * at + 1], seed) for at, seed in enumerate(seeds[:count])]
        differences = pd.concat(parts, ignore_index=True)
        looks.append(make_look(claim, differences, plan.missing))
        if looks[-1].decides(plan.level):
            break
    return looks, differences
