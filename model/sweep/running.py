"""All cells of a sweep: how many at once, under one budget, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from parley.llm.backends import most_parts
from parley.llm.journal import shared
from parley.llm.limits import Budget, Ledger
from parley.model.session import JOURNAL
from parley.model.sweep.holding import Held, Job, Task
from parley.model.sweep.workers import Calls, Say, on_processes


def hold_all(
    jobs: Sequence[Job],
    measure: Callable[[Path], Any],
    workers: int,
    budget: Budget,
    ray: str | None,
    calls: Calls,
    say: Say,
) -> Iterator[tuple[int, Held]]:
    """Hold every job that is not finished and measure all; each one's place and what became of it, as they come.

    A model's limits (requests at once, a minute) are divided among the workers that ask it, the budget is shared by all.
    """
    asking = [job for job in jobs if not job.finished]
    most = min((parts for spec in _specs(asking) if (parts := most_parts(spec))), default=workers)
    if most < workers:
        say(f"{most} workers, not {workers}: the model takes no more requests at once (its option in_flight)")
    workers = min(workers, most)
    task, ledger = Task(measure, max(1, min(workers, len(asking)))), _ledger(budget, jobs)
    if ray:
        from parley.model.sweep.cluster import on_ray

        return on_ray(task, jobs, workers, ledger, calls, say, ray)
    return on_processes(task, jobs, workers, ledger, calls, say)


def _specs(jobs: Sequence[Job]) -> set[str]:
    scenarios = {job.cell.combination: job.cell.combined for job in jobs}.values()
    return {spec for scenario in scenarios for spec in (scenario.llm, *scenario.own_llms().values())}


def _ledger(budget: Budget, jobs: Sequence[Job]) -> Ledger | None:
    """What all cells have spent in earlier sittings, where there is a limit to it."""
    return shared(budget, [(job.run / JOURNAL, Budget(prices=job.prices)) for job in jobs])
