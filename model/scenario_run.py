"""Runs a scenario in a run folder: lock, check, run, record.

The folder holds the journal (every reply) and the record (every event). The same command on the same folder resumes the run:
known replies come from the journal, the rest is asked, and the record is written anew, as in an undisturbed run.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from parley.llm.budget import NO_LIMIT, Budget, Ledger, Limits
from parley.llm.driver import Progress
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.journal import Journal, copy_journal, read_identity
from parley.llm.request import Backend, identity_text
from parley.llm.retry import Retry
from parley.llm.router import RoutedBackend, open_all
from parley.model.agent_factory import AgentClass, loaded_adapters
from parley.model.custom import class_names
from parley.model.debate import DebateModel
from parley.model.events import Ended
from parley.model.files import JOURNAL, PARTIAL, RECORD, file_errors
from parley.model.missing_replies import MissingTally, Unreadable
from parley.model.own_graph import check_files
from parley.model.placement import ONE
from parley.model.recorder import FileRecorder, Recorder, from_line
from parley.model.run_folder import LOCK, check_folder, check_manifest, make_header, relabel_folder
from parley.model.scenario import Scenario
from parley.model.validation import check_taught

COLLECT = 50_000
"""Number of new objects after which Python's garbage collector looks at the youngest ones."""


@dataclass(frozen=True)
class Branch:
    """Where a run leaves another one (model/branching.py makes it).

    parent: the folder of the other run, as seen from the folder of the branch. round: the first round that may differ.
    shared: a digest of all events before it, which are the same in both. models: the identity of each model that joins from
    this round on, by its voice.
    """

    parent: str
    round: int
    shared: str
    models: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunSpec:
    """What to run, in which folder, within which budget. The budget counts all starts of the run folder.

    Several folders may share a `ledger` instead, whose owner has counted their earlier starts. `start` is the folder of a run
    whose journal a new folder begins with, so that nothing is asked twice. `agent_class`: as for DebateModel. `branch`: of a
    branch, which run it continues and from which round.
    """

    scenario: Scenario
    folder: Path
    given: tuple[str, ...] = ()
    budget: Budget = NO_LIMIT
    retry_failures: bool = False
    ledger: Ledger | None = None
    start: Path | None = None
    agent_class: AgentClass = None
    branch: Branch | None = None

    @property
    def origin(self) -> dict[str, Any]:
        """What the header says of a branch."""
        return asdict(self.branch) if self.branch else {}

    @property
    def classes(self) -> list[str]:
        """The names of the agent classes, as in the header and in the label of the folder."""
        return class_names(self.agent_class, self.scenario)


@dataclass(frozen=True)
class RunOutcome:
    """What a run did. `stopped` says why it ended early; `already` is True if it was finished before.

    `cost` is the cost of the run folder so far, at the budget's price; with a shared ledger, the cost of this start.
    `uncached_cost` is what it would have been without a prompt cache. `twins`
    counts calls that were answered with the reply to the same question (llm/journal.py). `tally` counts missing ratings and
    replies. `unread` is True if the run stopped because almost none could be read.
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
    uncached_cost: float = 0.0


Step = Callable[[DebateModel], object]


def run_scenario(
    spec: RunSpec,
    progress: Progress | None = None,
    on_step: Step | None = None,
    backend: Backend | None = None,
    on_open: Callable[[Backend], object] | None = None,
    on_end: Step | None = None,
    watcher: Recorder | None = None,
    wrap: Callable[[Backend], Backend] = lambda backend: backend,
) -> RunOutcome:
    """Run or resume a scenario in its folder. `on_step` is called before each round, `on_end` when the record is complete.

    A spent budget and unreadable replies are no errors: the outcome says why the run `stopped`, and the record holds all events
    so far. `watcher` gets every event after it is recorded. `wrap` may put something around the model that sees
    its requests and replies. Errors: UserError for the folder of another run, for a full disk, and when another process runs in
    the folder.
    """
    from parley.model.workers import run_in_parts, take_in_parts, workers_for

    check_folder(spec.folder, spec.scenario, spec.classes)
    record, partial = spec.folder / RECORD, spec.folder / PARTIAL
    if is_complete(record) and not spec.retry_failures:
        take_in_parts(spec.folder)  # of a command that was killed before it had deleted them
        return RunOutcome(record, 0, 0, 0.0, already=True)
    # open the model before the folder is made: its name may be misspelt
    backend = backend or open_models(spec)
    if spec.branch:
        spec = replace(spec, branch=_opened_branch(spec, spec.branch, backend))
    check_files(spec.scenario)
    check_taught(spec.scenario, backend)
    loaded_adapters(spec.scenario, backend)
    if on_open:
        on_open(backend)
    with lock_folder(spec.folder):
        check_manifest(spec.folder, spec.scenario, backend, spec.classes)
        if (
            record.exists()
        ):  # failures are asked again, or the record was damaged: it is partial until it is complete again
            os.replace(record, partial)
        if spec.start and not (spec.folder / JOURNAL).exists():
            copy_journal(spec.start / JOURNAL, spec.folder / JOURNAL)
        take_in_parts(spec.folder)
        if (workers := workers_for(spec.scenario)) != ONE:
            return run_in_parts(spec, backend, workers, progress)
        started = time.monotonic()
        limits = Limits(Retry(wrap(backend)), spec.budget, spec.ledger)
        with (
            rare_garbage_collection(),
            closing(Journal(spec.folder / JOURNAL, limits, spec.retry_failures)) as journal,
            closing(FileRecorder(partial, watcher)) as recorder,
        ):
            if spec.ledger is None:
                limits.charge(*journal.spent())
            model = _run_model(spec, journal, recorder, progress, on_step)
            recorder.close()
            if not model.error:
                with file_errors(f"cannot finish the record in {spec.folder}"):
                    os.replace(partial, record)
                journal.end()
                if on_end:
                    on_end(model)
        return RunOutcome(
            partial if model.error else record,
            journal.asked,
            journal.replayed,
            seconds=time.monotonic() - started,
            stopped=str(model.error) if model.error else None,
            cost=limits.cost,
            uncached_cost=limits.uncached_cost,
            twins=journal.twins,
            tally=model.tally,
            unread=isinstance(model.error, Unreadable),
        )


def open_models(spec: RunSpec) -> Backend:
    """Open the models of a run. Errors: UserError."""
    later = spec.branch.models if spec.branch else ()
    return open_all(spec.scenario.models.llm, spec.scenario.llm_by_party, later)


def _opened_branch(spec: RunSpec, branch: Branch, backend: Backend) -> Branch:
    """Return the branch with the identities of its models. Errors: UserError where the run was made with another model."""
    journal = next(folder / JOURNAL for folder in (spec.folder, spec.start) if folder and (folder / JOURNAL).exists())
    if json.loads(identity_text(backend)) != read_identity(journal):
        raise UserError(
            f"{branch.parent} was run with another model, or another version of it, so a branch would have "
            "to request every reply again: use the same model"
        )
    later_identities = backend.later_identities if isinstance(backend, RoutedBackend) else {}
    return replace(branch, models={**branch.models, **later_identities})


def record_of(run: Path) -> Path:
    """Return the record of a run folder: the finished one, else the partial one. The path of a file is returned as it is."""
    if run.is_dir():
        return run / RECORD if (run / RECORD).exists() else run / PARTIAL
    return run


def is_complete(record: Path) -> bool:
    """Return whether this is the record of a finished run, by its last line."""
    try:
        with record.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 200))
            last = from_line(file.read().splitlines()[-1].decode())
    except (OSError, ValueError, IndexError):
        return False
    return isinstance(last, Ended)


def _run_model(
    spec: RunSpec, backend: Backend, recorder: FileRecorder, progress: Progress | None, on_step: Step | None
) -> DebateModel:
    """Run all rounds. A spent budget and unreadable replies end the run (`model.error`). Other errors are raised."""
    recorder.write([make_header(spec.scenario, spec.given, backend, spec.classes, spec.origin)])
    model = DebateModel(
        spec.scenario,
        agent_class=spec.agent_class,
        backend=backend,
        recorder=recorder,
        progress=progress,
        collect_errors=True,
        keep_going=spec.budget.keep_going,
    )
    while not model.over:
        if on_step:
            on_step(model)
        if model.setup != spec.scenario:
            spec = _with_new_interventions(spec, model.setup, backend, recorder)
        model.step()
    if model.error and not isinstance(model.error, BudgetSpent | Unreadable):
        raise model.error
    if not model.error:
        recorder.write([Ended(model.round, recorder.count)])
    return model


def _with_new_interventions(spec: RunSpec, scenario: Scenario, backend: Backend, recorder: FileRecorder) -> RunSpec:
    """Label folder and record as those of a run that had the interventions from the start, and return its spec."""
    spec = replace(spec, scenario=scenario, given=tuple({*spec.given, "interventions"}))
    relabel_folder(spec.folder, scenario, spec.classes)
    recorder.replace_first(make_header(scenario, spec.given, backend, spec.classes, spec.origin))
    return spec


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Let Python look for reference cycles less often: after every 700 objects it takes up to a third of a run's time."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], COLLECT) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def lock_folder(folder: Path, wait: bool = False) -> Iterator[None]:
    """Make the folder and lock it. wait: wait for another process that holds the lock.

    Errors: UserError when the folder cannot be made, or when another process holds the lock and this one does not wait.
    """
    with file_errors(f"cannot use the folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        handle: IO[str] = open(folder / LOCK, "a", encoding="utf-8")  # noqa: SIM115  # closed below
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"another process is running in {folder}: wait until it ends, or give another --out"
            ) from error
        yield
