"""One sitting at a run folder: lock, check, run, record.

The folder holds the journal (every reply) and the record (every event). The same command on the same folder resumes: replies
come from the journal, the rest is asked, and the record is written anew, so that it is the same as that of an undisturbed run.
"""

from __future__ import annotations

import fcntl
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from parley.llm.budget import NO_LIMIT, Budget, Ledger, Limits
from parley.llm.driver import Progress
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.journal import Journal, copy_journal
from parley.llm.request import Backend
from parley.llm.retry import Retry
from parley.llm.router import open_all
from parley.model.agent_factory import AgentClass
from parley.model.casting import check_files
from parley.model.custom import class_names
from parley.model.debate import DebateModel
from parley.model.events import Ended
from parley.model.missing_replies import MissingTally, Unreadable
from parley.model.recorder import CountingRecorder, FileRecorder, Recorder, TeeRecorder, from_line
from parley.model.run_folder import LOCK, check_folder, check_manifest, make_header, relabel_folder
from parley.model.scenario import Scenario
from parley.model.validation import check_taught

JOURNAL, RECORD, PARTIAL = "journal.sqlite", "record.jsonl", "record.partial.jsonl"
COLLECT = 50_000
"""New objects after which Python's garbage collector looks at the youngest."""


@dataclass(frozen=True)
class RunSpec:
    """What a sitting is to do. The budget is that of the run folder, over all sittings.

    Folders may share a `ledger` instead, whose owner has counted their earlier sittings. `start`: a run whose replies a new
    folder begins with, so that what was asked there is not asked again. `agent_class`: as for DebateModel.
    """

    scenario: Scenario
    folder: Path
    given: tuple[str, ...] = ()
    budget: Budget = NO_LIMIT
    retry_failures: bool = False
    ledger: Ledger | None = None
    start: Path | None = None
    agent_class: AgentClass = None

    @property
    def classes(self) -> list[str]:
        """The names of the agent classes, as the header and the folder's label have them."""
        return class_names(self.agent_class, self.scenario)


@dataclass(frozen=True)
class RunOutcome:
    """What a sitting did. `stopped` says why it ended early; `already` that there was nothing left to do.

    `cost` is that of the run folder so far, at the budget's price; with a shared ledger that of this sitting. `twins` are calls
    that were answered with the reply to the same question (llm/journal.py). `tally` is what could be read; `unread`: it stopped
    because that was (nearly) nothing.
    """

    record: Path
    asked: int
    replayed: int
    seconds: float
    stopped: str | None = None
    already: bool = False
    cost: float = 0.0
    twins: int = 0
    tally: MissingTally = field(default_factory=MissingTally)
    unread: bool = False


Step = Callable[[DebateModel], object]
Steps = tuple[Step | None, Step | None]


def run_scenario(
    task: RunSpec,
    progress: Progress | None = None,
    on_step: Step | None = None,
    backend: Backend | None = None,
    on_open: Callable[[Backend], object] | None = None,
    on_end: Step | None = None,
    watcher: Recorder | None = None,
) -> RunOutcome:
    """Run or resume a scenario in its folder. Errors: UserError for a folder of another run, a full disk, a second sitting.

    A spent budget, and answers of which (nearly) none can be read, are no errors here: the outcome says `stopped`,
    and the record holds what there is. `on_step` is called before
    each round, `on_end` after the last, when the record is whole; `watcher` is told every event, once it is recorded.
    """
    check_folder(task.folder, task.scenario, task.classes)
    record, partial = task.folder / RECORD, task.folder / PARTIAL
    if is_complete(record) and not task.retry_failures:
        return RunOutcome(record, 0, 0, 0.0, already=True)
    backend = backend or open_all(
        task.scenario.models.llm, task.scenario.llm_by_party
    )  # before the folder is made: a model may be misspelt or missing
    check_files(task.scenario)
    check_taught(task.scenario, backend)
    if on_open:
        on_open(backend)
    with lock_folder(task.folder):
        check_manifest(task.folder, task.scenario, backend, task.classes)
        if record.exists():  # failures are asked again, or it was damaged: until it is whole again it is a partial one
            os.replace(record, partial)
        return _run(task, progress, (on_step, on_end), backend, watcher)


def is_complete(record: Path) -> bool:
    """Is this the record of a finished run? Its last line says so."""
    try:
        with record.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 200))
            last = from_line(file.read().splitlines()[-1].decode())
    except (OSError, ValueError, IndexError):
        return False
    return isinstance(last, Ended)


def _run(
    task: RunSpec, progress: Progress | None, steps: Steps, backend: Backend, watcher: Recorder | None
) -> RunOutcome:
    started, (on_step, on_end) = time.monotonic(), steps
    limits = Limits(Retry(backend), task.budget, task.ledger)
    if task.start and not (task.folder / JOURNAL).exists():
        copy_journal(task.start / JOURNAL, task.folder / JOURNAL)
    with (
        _seldom_collected(),
        closing(Journal(task.folder / JOURNAL, limits, task.retry_failures)) as journal,
        closing(FileRecorder(task.folder / PARTIAL)) as recorder,
    ):
        if task.ledger is None:
            limits.charge(*journal.spent())
        model = _debate(task, journal, TeeRecorder(recorder, watcher) if watcher else recorder, progress, on_step)
        record = _kept(task.folder, recorder, model)
        if on_end and not model.error:
            on_end(model)
    seconds, stopped = time.monotonic() - started, str(model.error) if model.error else None
    done = RunOutcome(record, journal.asked, journal.replayed, seconds, stopped, cost=limits.cost, twins=journal.twins)
    return replace(done, tally=model.tally, unread=isinstance(model.error, Unreadable))


def _kept(folder: Path, recorder: FileRecorder, model: DebateModel) -> Path:
    """The record under its name, at once: whoever stays to look at a run that is over holds nothing up."""
    recorder.close()
    if model.error:
        return folder / PARTIAL
    try:
        os.replace(folder / PARTIAL, folder / RECORD)
    except OSError as error:
        raise UserError(f"cannot finish the record in {folder}: {error.strerror}") from error
    return folder / RECORD


def _debate(
    task: RunSpec, backend: Backend, recorder: CountingRecorder, progress: Progress | None, on_step: Step | None
) -> DebateModel:
    """Hold it to the end, or to the end of the budget, which is then the model's error. Errors: any other of the model's."""
    recorder.write([make_header(task.scenario, task.given, backend, task.classes)])
    how: Any = {"collect_errors": True, "keep_going": task.budget.keep_going, "agent_class": task.agent_class}
    model = DebateModel(task.scenario, backend=backend, recorder=recorder, progress=progress, **how)
    while not model.over:
        if on_step:
            on_step(model)
        if model.setup != task.scenario:
            task = _stepped_in(task, model.setup, backend, recorder)
        model.step()
    if model.error and not isinstance(model.error, BudgetSpent | Unreadable):
        raise model.error
    if not model.error:
        recorder.write([Ended(model.round, recorder.count)])
    return model


def _stepped_in(task: RunSpec, scenario: Scenario, backend: Backend, recorder: CountingRecorder) -> RunSpec:
    """Somebody who looks on put something on the timetable: folder and record are those of a run that had it from the start."""
    task = replace(task, scenario=scenario, given=tuple({*task.given, "interventions"}))
    relabel_folder(task.folder, scenario, task.classes)
    recorder.begin_anew(make_header(scenario, task.given, backend, task.classes))
    return task


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Python looks for cycles among the objects of all calls on their way after every 700 new ones: up to a third of a run's time
    over a fast network. There are few cycles to find.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], COLLECT) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Make the folder and hold its lock. Errors: UserError when it cannot be made or another sitting holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle: IO[str] = open(folder / LOCK, "a", encoding="utf-8")  # noqa: SIM115  # closed below
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"another run is at work in {folder}") from error
        yield
