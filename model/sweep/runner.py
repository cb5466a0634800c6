"""Runs all cells of a sweep under one budget: in worker processes on this machine, or on a Ray cluster.

A worker process runs one cell after the other. If a worker is killed, only its unfinished cell is lost, and that can be resumed.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from multiprocessing.sharedctypes import RawArray, RawValue
from pathlib import Path
from queue import SimpleQueue
from shutil import rmtree
from tempfile import mkdtemp
from threading import Thread
from types import ModuleType
from typing import Any
from zlib import crc32

from parley.llm.backends import announce, max_splits
from parley.llm.budget import Budget, Ledger
from parley.llm.exchange import Posted
from parley.llm.journal import shared_ledger
from parley.llm.shares import use_board
from parley.model.files import JOURNAL
from parley.model.sweep.cell_runner import Calls, CellResult, CellTask, Job, Queue, RemoteLedger, Say, SweepJob, Task


def run_cells(
    jobs: Sequence[SweepJob],
    measure: Callable[[Path], Any],
    workers: int,
    budget: Budget,
    ray: str | None,
    calls: Calls,
    say: Say,
) -> Iterator[tuple[int, CellResult]]:
    """Run every job that is not finished, and measure all of them. Yields the place of each and its result, as they come.

    A model's limits (requests at once, per minute) are divided among the workers at work; the budget is shared by all.
    """
    unfinished = [job for job in jobs if not job.finished]
    specs = {spec for job in unfinished for spec in job.specs}
    announce(specs)
    most = min((parts for spec in specs if (parts := max_splits(spec))), default=workers)
    if most < workers:
        say(f"{most} workers at most, not {workers}: the model takes {most} requests at a time (option in_flight)")
    workers = min(workers, most)
    task = CellTask(measure, max(1, min(workers, len(unfinished))))
    ledger = shared_ledger(budget, [(job.run / JOURNAL, Budget(prices=job.prices)) for job in jobs])
    if ray:
        from parley.model.sweep.ray_cluster import run_on_ray

        return run_on_ray(task, jobs, workers, ledger, calls, say, ray)
    return run_on_processes(task, jobs, workers, ledger, calls, say)


def run_on_processes(
    task: Task, jobs: Sequence[Job], workers: int, ledger: Ledger | None, calls: Calls, say: Say
) -> Iterator[tuple[int, CellResult]]:
    """Run every job in worker processes. Yields its place and its result, as they come.

    `calls` gets the number of calls done, `say` a message about each killed worker.
    """
    pool = _Pool(task, Queue(jobs, say), ledger, calls)
    try:
        yield from pool.work(workers)
    finally:
        pool.close()


ADDRESSES = 1024
"""Places for addresses in shared memory. Two servers that get the same place, by chance, slow down together."""


class SharedBoard:
    """The board of the processes of one machine, in memory that they share."""

    def __init__(self) -> None:
        self.count, self._sent = RawValue("i", 1), RawArray("d", ADDRESSES)

    def workers(self) -> int:
        return int(self.count.value)

    def note_refusal(self, address: str, sent: float) -> None:
        self._sent[_place(address)] = sent

    def last_refusal(self, address: str) -> float:
        return float(self._sent[_place(address)])


def _place(address: str) -> int:
    return crc32(address.encode()) % ADDRESSES


@dataclass
class _Worker:
    process: ForkServerProcess
    place: int


class _Pool:
    def __init__(self, task: Task, queue: Queue, ledger: Ledger | None, calls: Calls):
        self.task, self.queue, self.ledger, self.calls = task, queue, ledger, calls
        self.workers: dict[Connection, _Worker] = {}
        self.board = SharedBoard()
        self.posted: Posted = []
        self.context = get_context("forkserver")  # it imports once, so that a new worker starts in milliseconds
        self.context.set_forkserver_preload([__name__, task.preload])
        with _this_code():
            forkserver.ensure_running()

    def work(self, most: int) -> Iterator[tuple[int, CellResult]]:
        while len(self.workers) < min(most, len(self.queue.jobs)):
            self._start_worker()
        while self.workers:
            self.board.count.value = len(self.workers)  # those that go on get the shares of those that have ended
            for pipe in wait(list(self.workers)):
                yield from self._receive(pipe)  # type: ignore[arg-type]  # every pipe that is waited for is a Connection

    def close(self) -> None:
        """End all workers. The calls of a busy worker are in its journal."""
        for pipe in list(self.workers):
            self._end_worker(pipe)

    def _start_worker(self) -> None:
        mine, theirs = self.context.Pipe()
        values = theirs, self.task, self.ledger is not None, self.board
        process = self.context.Process(target=_serve, args=values, daemon=True)
        with _without_main():
            process.start()
        theirs.close()
        self.workers[mine] = _Worker(process, -1)
        self._send_job(mine)

    def _send_job(self, pipe: Connection) -> None:
        """Send the next job to a worker; without a job, end the worker."""
        if self.queue.waiting:
            place = self.workers[pipe].place = self.queue.waiting.popleft()
            _send(pipe, "job", self.queue.jobs[place])
            if self.posted:  # a job that is started again needs what the others have posted
                _send(pipe, "replies", self.posted)
        else:
            self._end_worker(pipe)

    def _end_worker(self, pipe: Connection) -> _Worker:
        worker = self.workers.pop(pipe)
        pipe.close()
        worker.process.kill()
        worker.process.join()
        return worker

    def _receive(self, pipe: Connection) -> Iterator[tuple[int, CellResult]]:
        try:
            kind, *message = pipe.recv()
        except (EOFError, OSError):  # the worker is gone
            worker = self._end_worker(pipe)
            code = worker.process.exitcode
            end = f"was killed ({signal.Signals(-code).name})" if code and code < 0 else f"ended ({code})"
            yield from self.queue.lose(worker.place, f"its worker {end}")
            if self.queue.waiting:
                self._start_worker()
            return
        if kind == "calls":
            self.calls(*message)
        elif kind == "ledger":
            name, *values = message
            _send(pipe, "ledger", getattr(self.ledger, name)(*values))
        elif kind == "replies":
            self.posted += message[0]
            for other in self.workers.keys() - {pipe}:
                _send(other, "replies", message[0])
        else:
            yield self.workers[pipe].place, *message
            self._send_job(pipe)


@contextmanager
def _this_code() -> Iterator[None]:
    """Let a new Python import this copy of `parley`: the fork server has its own path, where an installed copy may come first."""
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYTHONSAFEPATH")}
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(filter(None, [_folder_with_link(), before["PYTHONPATH"]])),
        "PYTHONSAFEPATH": "1",
    }
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


@cache
def _folder_with_link() -> str:
    """A folder with a link to this package. It stays to the end of the process, because workers import more later."""
    folder = mkdtemp()
    atexit.register(rmtree, folder, ignore_errors=True)
    (Path(folder) / "parley").symlink_to(Path(__file__).parents[2])
    return folder


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep a new process from importing the script that was started, which would start the sweep again in every worker."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _send(pipe: Connection, kind: str, message: object) -> None:
    """Send a message to a worker. If it is dead by now, the next look at its pipe finds out."""
    with suppress(OSError):
        pipe.send((kind, message))


class _Line:
    """The pipe of a worker, and its Desk. A thread reads it all the time, so that neither end waits for the other to read."""

    def __init__(self, pipe: Connection):
        self.pipe = pipe
        self._messages: dict[str, SimpleQueue[Any]] = {kind: SimpleQueue() for kind in ("job", "ledger", "replies")}
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                kind, message = self.pipe.recv()
                self._messages[kind].put(message)
        for queue in self._messages.values():
            queue.put(_ENDED)

    def get(self, kind: str) -> Any:
        """Return the next message of a kind. Errors: EOFError when there will be none."""
        if (message := self._messages[kind].get()) is _ENDED:
            self._messages[kind].put(_ENDED)
            raise EOFError
        return message

    def ask(self, *question: object) -> Any:
        """Return what the ledger answers."""
        self.pipe.send(("ledger", *question))
        return self.get("ledger")

    def post(self, replies: Posted) -> None:
        self.pipe.send(("replies", replies))

    def take(self, wait: bool) -> Posted:
        queue, replies = self._messages["replies"], list[tuple[bytes, str]]()
        while wait or not queue.empty():
            replies += self.get("replies")
            wait = False
        return replies


_ENDED = object()


def _serve(pipe: Connection, task: Task, limited: bool, board: SharedBoard) -> None:
    """Run one job after the other, in a worker, until the pipe is closed. Ctrl-C and SIGHUP are handled by the parent."""
    use_board(board)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = _Line(pipe)
    ledger = RemoteLedger(line.ask) if limited else None
    with suppress(EOFError, OSError):
        while True:
            job = line.get("job")
            pipe.send(("result", task.run(job, ledger, lambda number: pipe.send(("calls", number)), line)))
