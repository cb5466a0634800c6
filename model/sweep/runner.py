"""All cells of a sweep: how many at once, under one budget, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from parley.llm.backends import max_splits
from parley.llm.budget import Budget, Ledger
from parley.llm.journal import shared_ledger
from parley.model.scenario_run import JOURNAL
from parley.model.sweep.cell_runner import CellResult, CellTask, SweepJob
from parley.model.sweep.worker_processes import Calls, Say, run_on_processes


def run_cells(
    jobs: Sequence[SweepJob],
    measure: Callable[[Path], Any],
    workers: int,
    budget: Budget,
    ray: str | None,
    calls: Calls,
    say: Say,
) -> Iterator[tuple[int, CellResult]]:
    """Hold every job that is not finished and measure all; each one's place and what became of it, as they come.

    A model's limits (requests at once, a minute) are divided among the workers that ask it, the budget is shared by all.
    """
    asking = [job for job in jobs if not job.finished]
    most = min((parts for spec in _specs(asking) if (parts := max_splits(spec))), default=workers)
    if most < workers:
        say(f"{most} workers, not {workers}: the model takes no more requests at once (its option in_flight)")
    workers = min(workers, most)
    task, ledger = CellTask(measure, max(1, min(workers, len(asking)))), _ledger(budget, jobs)
    if ray:
        from parley.model.sweep.ray_cluster import run_on_ray

        return run_on_ray(task, jobs, workers, ledger, calls, say, ray)
    return run_on_processes(task, jobs, workers, ledger, calls, say)


def _specs(jobs: Sequence[SweepJob]) -> set[str]:
    scenarios = {job.cell.combination: job.cell.combined for job in jobs}.values()
    return {spec for scenario in scenarios for spec in (scenario.models.llm, *scenario.llm_by_party.values())}


def _ledger(budget: Budget, jobs: Sequence[SweepJob]) -> Ledger | None:
    """What all cells have spent in earlier sittings, where there is a limit to it."""
    return shared_ledger(budget, [(job.run / JOURNAL, Budget(prices=job.prices)) for job in jobs])
