"""The commands `run.py register` and `run.py confirm`: freeze a plan for the test of a claim; run it and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_paths
from parley.analysis.commands.sweep import add_workers, check_cells, measure_cells
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args
from parley.model.cli import Parser, add_option, amount, folder_beside

if TYPE_CHECKING:
    import pandas as pd

    from parley.analysis.claims.claim import Claim
    from parley.analysis.preregistration.registration import Registration
    from parley.analysis.preregistration.stamp import Attempt
    from parley.analysis.preregistration.verdict import Look

REGISTER = """register claim.toml --units 40 --out plan.json
register claim.toml --units 20,40 --missing 50 --out plan.json
register claim.toml --units 40 --pilot runs/pilot --out plan.json"""
CONFIRM = "confirm plan.json --out runs/test"


def register_parser() -> Parser:
    """Return the options of `run.py register`."""
    parser = Parser(
        "register",
        "Freeze a plan for the test of a claim in one file, before any result is seen (docs/preregistration.md).",
        REGISTER,
        cli.seed(),
        cli.out("FILE.json, as the claim's", "FILE", "the registration to write"),
    )
    add_option(parser, "FILE", "the claim, a .toml file (docs/claims.md)", Path)
    add_option(parser, "--units N", "number of seeds; with several looks 20,40: the test stops at the first that decides",
               units, required=True)  # fmt: skip
    add_option(parser, "--missing PERCENT", "leave out a unit with more than this share of topics without a number",
               amount, 0.0)  # fmt: skip
    add_option(parser, "--pilot FOLDER", "print the power of this plan and the units that it needs, by the variance between the "
               "units of a pilot: a folder of run.py confirm or run.py claim", Path)  # fmt: skip
    return parser


def confirm_parser() -> Parser:
    """Return the options of `run.py confirm`."""
    parser = Parser(
        "confirm",
        "Check that a registration and all it froze are unchanged, run that plan and nothing else, and test its claim. A test "
        "that differs from the plan is stamped exploratory (docs/preregistration.md).",
        CONFIRM,
        cli.model("the model, one of those registered", "the first one registered"),
        cli.budget(),
        cli.retry_failures(),
        cli.out("the registration without its ending"),
    )
    add_option(parser, "FILE", "the registration, a .json file", Path)
    add_option(parser, "--units N", "another number of units than registered: exploratory", units)
    add_workers(parser)
    return parser


def units(text: str) -> tuple[int, ...]:
    """Read the number of units at each look: `20,40`."""
    return tuple(cli.positive(part) for part in text.split(","))


def register(words: Sequence[str]) -> int:
    """Run `run.py register`."""
    options = register_parser().parse_args(words)
    from parley.agents.datafiles import save_text
    from parley.analysis.claims.claim import load_claim
    from parley.analysis.preregistration import registration

    path = options.out or options.file.with_suffix(".json")
    if path.exists():
        raise UserError(f"{path} exists, and a registration is not written over: give another --out")
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
    from parley.analysis.preregistration.pilot import check_compared, check_seeds, power_lines, read_pilot
    from parley.analysis.preregistration.registration import corrected_level

    pilot, looks = read_pilot(options.pilot), options.units
    check_compared(pilot, claim, options.pilot)
    check_seeds(pilot, options.seed, looks[-1], options.pilot)
    level = corrected_level(len(looks), len(claim.population.models))
    return power_lines(claim, pilot, looks, level, options.missing / 100)


def confirm(words: Sequence[str]) -> int:
    """Run `run.py confirm`."""
    options = confirm_parser().parse_args(words)
    from parley.analysis.formatting import count_phrase
    from parley.analysis.preregistration.registration import read_registration
    from parley.analysis.preregistration.report import stamp_text, write_confirmation
    from parley.analysis.preregistration.stamp import Attempt, replaced_debates, why_exploratory
    from parley.analysis.preregistration.verdict import claim_sentence
    from parley.model.scenario_run import lock_folder

    plan = read_registration(options.file)
    given = models_from_args(options)
    if len(given) > 1:
        raise UserError("--llm: give one model, because each model is a separate test")
    folder = options.out or folder_beside(options.file)
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

    from parley.analysis.claims.differences import pair_rooms
    from parley.analysis.claims.multiverse import ARMS
    from parley.analysis.claims.outcomes import RoomMeasure
    from parley.analysis.preregistration.stamp import NotedMeasure, note_begun, seen_file
    from parley.analysis.preregistration.verdict import make_look
    from parley.model.sweep.design import SweepCell, check_sweep_manifest

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
