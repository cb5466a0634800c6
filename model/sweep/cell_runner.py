"""Runs one cell of a sweep and measures its record; the queue of cells that wait for a worker."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from parley.llm.backends import split_limits
from parley.llm.budget import NOTHING_BOOKED, Budget, Ledger, Spending
from parley.llm.driver import Progress
from parley.llm.errors import Unreachable, UserError
from parley.llm.exchange import Desk
from parley.llm.prices import Prices
from parley.llm.request import Backend
from parley.llm.router import open_all
from parley.llm.shares import divided_among
from parley.llm.trust import Gate, gate, use_gate
from parley.model.files import RECORD
from parley.model.missing_replies import MissingTally, tally_of
from parley.model.model_shares import called_models
from parley.model.recorder import read_lines
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, is_complete, run_scenario
from parley.model.sweep.design import SweepCell

TRIES = 2
"""Number of workers that a cell may lose before it is left unfinished."""
Calls = Callable[[int], object]
Say = Callable[[str], object]


@dataclass(frozen=True)
class SweepJob:
    """A cell to run in the folder of the sweep, with the names of the fields that were set, and the prices of its models."""

    cell: SweepCell
    folder: Path
    given: tuple[str, ...] = ()
    prices: Prices = field(default_factory=dict)
    retry_failures: bool = False
    keep_going: bool = False

    @property
    def run(self) -> Path:
        return self.folder / self.cell.folder

    @property
    def name(self) -> str:
        """The folder of the cell in the sweep."""
        return self.cell.folder

    @property
    def specs(self) -> set[str]:
        """The models that the cell calls."""
        return set(called_models(self.cell.combined))

    @property
    def finished(self) -> bool:
        return is_complete(self.run / RECORD) and not self.retry_failures

    def resolved(self) -> SweepJob:
        """Return the job with its whole path, for another machine."""
        return replace(self, folder=self.folder.resolve())


@dataclass(frozen=True)
class CellTask:
    """What is the same for every cell: how a finished run folder is measured, the number of workers that share a model, and what
    data may name (llm/trust.py).
    """

    measure: Callable[[Path], Any]
    parts: int = 1
    trusted: Gate = field(default_factory=gate)
    together: bool = False

    @property
    def preload(self) -> str:
        """The module that a worker needs first."""
        return self.measure.__module__

    def run(
        self, job: SweepJob, ledger: Ledger | None = None, progress: Progress | None = None, desk: Desk | None = None
    ) -> CellResult:
        """Run or resume a cell, as `run_cell`. Cells exchange nothing at the desk."""
        return run_cell(self, job, ledger, progress)


class CellResult(NamedTuple):
    """The measures of a cell, or (`stopped`) why there are none yet.

    `gone`: no model answered, or almost no reply could be read.
    """

    found: Any = None
    stopped: str | None = None
    asked: int = 0
    replayed: int = 0
    gone: bool = False
    tally: MissingTally | None = None


class Job(Protocol):
    """What one worker does at a time: a cell of a sweep, or a part of a run."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def specs(self) -> set[str]:
        """The models that it calls."""

    def resolved(self) -> Job:
        """Return the job with whole paths, for another machine."""


class Task(Protocol):
    """What is the same for all jobs. `preload`: the module that a worker needs first. `together`: do jobs wait for each other?"""

    @property
    def preload(self) -> str: ...

    @property
    def together(self) -> bool: ...

    def run(
        self, job: Any, ledger: Ledger | None = None, progress: Progress | None = None, desk: Desk | None = None
    ) -> CellResult:
        """Do one job. It raises no exception. desk: where jobs exchange replies."""


class Queue:
    """The jobs that wait to be run, and how many workers each has lost."""

    def __init__(self, jobs: Sequence[Job], say: Say):
        self.jobs, self.say = jobs, say
        self.waiting = deque(range(len(jobs)))
        self.lost = Counter[int]()

    def lose(self, place: int, worker: str) -> Iterator[tuple[int, CellResult]]:
        """Put a job whose worker was lost at the end of the queue. If it has lost too many, yield that it is unfinished."""
        self.lost[place] += 1
        self.say(f"{self.jobs[place].name}: {worker}; its replies so far are saved")
        if self.lost[place] < TRIES:
            self.waiting.append(place)
        else:
            yield place, CellResult(None, f"{worker}, {TRIES} times")


def run_cell(
    task: CellTask, job: SweepJob, ledger: Ledger | None = None, progress: Progress | None = None
) -> CellResult:
    """Run or resume a cell, then measure it. It raises no exception: a cell that fails does not stop the others."""
    use_gate(task.trusted)
    scenario = job.cell.scenario
    budget = Budget(prices=job.prices, keep_going=job.keep_going)  # the limits are those of the ledger
    spec = RunSpec(scenario, job.run, job.given, budget, job.retry_failures, ledger, agent_class=job.cell.agent_class)
    try:
        with divided_among(task.parts):
            outcome = run_scenario(spec, progress, backend=None if job.finished else _model(scenario, task.parts))
        tally = tally_of(read_lines(outcome.record), scenario.llm_by_party) if outcome.already else outcome.tally
        result = CellResult(None, outcome.stopped, outcome.asked, outcome.replayed, outcome.unread, tally)
        return result if outcome.stopped else result._replace(found=task.measure(job.run), gone=False)
    except UserError as error:
        why, gone = str(error), isinstance(error, Unreachable)
    except Exception as error:  # noqa: BLE001  reported with its cell
        why, gone = f"{type(error).__name__}: {error}", isinstance(error, ConnectionError)
    _open.cache_clear()  # calls to the model may still be under way
    return CellResult(None, why, gone=gone)


def _model(scenario: Scenario, parts: int) -> Backend:
    """The scenario's model with this worker's part of its limits."""
    voices = tuple((who, split_limits(spec, parts)) for who, spec in scenario.llm_by_party.items())
    return _open(split_limits(scenario.models.llm, parts), voices)


@lru_cache(maxsize=1)
def _open(spec: str, voices: tuple[tuple[str, str], ...]) -> Backend:
    """The model stays open, because the next cell mostly has the same one."""
    return open_all(spec, dict(voices))


class RemoteLedger(Ledger):
    """The shared ledger in another process: `ask` takes the name of a method of the ledger and its arguments."""

    def __init__(self, ask: Callable[..., Any]):
        super().__init__()
        self.ask, self.measures = ask, True

    def reserve(self, wanted: Sequence[Spending]) -> int:
        return int(self.ask("reserve", list(wanted)))

    def spend(self, calls: int, tokens: int, cost: float, booked: Spending = NOTHING_BOOKED) -> None:
        self.ask("spend", calls, tokens, cost, booked)

    def miss(self, priced: bool) -> None:
        self.ask("miss", priced)

    def describe(self) -> str:
        return str(self.ask("describe"))
