"""The command `run.py sweep`: a scenario over values of its fields and over seeds."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, prices_from_args, scenario_from_args, with_base_url
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import meter

if TYPE_CHECKING:
    from parley.model.scenario import Scenario
    from parley.model.sweep.cell_runner import CellResult
    from parley.model.sweep.design import SweepCell


EXAMPLES = """sweep --scenario two_way --llm oracle --vary rounds=2,5,10 --seeds 0:20 --workers 4 --out runs/rounds
sweep --scenario two_way --vary "llm=oracle,kappa=0;oracle,kappa=0.3"   (values with commas: part them with ;)
sweep --scenario three_way --llm openai:MODEL --base-url URL --vary memory=whole,last:6 --max-cost 5
sweep --scenario two_way --llm oracle --vary rounds=2,5 --ray local     (needs the [ray] extra)"""

ALIKE = 3
"""Cells in a row that no model answers, or not so that it could be read, after which a sweep ends."""
NOT_TRIED = "not tried: the cells before it had no answer that could be read"
Say = Callable[[str], object]
WHERE = ("--out", "--workers", "--ray")


def sweep_parser() -> Parser:
    """The options of `run.py sweep`."""
    parser = Parser(
        "sweep",
        "Run a scenario with every combination of some values and every seed, each in a run folder of its own. The same command "
        "again goes on where it stopped (docs/sweeps.md).",
        EXAMPLES,
        cli.scenario(),
        *cli.debating("runs/sweep-<scenario>-<time>"),
        cli.dry_run("print cells, calls, tokens and cost, and run nothing"),
        cli.retry_failures(),
    )
    add_option(
        parser,
        "--vary KEY=VALUE,VALUE",
        "a field (as for --set), topic or llm, with its values; repeat it for all combinations; where a value has commas, "
        "part the values with ;",
        default=[],
        action="append",
    )
    add_option(parser, "--seeds FIRST:END", "random seeds: 0:20 is 0 to 19; or 3,5,8; --seed 3 is one (default: 0:10)")
    add_option(parser, "--workers N", "cells at the same time (default: as many as there are cores)", positive)
    add_option(parser, "--ray ADDRESS", "run on a Ray cluster: its address, auto, or local")
    return parser


def sweep(arguments: Sequence[str]) -> int:
    """`run.py sweep --scenario NAME --vary KEY=VALUES --seeds 0:20`"""
    options = sweep_parser().parse_args(arguments)
    if not options.scenario:
        raise UserError("name a scenario: python run.py sweep --scenario two_way --vary rounds=2,5 (see --help)")
    if options.seed is not None and options.seeds:
        raise UserError("--seed is one seed and --seeds are several: give one of the two")
    cells, given = _cells(options)
    if options.dry_run:
        return _planned(cells, options)
    command = f"python run.py sweep {shlex.join(_design(arguments))}"
    make_sweep(cells, given, options, command, partial(print, flush=True))
    return 0


def make_sweep(
    cells: Sequence[SweepCell], given: tuple[str, ...], options: argparse.Namespace, command: str, say: Say
) -> Path:
    """Run the cells of a sweep and write its report; the folder. options: as of sweep_parser; command: what makes it again.

    Errors: UserError, also for unfinished cells, once the report is written.
    """
    from parley.llm.backends import check_reached
    from parley.model.scenario_run import lock_folder
    from parley.model.sweep.design import check_sweep_manifest
    from parley.model.sweep.ray_cluster import check_address

    for scenario, *_ in _combinations(cells):  # before the folder is made
        for spec in (scenario.models.llm, *scenario.llm_by_party.values()):
            check_reached(spec)
    if options.ray:
        check_address(options.ray)
    out = options.out or Path("runs") / f"sweep-{cells[0].combined.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    say(f"folder   {out}")
    with lock_folder(out):
        check_sweep_manifest(out, cells)
        _held(options, cells, given, out, command, say)
    return out


def _design(arguments: Sequence[str]) -> list[str]:
    """The arguments without those that change nothing in what is found: where, and on how many machines or cores."""
    kept, rest = [], iter(arguments)
    for argument in rest:
        if argument in WHERE:
            next(rest)
        elif argument.partition("=")[0] not in WHERE:
            kept.append(argument)
    return kept


def _cells(options: argparse.Namespace) -> tuple[list[SweepCell], tuple[str, ...]]:
    """The cells, and the names of the fields that were given. Errors: UserError."""
    from parley.model.sweep.design import parse_seeds, parse_vary, sweep_cells

    seeds = parse_seeds(options.seeds or ("0:10" if options.seed is None else str(options.seed)))
    (varied, models), options.seed = _addressed(parse_vary(options.vary), options), None
    base, given = scenario_from_args(options, models=models)
    if "seed" in {*varied, *given}:
        raise UserError("seeds go into --seeds")
    if taken := sorted(set(varied) & set(given)):
        raise UserError(f"--vary {taken[0]}: it is also set by another option; remove one")
    found = sweep_cells(base, varied, seeds)
    check_cells(found)
    return found, (*given, *varied, "seed")


def check_cells(cells: Sequence[SweepCell]) -> None:
    """Errors: UserError where a graph does not fit, or a model cannot debate a topic."""
    from parley.model.casting import check_files
    from parley.model.validation import check_topics

    for scenario, *_ in _combinations(cells):
        check_files(scenario)
        for spec in (scenario.models.llm, *scenario.llm_by_party.values()):
            check_topics(spec, [] if scenario.subject.questions else scenario.subject.all_topics)


def _addressed(
    varied: dict[str, tuple[str, ...]], options: argparse.Namespace
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The varied fields, and the models of --llm; every model with the address of --base-url."""
    keys = [key for key in ("llm", "llms") if key in varied]
    specs = with_base_url([*options.llm, *(spec for key in keys for spec in varied[key])], options.base_url)
    rest = iter(specs[len(options.llm) :])
    return varied | {key: tuple([next(rest) for _ in varied[key]]) for key in keys}, specs[: len(options.llm)]


def _planned(cells: Sequence[SweepCell], options: argparse.Namespace) -> int:
    """`--dry-run`: the cells and calls of each combination; tokens, cost and time of all."""
    from parley.analysis.formatting import count_phrase
    from parley.model.cost_estimate import estimate_cost, estimate_time, plan_run

    whole, rows, plans = 0, _combinations(cells), []
    width = max(40, *[len(name) for _, name, _ in rows])
    for scenario, name, seeds in rows:
        plans.append((plan_run(scenario), seeds))
        calls = plans[-1][0].calls
        whole += calls * seeds
        print(f"{name:<{width}} {count_phrase(seeds, 'seed'):>10} {calls:>10,} calls each")
    print(f"{'in all':<{width}} {count_phrase(len(cells), 'cell'):>10} {whole:>10,} calls")
    scenarios = [scenario for scenario, _, _ in rows]
    print("\n".join(estimate_cost(plans, [prices_from_args(options, scenario) for scenario in scenarios])))
    print(estimate_time(scenarios, whole))
    return 0


def _combinations(cells: Sequence[SweepCell]) -> list[tuple[Scenario, str, int]]:
    """Scenario, name and seeds of each combination."""
    seeds = Counter(cell.combination for cell in cells)
    return [
        (scenario, name, seeds[name]) for name, scenario in {cell.combination: cell.combined for cell in cells}.items()
    ]


def _calls(scenario: Scenario) -> int:
    from parley.model.cost_estimate import plan_run

    return plan_run(scenario).calls


def _held(
    options: argparse.Namespace, cells: Sequence[SweepCell], given: tuple[str, ...], out: Path, command: str, say: Say
) -> None:
    """Hold the cells, write the report."""
    from parley.analysis.formatting import count_phrase
    from parley.analysis.sweep.report import write
    from parley.analysis.sweep.tables import measure_cell
    from parley.model.missing_replies import MissingTally
    from parley.model.sweep.cell_runner import SweepJob
    from parley.model.sweep.runner import run_cells

    scenarios = {cell.combination: cell.combined for cell in cells}
    limits = dict(zip(scenarios, budgets_from_args(options, *scenarios.values()), strict=True))
    how = options.retry_failures, options.keep_going
    jobs = [SweepJob(cell, out, given, limits[cell.combination].prices, *how) for cell in cells]
    workers, limit = options.workers or _cores(), limits[cells[0].combination]
    found, stopped, asked, gone, last, began, tally = {}, {}, 0, 0, None, time.monotonic(), MissingTally()
    with _Bar(cells) as shown:
        for place, held in run_cells(jobs, measure_cell, workers, limit, options.ray, shown.calls, shown.say):
            shown.cell(place, held)
            asked += held.asked
            tally.add(held.tally or MissingTally())
            if held.stopped is None:
                found[place] = held.found
            else:
                stopped[place] = held.stopped
            gone = gone + 1 if held.gone else 0
            if gone == ALIKE:
                last = held.stopped
                break
    seconds = time.monotonic() - began
    if last:
        stopped |= {place: NOT_TRIED for place in range(len(cells)) if place not in found and place not in stopped}
    say(f"cells    {len(found)} of {len(cells)} are finished; {asked:,} calls asked in {seconds:.1f} s")
    if tally.line:
        say(tally.line)
    say(f"summary  {write(out, cells, found, stopped, command)}\ntable    {out / 'cells.csv'}")
    if last:
        why = f"{ALIKE} cells in a row had no answer that could be read, and no further cell was tried"
        raise UserError(f"{why}: {last}; the same command goes on")
    if stopped:
        raise UserError(
            f"{count_phrase(len(stopped), 'cell')} of {len(cells)} unfinished: {stopped[min(stopped)]}; the same command goes on"
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Bar:
    """Cells and calls done, calls a second and time left."""

    def __init__(self, cells: Sequence[SweepCell]):
        self.expected = {name: _calls(scenario) for scenario, name, _ in _combinations(cells)}
        self.cells, self.done = cells, 0

    def __enter__(self) -> _Bar:
        total = sum(self.expected[cell.combination] for cell in self.cells)
        self.bar = meter("sweep", total)
        return self

    def calls(self, number: int) -> None:
        self.bar.update(number)

    def cell(self, place: int, held: CellResult) -> None:
        self.done += 1
        if not held.asked + held.replayed and held.stopped is None:  # it was there
            self.bar.update(self.expected[self.cells[place].combination])
        self.bar.set_postfix_str(f"{self.done}/{len(self.cells)} cells")

    def say(self, line: str) -> None:
        self.bar.write(line)

    def __exit__(self, *_: object) -> None:
        self.bar.close()
