"""The command `run.py sweep`: a scenario with every combination of some values and every seed."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, fields_from_args, prices_from_args, with_base_url
from parley.model.cli import Parser, add_option
from parley.model.progress import meter

if TYPE_CHECKING:
    from parley.model.scenario import Scenario
    from parley.model.sweep.cell_runner import SweepJob
    from parley.model.sweep.design import SweepCell


EXAMPLES = """sweep --scenario two_way --llm oracle --vary rounds=2,5,10 --seeds 0:20 --workers 4 --out runs/rounds
sweep --scenario two_way --vary "llm=oracle,kappa=0;oracle,kappa=0.3"   (values with commas: separate them with ;)
sweep --scenario three_way --llm openai:MODEL --base-url URL --vary memory=whole,last:6 --max-cost 5
sweep --scenario two_way --llm oracle --vary rounds=2,5 --cluster local     (needs the [ray] extra)
sweep --scenario two_way --llm oracle --vary rounds=2,5 --out runs/rounds --part 1/10   (one job of ten)"""

MOST_NAMED = 20
"""Missing cells that a plan names."""
UNREADABLE = 3
"""A sweep ends after so many cells in a row without an answer that could be read."""
TABLE = "cells.csv"
NOT_TRIED = "not tried: the cells before this one had no readable answer"
Say = Callable[[str], object]
WHERE = ("--out", "--workers", "--cluster", "--part")
"""Options that change no result: the folder, the machines or cores, and which of them runs what."""
WHOLE = "1/1"
"""The part that is the whole sweep."""


def sweep_parser() -> Parser:
    """Return the options of `run.py sweep`."""
    parser = Parser(
        "sweep",
        "Run a scenario with every combination of the given values, and with every seed. Each "
        "combination has its own run folder. Repeat a stopped command to continue (docs/sweeps.md).",
        EXAMPLES,
        cli.scenario(),
        *cli.debating("runs/sweep-<scenario>-<time>", divided=cells_of_workers()),
        cli.dry_run("print the planned runs, calls, tokens and cost, and stop without running anything"),
        cli.retry_failures(),
    )
    about = (
        "values to try for a field (as in --set), topic or llm. Give --vary again for another field: Parley runs all "
        "combinations. If a value contains a comma, put ; between the values"
    )
    add_option(parser, "--vary KEY=VALUE,VALUE", about, default=[], action="append")
    add_option(
        parser, "--seeds FIRST:END", "random seeds to run: 0:20 for 0 to 19, or a list such as 3,5,8 (default: 0:10)"
    )
    about = (
        "run only one part of the sweep, for an array of jobs with the same --out; for example, 3/10 is "
        "the third of ten parts. When all parts are finished, repeat the command without --part, which "
        "writes the tables and the report"
    )
    add_option(parser, "--part PART/PARTS", about, default=WHOLE)
    return parser


def cells_of_workers() -> argparse.ArgumentParser:
    """The options of workers that share the cells of a sweep."""
    return cli.workers("the runs of the sweep", "the number of cores")


def sweep(words: Sequence[str]) -> int:
    """Run `run.py sweep --scenario NAME --vary KEY=VALUES --seeds 0:20`."""
    options = sweep_parser().parse_args(words)
    if not options.scenario:
        raise UserError(
            "no scenario was given: name one, such as python run.py sweep --scenario two_way --vary rounds=2,5"
        )
    if options.seed is not None and options.seeds:
        raise UserError("--seed and --seeds cannot be combined: leave out --seed to run several seeds")
    if options.part != WHOLE and not options.out:
        raise UserError("--part needs the folder that all parts share: add --out FOLDER")
    cells, given = _cells(options)
    if options.dry_run:
        _print_plan(cells, options)
    else:
        command = f"python run.py sweep {shlex.join(_without_where(words))}"
        make_sweep(cells, given, options, command, partial(print, flush=True))
    return 0


def _without_where(words: Sequence[str]) -> list[str]:
    design, rest = [], iter(words)
    for word in rest:
        if word in WHERE:
            next(rest)
        elif word.partition("=")[0] not in WHERE:
            design.append(word)
    return design


def _cells(options: argparse.Namespace) -> tuple[list[SweepCell], tuple[str, ...]]:
    """Return the cells, and the names of the fields that were given. Errors: UserError."""
    from parley.model.scenario import read_preset
    from parley.model.sweep.design import parse_seeds, parse_vary, sweep_cells

    seeds = parse_seeds(options.seeds or ("0:10" if options.seed is None else str(options.seed)))
    (varied, models), options.seed = _with_addresses(parse_vary(options.vary), options), None
    given = fields_from_args(options, models)
    if "seed" in {*varied, *given}:
        raise UserError("seeds cannot be varied with --vary or --set: give them with --seeds, such as --seeds 0:20")
    if taken := sorted(set(varied) & set(given)):
        raise UserError(f"--vary {taken[0]} sets a field that another option sets too: leave out one of the two")
    cells = sweep_cells(read_preset(options.scenario, given), varied, seeds)
    check_cells(cells)
    return cells, (*given, *varied, "seed")


def _with_addresses(
    varied: dict[str, tuple[str, ...]], options: argparse.Namespace
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the varied fields and the models of --llm, every model with the address of --base-url."""
    keys = [key for key in ("llm", "llms") if key in varied]
    specs = with_base_url([*options.llm, *(spec for key in keys for spec in varied[key])], options.base_url)
    rest = iter(specs[len(options.llm) :])
    return varied | {key: tuple(islice(rest, len(varied[key]))) for key in keys}, specs[: len(options.llm)]


def check_cells(cells: Sequence[SweepCell]) -> None:
    """Errors: UserError where a graph does not fit, or a model cannot debate a topic."""
    from parley.model.model_shares import called_models
    from parley.model.own_graph import check_files
    from parley.model.validation import check_topics, topics_to_know

    for scenario, _ in _combinations(cells).values():
        check_files(scenario)
        for spec in called_models(scenario):
            check_topics(spec, topics_to_know(scenario))


def _combinations(cells: Sequence[SweepCell]) -> dict[str, tuple[Scenario, int]]:
    """Return the scenario and the number of seeds of each combination, by its name."""
    seeds = Counter(cell.combination for cell in cells)
    return {cell.combination: (cell.combined, seeds[cell.combination]) for cell in cells}


def _print_plan(cells: Sequence[SweepCell], options: argparse.Namespace) -> None:
    """Print for --dry-run the cells and calls of each combination that are to be run, and the tokens, cost and time of all."""
    from parley.analysis.formatting import count_phrase
    from parley.analysis.qualify.before_run import planned_checks
    from parley.model.cost_estimate import estimate_cost
    from parley.model.run_plan import plan_run
    from parley.model.sweep.design import parse_part

    cells = [cells[place] for place in parse_part(options.part, len(cells))]
    if options.out and options.out.exists() and not (cells := _missing_cells(cells, options.out)):
        return
    combinations = _combinations(cells)
    scenarios = [scenario for scenario, _ in combinations.values()]
    plans = [(plan_run(scenario), seeds) for scenario, seeds in combinations.values()]
    width, total = max(40, *map(len, combinations)), sum(plan.calls * seeds for plan, seeds in plans)
    for name, (plan, seeds) in zip(combinations, plans, strict=True):
        print(f"{name:<{width}} {count_phrase(seeds, 'seed'):>10} {plan.calls:>10,} calls each")
    print(f"{'in all':<{width}} {count_phrase(len(cells), 'cell'):>10} {total:>10,} calls")
    prices, checks = (
        [prices_from_args(options, each) for each in scenarios],
        planned_checks(scenarios, options.no_qualify),
    )
    print("\n".join(estimate_cost(plans, prices, checks)))


def _missing_cells(cells: Sequence[SweepCell], out: Path) -> list[SweepCell]:
    """Return the cells that are not finished in the folder of a sweep, and print how many and which."""
    from parley.analysis.formatting import count_phrase
    from parley.model.sweep.cell_runner import SweepJob

    missing = [cell for cell in cells if not SweepJob(cell, out).finished]
    print(
        f"{count_phrase(len(cells), 'cell')} in {out}: {len(cells) - len(missing):,} finished, {len(missing):,} missing"
    )
    for cell in missing[:MOST_NAMED]:
        print(f"missing  {cell.folder}")
    if len(missing) > MOST_NAMED:
        print(f"missing  and {len(missing) - MOST_NAMED:,} more")
    return missing


def make_sweep(
    cells: Sequence[SweepCell], given: tuple[str, ...], options: argparse.Namespace, command: str, say: Say
) -> Path:
    """Run the cells of a sweep, write its report, and return the folder.

    options: those of sweep_parser. command: the command that repeats the sweep.
    Errors: UserError, also for unfinished cells, once the report is written.
    """
    from parley.llm.backends import check_reached
    from parley.model.model_shares import called_models
    from parley.model.scenario_run import lock_folder
    from parley.model.sweep.cluster_address import check_cluster
    from parley.model.sweep.design import check_sweep_folder, check_sweep_manifest, parse_part

    for scenario, _ in _combinations(cells).values():  # before there is a folder
        for spec in called_models(scenario):
            check_reached(spec)
    places = parse_part(options.part, len(cells))
    if options.cluster:
        check_cluster(options.cluster)
    out = results_folder(options, f"sweep-{cells[0].combined.name}")
    say(f"folder   {out}")
    is_part = len(places) < len(cells)
    with lock_folder(
        out, wait=is_part
    ):  # the first part checks the models and labels the folder, the others wait for it
        check_sweep_folder(out)
        if not options.no_qualify:
            cells, given = _qualified(options, cells, given, out, say)
        check_sweep_manifest(out, cells)
        if not is_part:
            _run_cells(options, cells, given, out, command, say)
    if is_part:  # the folder is open to the other parts; each cell locks its own run folder
        _run_part(options, [cells[place] for place in places], given, out, say)
    return out


def _run_part(
    options: argparse.Namespace, cells: Sequence[SweepCell], given: tuple[str, ...], out: Path, say: Say
) -> None:
    """Run the cells of one part, and write no report: other parts may be running."""
    from parley.analysis.sweep.tables import measure_cell

    measure_cells(options, cells, given, out, measure_cell, say).check()
    say(
        f"part     {options.part} is finished: repeat the command without --part when all parts are, for tables and report"
    )


def _run_cells(
    options: argparse.Namespace, cells: Sequence[SweepCell], given: tuple[str, ...], out: Path, command: str, say: Say
) -> None:
    """Run the cells and write the report, unless all of that is there."""
    from parley.analysis.sweep.report import SUMMARY, write
    from parley.analysis.sweep.tables import measure_cell
    from parley.model.sweep.cell_runner import SweepJob

    jobs = [SweepJob(cell, out, retry_failures=options.retry_failures) for cell in cells]
    if all(job.finished for job in jobs) and _is_newer(out / SUMMARY, jobs):
        say(
            f"cells    all {len(cells)} were finished before, so no model is called (--retry-failures repeats failed calls)"
        )
        say(f"summary  {out / SUMMARY}\ntable    {out / TABLE}")
        return
    done = measure_cells(options, cells, given, out, measure_cell, say)
    say(f"summary  {write(out, cells, done.measured, done.stopped, command)}\ntable    {out / TABLE}")
    done.check()


def _qualified(
    options: argparse.Namespace, cells: Sequence[SweepCell], given: tuple[str, ...], out: Path, say: Say
) -> tuple[Sequence[SweepCell], tuple[str, ...]]:
    """Check each new model once, before its cells; return the cells, asked in the way that serves it (analysis/qualify)."""
    from parley.analysis.qualify.before_run import qualified_cells
    from parley.model.progress import bar

    budget, *_ = budgets_from_args(options, *(scenario for scenario, _ in _combinations(cells).values()))
    return qualified_cells(cells, given, out, bar, budget, say)


def _is_newer(summary: Path, jobs: Sequence[SweepJob]) -> bool:
    """Return whether a summary was written after the last record, so that it has all cells."""
    from parley.model.files import RECORD

    return summary.exists() and summary.stat().st_mtime >= max((job.run / RECORD).stat().st_mtime for job in jobs)


@dataclass(frozen=True)
class MeasuredCells:
    """What was measured of each cell, and why other cells are unfinished, by the place of the cell.

    unread: the reason of the last cell, if several cells in a row had no readable answer.
    """

    cells: int
    measured: dict[int, Any]
    stopped: dict[int, str]
    unread: str | None = None

    def check(self) -> None:
        """Errors: UserError if a cell is unfinished."""
        from parley.analysis.formatting import count_phrase

        if self.unread:
            why = f"{UNREADABLE} cells in a row had no readable answer, so the sweep stopped"
            raise UserError(f"{why}: {self.unread}; repeat the command to continue")
        if self.stopped:
            unfinished = f"{count_phrase(len(self.stopped), 'cell')} of {self.cells} unfinished"
            raise UserError(f"{unfinished}: {self.stopped[min(self.stopped)]}; repeat the command to continue")


def measure_cells(
    options: argparse.Namespace,
    cells: Sequence[SweepCell],
    given: tuple[str, ...],
    out: Path,
    measure: Callable[[Path], Any],
    say: Say,
) -> MeasuredCells:
    """Run all cells within the limits of the options, each in its run folder in `out`, and measure each run folder."""
    from parley.model.missing_replies import MissingTally
    from parley.model.sweep.cell_runner import SweepJob
    from parley.model.sweep.runner import run_cells

    scenarios = {name: scenario for name, (scenario, _) in _combinations(cells).items()}
    budgets = dict(zip(scenarios, budgets_from_args(options, *scenarios.values()), strict=True))
    flags = options.retry_failures, options.keep_going
    jobs = [SweepJob(cell, out, given, budgets[cell.combination].prices, *flags) for cell in cells]
    workers, budget = options.workers or _cores(), budgets[cells[0].combination]
    measured, stopped, calls_made, unreadable, tally = {}, {}, 0, 0, MissingTally()
    began, before = time.monotonic(), [job.finished for job in jobs]
    if any(before):
        say(f"cells    {sum(before)} of {len(cells)} were finished before: their models are not called again")
    with _Bar([cell for cell, finished in zip(cells, before, strict=True) if not finished], sum(before)) as bar:
        for place, result in run_cells(jobs, measure, workers, budget, options.cluster, bar.calls, bar.say):
            bar.cell(before[place])
            calls_made += result.asked
            tally.add(result.tally or MissingTally())
            if result.stopped is None:
                measured[place] = result.found
            else:
                stopped[place] = result.stopped
            unreadable = unreadable + 1 if result.gone else 0
            if unreadable == UNREADABLE:
                break
    seconds = time.monotonic() - began
    last = result.stopped if unreadable == UNREADABLE else None
    if last:
        stopped |= {place: NOT_TRIED for place in range(len(cells)) if place not in measured | stopped}
    say(f"cells    {len(measured)} of {len(cells)} are finished; {calls_made:,} calls were made in {seconds:.1f} s")
    if tally.line:
        say(tally.line)
    return MeasuredCells(len(cells), measured, stopped, last)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Bar:
    """The progress bar of a sweep: cells and calls done, calls per second, time left. Finished cells have no calls."""

    def __init__(self, unfinished: Sequence[SweepCell], finished: int):
        from parley.model.run_plan import plan_run

        calls = {name: plan_run(scenario).calls for name, (scenario, _) in _combinations(unfinished).items()}
        self.expected = sum(calls[cell.combination] for cell in unfinished)
        self.done, self.cells = finished, finished + len(unfinished)

    def __enter__(self) -> _Bar:
        self.bar = meter("sweep", self.expected)
        self.calls, self.say = self.bar.update, self.bar.write
        return self

    def cell(self, before: bool) -> None:
        """Count a cell as done. before: whether it was finished in an earlier start."""
        self.done += not before
        self.bar.set_postfix_str(f"{self.done}/{self.cells} cells")

    def __exit__(self, *_: object) -> None:
        self.bar.close()
