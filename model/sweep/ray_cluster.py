"""The cells of a sweep on a Ray cluster (extra `[ray]`): the same cells in the same folders, on whichever machine is free.

The machines share the sweep's folder under one path, and have this package. A worker that dies costs its unfinished cell, as
it does in worker_processes.py; the budget is kept by an actor.
"""

from __future__ import annotations

import socket
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from parley.llm import model_hubs
from parley.llm.budget import Ledger
from parley.llm.errors import UserError
from parley.model.sweep.cell_runner import CellResult, CellTask, RemoteLedger, SweepJob, run_cell
from parley.model.sweep.worker_processes import TRIES, Calls, Say

WAIT = 5.0
"""Seconds that an address has to answer."""
STORE = 2**27
"""Bytes for objects of a cluster that is started here: what is handed over is small."""


def run_on_ray(
    task: CellTask, jobs: Sequence[SweepJob], workers: int, ledger: Ledger | None, calls: Calls, say: Say, address: str
) -> Iterator[tuple[int, CellResult]]:
    """As `run_on_processes`, on the cluster at `address` (`local`: one that is started for this). Calls are heard of
    cell by cell.

    Errors: UserError without Ray, or when the cluster does not answer.
    """
    ray = _connected(address, workers)
    try:
        yield from _work(
            ray, task, [replace(job, folder=job.folder.resolve()) for job in jobs], workers, ledger, calls, say
        )
    finally:
        ray.shutdown()


def _connected(address: str, workers: int) -> Any:
    model_hubs.silence_hubs()
    try:
        import ray
    except ImportError as error:
        raise UserError('--ray needs Ray: pip install -e ".[ray]"') from error
    own = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **(own if address == "local" else {}))
    except (ConnectionError, ValueError) as error:
        raise UserError(f"no Ray cluster at {address}: {str(error).splitlines()[0]}") from error
    return ray


def check_address(address: str) -> None:
    """Errors: UserError on an address without a port, or where nothing listens: Ray itself would wait for minutes."""
    if address in ("local", "auto"):
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) < 2**16):
        raise UserError(f"--ray {address}: write local, auto, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host, int(port)), WAIT).close()
    except OSError as error:
        raise UserError(f"no Ray cluster at {address}: {error.strerror or error}") from error


def _work(
    ray: Any, task: CellTask, jobs: Sequence[SweepJob], workers: int, ledger: Ledger | None, calls: Calls, say: Say
) -> Iterator[tuple[int, CellResult]]:
    remote = ray.remote(max_retries=0)(_hold)
    shared = ray.remote(num_cpus=0)(_Kept).remote(ledger) if ledger else None
    waiting, lost = deque(range(len(jobs))), Counter[int]()
    flying: dict[Any, int] = {}
    while waiting or flying:
        while waiting and len(flying) < workers:
            place = waiting.popleft()
            flying[remote.remote(task, jobs[place], shared)] = place
        (landed, *_), _ = ray.wait(list(flying))
        place = flying.pop(landed)
        try:
            held = ray.get(landed)
        except (
            ray.exceptions.RayTaskError
        ) as error:  # the cell could not be begun there: not the same code, or packages
            held = CellResult(None, f"Ray: {str(error).splitlines()[-1]}")
        except ray.exceptions.RayError as error:
            lost[place] += 1
            why = f"its worker was lost ({type(error).__name__})"
            say(f"{jobs[place].cell.folder}: {why}; what it had asked is kept")
            if lost[place] < TRIES:
                waiting.append(place)
                continue
            held = CellResult(None, f"{why}, {TRIES} times")
        calls(held.asked + held.replayed)
        yield place, held


def _hold(task: CellTask, job: SweepJob, shared: Any) -> CellResult:
    """One cell, in a process of Ray's."""
    import ray

    return run_cell(
        task, job, RemoteLedger(lambda *what: ray.get(shared.ask.remote(*what))) if shared is not None else None
    )


class _Kept:
    """The ledger, in a process of its own."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger

    def ask(self, name: str, *values: Any) -> Any:
        return getattr(self.ledger, name)(*values)
