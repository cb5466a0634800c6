"""Worker processes: each holds one cell after the other. One that is killed costs its unfinished cell, which can be resumed."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

from parley.llm.budget import Ledger
from parley.model.sweep.cell_runner import CellResult, CellTask, RemoteLedger, SweepJob, run_cell

TRIES = 2
"""Workers that a cell may cost before it is left unfinished."""
Calls = Callable[[int], object]
Say = Callable[[str], object]


def run_on_processes(
    task: CellTask, jobs: Sequence[SweepJob], workers: int, ledger: Ledger | None, calls: Calls, say: Say
) -> Iterator[tuple[int, CellResult]]:
    """Hold every job; its place and what became of it, as they come. `calls` hears of calls done, `say` of killed workers."""
    pool = _Pool(task, jobs, ledger, calls, say)
    try:
        yield from pool.work(workers)
    finally:
        pool.close()


@dataclass
class _Worker:
    process: ForkServerProcess
    place: int


class _Pool:
    def __init__(self, task: CellTask, jobs: Sequence[SweepJob], ledger: Ledger | None, calls: Calls, say: Say):
        self.task, self.jobs, self.ledger, self.calls, self.say = task, jobs, ledger, calls, say
        self.waiting = deque(range(len(jobs)))
        self.lost: Counter[int] = Counter()
        self.workers: dict[Connection, _Worker] = {}
        self.context = get_context("forkserver")  # imports once; a new worker is there in milliseconds
        self.context.set_forkserver_preload([__name__, task.measure.__module__])
        with _this_code():
            forkserver.ensure_running()

    def work(self, most: int) -> Iterator[tuple[int, CellResult]]:
        while len(self.workers) < min(most, len(self.jobs)):
            self._hire()
        while self.workers:
            for pipe in wait(list(self.workers)):
                yield from self._hear(pipe)  # type: ignore[arg-type]  # a Connection, as all that is waited for

    def close(self) -> None:
        """End them all; what a busy one has asked is in its journal."""
        for pipe in list(self.workers):
            self._dismiss(pipe)

    def _hire(self) -> None:
        mine, theirs = self.context.Pipe()
        process = self.context.Process(target=_serve, args=(theirs, self.task, self.ledger is not None), daemon=True)
        with _without_main():
            process.start()
        theirs.close()
        self.workers[mine] = _Worker(process, -1)
        self._give(mine)

    def _give(self, pipe: Connection) -> None:
        """The next job; none is left: the worker goes."""
        if self.waiting:
            place = self.workers[pipe].place = self.waiting.popleft()
            _send(pipe, self.jobs[place])
        else:
            self._dismiss(pipe)

    def _hear(self, pipe: Connection) -> Iterator[tuple[int, CellResult]]:
        try:
            kind, *what = pipe.recv()
        except (EOFError, OSError):
            yield from self._bury(pipe)
            return
        if kind == "calls":
            self.calls(*what)
        elif kind == "ledger":
            name, *values = what
            _send(pipe, getattr(self.ledger, name)(*values))
        else:
            yield self.workers[pipe].place, *what
            self._give(pipe)

    def _dismiss(self, pipe: Connection) -> _Worker:
        worker = self.workers.pop(pipe)
        pipe.close()
        worker.process.kill()
        worker.process.join()
        return worker

    def _bury(self, pipe: Connection) -> Iterator[tuple[int, CellResult]]:
        """A worker is gone: its cell is tried once more, at the end."""
        worker = self._dismiss(pipe)
        self.lost[worker.place] += 1
        why = f"its worker {_end(worker.process.exitcode)}"
        self.say(f"{self.jobs[worker.place].cell.folder}: {why}; what it had asked is kept")
        if self.lost[worker.place] < TRIES:
            self.waiting.append(worker.place)
        else:
            yield worker.place, CellResult(None, f"{why}, {TRIES} times")
        if self.waiting:
            self._hire()


@contextmanager
def _this_code() -> Iterator[None]:
    """Within, a new Python imports `parley` from where it is now: the fork server looks for what it imports first on a path of
    its own, where another installed copy may come before.
    """
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYTHONSAFEPATH")}
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(filter(None, [_linked(), before["PYTHONPATH"]])),
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
def _linked() -> str:
    """A folder with a link to this package. It stays to the end of the process: workers import more as they go."""
    folder = mkdtemp()
    atexit.register(rmtree, folder, ignore_errors=True)
    (Path(folder) / "parley").symlink_to(Path(__file__).parents[2])
    return folder


@contextmanager
def _without_main() -> Iterator[None]:
    """Within, a new process does not import the script that was started, which would start the sweep again in every worker.
    Nothing that a worker is sent is defined there.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _send(pipe: Connection, what: object) -> None:
    """To a worker, which may be dead by now: that is heard of next."""
    with suppress(OSError):
        pipe.send(what)


def _end(code: int | None) -> str:
    if code is not None and code < 0:
        return f"was killed ({signal.Signals(-code).name})"
    return f"ended ({code})"


def _serve(pipe: Connection, task: CellTask, limited: bool) -> None:
    """A worker: one job after the other, until the pipe is closed. Ctrl-C and a closed terminal are the parent's affair."""
    for one in (signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)

    def ask(*what: object) -> Any:
        pipe.send(("ledger", *what))
        return pipe.recv()

    ledger = RemoteLedger(ask) if limited else None
    try:
        while True:
            job = pipe.recv()
            pipe.send(("held", run_cell(task, job, ledger, lambda number: pipe.send(("calls", number)))))
    except (EOFError, OSError):
        return
