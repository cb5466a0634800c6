"""Runs the cells of a sweep on a Ray cluster (extra `[ray]`).

The machines share the folder of the sweep under one path, and have this package. If a worker is lost, only its unfinished cell is
lost, as in runner.py. An actor of Ray keeps the budget.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any

from parley.llm import model_catalogue as model_hubs
from parley.llm.budget import Ledger
from parley.llm.errors import UserError
from parley.model.files import file_errors
from parley.model.sweep.cell_runner import Calls, CellResult, Job, Queue, RemoteLedger, Say, Task

WAIT = 5.0
"""Seconds in which an address must answer."""
STORE = 2**27
"""Bytes for objects of a local cluster. Little data is passed between its processes."""


def run_on_ray(
    task: Task, jobs: Sequence[Job], workers: int, ledger: Ledger | None, calls: Calls, say: Say, address: str
) -> Iterator[tuple[int, CellResult]]:
    """Run every job on the cluster at `address` (`local`: a cluster that is started for this), as `run_on_processes` does.

    `calls` is called once per cell. Errors: UserError without Ray, or when the cluster does not answer.
    """
    ray = _connect(address, workers)
    queue = Queue([job.resolved() for job in jobs], say)
    remote = ray.remote(max_retries=0)(_run)
    shared = ray.remote(num_cpus=0)(_LedgerActor).remote(ledger) if ledger else None
    running: dict[Any, int] = {}
    try:
        while queue.waiting or running:
            while queue.waiting and len(running) < workers:
                place = queue.waiting.popleft()
                running[remote.remote(task, queue.jobs[place], shared)] = place
            (done, *_), _ = ray.wait(list(running))
            place = running.pop(done)
            try:
                result = ray.get(done)
            except ray.exceptions.RayTaskError as error:  # the cell could not start there: other code or packages
                result = CellResult(None, f"Ray: {str(error).splitlines()[-1]}")
            except ray.exceptions.RayError as error:
                yield from queue.lose(place, f"its worker was lost ({type(error).__name__})")
                continue
            calls(result.asked + result.replayed)
            yield place, result
    finally:
        ray.shutdown()


def _connect(address: str, workers: int) -> Any:
    model_hubs.silence_hubs()
    try:
        import ray
    except ImportError as error:
        raise UserError('--cluster needs Ray: pip install -e ".[ray]"') from error
    local_settings = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            **(local_settings if address == "local" else {}),
        )
    except Exception as error:
        raise UserError(f"no Ray cluster at {address}: {str(error).splitlines()[0]}") from error
    return ray


def check_address(address: str) -> None:
    """Errors: UserError on an address without a port, or where nothing listens: Ray itself would wait for minutes."""
    if address in ("local", "auto"):
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) < 2**16):
        raise UserError(f"--cluster {address}: write local, auto, HOST:PORT or ray://HOST:PORT")
    with file_errors(f"no Ray cluster at {address}"):
        socket.create_connection((host, int(port)), WAIT).close()


def _run(task: Task, job: Job, shared: Any) -> CellResult:
    """Run one cell, in a process of Ray."""
    import ray

    ledger = RemoteLedger(lambda *message: ray.get(shared.ask.remote(*message))) if shared is not None else None
    return task.run(job, ledger)


class _LedgerActor:
    """The ledger, in a process of its own."""

    def __init__(self, ledger: Ledger):
        self.ledger = ledger

    def ask(self, name: str, *values: Any) -> Any:
        return getattr(self.ledger, name)(*values)
