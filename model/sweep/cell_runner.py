"""One cell in whatever process it falls to: the model that is open there, the sitting, and what is measured of its record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from parley.llm.backends import split_limits
from parley.llm.budget import Budget, Ledger, Price
from parley.llm.driver import Progress
from parley.llm.errors import Unreachable, UserError
from parley.llm.request import Backend
from parley.llm.router import open_all
from parley.model.missing_replies import MissingTally
from parley.model.scenario import Scenario
from parley.model.scenario_run import RECORD, RunSpec, is_complete, run_scenario
from parley.model.sweep.design import SweepCell


@dataclass(frozen=True)
class SweepJob:
    """A cell to hold in the sweep's folder, with the names of the fields that were given, and what its tokens cost."""

    cell: SweepCell
    folder: Path
    given: tuple[str, ...] = ()
    prices: Mapping[str, Price] = field(default_factory=dict)
    retry_failures: bool = False
    keep_going: bool = False

    @property
    def run(self) -> Path:
        return self.folder / self.cell.folder

    @property
    def finished(self) -> bool:
        return is_complete(self.run / RECORD) and not self.retry_failures


@dataclass(frozen=True)
class CellTask:
    """What is the same for every cell: what to measure of a finished run folder, and among how many a model is divided."""

    measure: Callable[[Path], Any]
    parts: int = 1


class CellResult(NamedTuple):
    """What became of a cell: what was measured, or (`stopped`) why there is nothing to measure yet; `gone`: no model answered, or
    nothing that it answered could be read.
    """

    found: Any = None
    stopped: str | None = None
    asked: int = 0
    replayed: int = 0
    gone: bool = False
    tally: MissingTally | None = None


def run_cell(
    task: CellTask, job: SweepJob, ledger: Ledger | None = None, progress: Progress | None = None
) -> CellResult:
    """Run or resume a cell, then measure it. No exception leaves here: a cell that fails costs no other."""
    scenario, budget = (
        job.cell.scenario,
        Budget(prices=job.prices, keep_going=job.keep_going),
    )  # its limits are the ledger's
    sitting = RunSpec(
        scenario, job.run, job.given, budget, job.retry_failures, ledger, agent_class=job.cell.agent_class
    )
    try:
        outcome = run_scenario(sitting, progress, backend=None if job.finished else _model(scenario, task.parts))
        if outcome.stopped:
            return CellResult(None, outcome.stopped, outcome.asked, outcome.replayed, outcome.unread, outcome.tally)
        return CellResult(task.measure(job.run), None, outcome.asked, outcome.replayed, tally=outcome.tally)
    except UserError as error:
        why, gone = str(error), isinstance(error, Unreachable)
    except Exception as error:  # noqa: BLE001  named and told beside its cell
        why, gone = f"{type(error).__name__}: {error}", isinstance(error, ConnectionError)
    _open.cache_clear()  # something may still be on its way to the model
    return CellResult(None, why, gone=gone)


def _model(scenario: Scenario, parts: int) -> Backend:
    """The scenario's model, asked within a part of its limits."""
    voices = tuple((who, split_limits(spec, parts)) for who, spec in scenario.llm_by_party.items())
    return _open(split_limits(scenario.models.llm, parts), voices)


@lru_cache(maxsize=1)
def _open(spec: str, voices: tuple[tuple[str, str], ...]) -> Backend:
    """The model of the last cell is that of the next one, mostly."""
    return open_all(spec, dict(voices))


class RemoteLedger(Ledger):
    """The ledger that all share, in another process: `ask` takes the name of a method and its arguments there."""

    def __init__(self, ask: Callable[..., Any]):
        super().__init__()
        self.ask = ask

    def reserve(self, wanted: int) -> int:
        return int(self.ask("reserve", wanted))

    def spend(self, calls: int, tokens: int, cost: float) -> None:
        self.ask("spend", calls, tokens, cost)

    def miss(self, priced: bool) -> None:
        self.ask("miss", priced)

    def told(self) -> str:
        return str(self.ask("told"))
