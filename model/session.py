"""One sitting at a run folder: lock, check, run, record.

The folder holds the journal (every reply) and the record (every event). The same command on the same folder resumes: replies
come from the journal, the rest is asked, and the record is written anew, so that it is the same as that of an undisturbed run.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO

from agents.datafiles import HERE as AGENTS
from agents.topic import PROMPTS
from llm.backends import open_spec
from llm.driver import Progress
from llm.errors import BudgetSpent, UserError
from llm.journal import Journal
from llm.limits import NO_LIMIT, Budget, Limits
from llm.randomness import digest
from llm.request import Backend
from llm.retry import Retry
from llm.template import digests
from model.debate import DebateModel
from model.events import SCHEMA, Ended, Header
from model.recorder import ToFile
from model.scenario import Scenario

JOURNAL, RECORD, PARTIAL = "journal.sqlite", "record.jsonl", "record.partial.jsonl"
PACKAGES = ("parley-debates", "mesa", "networkx", "numpy")


@dataclass(frozen=True)
class Ask:
    """What a sitting is to do. The budget is that of the run folder, over all sittings."""

    scenario: Scenario
    folder: Path
    given: tuple[str, ...] = ()
    budget: Budget = NO_LIMIT
    retry_failures: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a sitting did. `stopped` says why it ended early; `already` that there was nothing left to do.

    `cost` is that of the run folder so far, at the budget's price.
    """

    record: Path
    asked: int
    replayed: int
    seconds: float
    stopped: str | None = None
    already: bool = False
    cost: float = 0.0


Step = Callable[[DebateModel], object]


def sit(
    task: Ask, progress: Progress | None = None, on_step: Step | None = None, backend: Backend | None = None
) -> Outcome:
    """Run or resume a scenario in its folder. Errors: UserError for a folder of another run, a full disk, a second sitting.

    A spent budget is no error here: the outcome says `stopped`, and the record holds what there is.
    """
    with _locked(task.folder):
        record = task.folder / RECORD
        if record.exists() and not task.retry_failures:
            _check(task, None)
            return Outcome(record, 0, 0, 0.0, already=True)
        return _run(task, progress, on_step, backend or open_spec(task.scenario.llm))


def _run(task: Ask, progress: Progress | None, on_step: Step | None, backend: Backend) -> Outcome:
    started = time.monotonic()
    _check(task, backend)
    limits = Limits(Retry(backend), task.budget)
    with (
        closing(Journal(task.folder / JOURNAL, limits, task.retry_failures)) as journal,
        closing(ToFile(task.folder / PARTIAL)) as recorder,
    ):
        limits.charge(*journal.spent())
        stopped = _debate(task, journal, recorder, progress, on_step)
    record = task.folder / (PARTIAL if stopped else RECORD)
    if not stopped:
        os.replace(task.folder / PARTIAL, record)
    return Outcome(record, journal.asked, journal.replayed, time.monotonic() - started, stopped, cost=limits.cost)


def _debate(
    task: Ask, backend: Backend, recorder: ToFile, progress: Progress | None, on_step: Step | None
) -> str | None:
    recorder.write([header(task.scenario, task.given, backend)])
    model = DebateModel(task.scenario, backend=backend, recorder=recorder, progress=progress)
    while not model.over:
        if on_step:
            on_step(model)
        model.step()
    if isinstance(model.error, BudgetSpent):
        return str(model.error)
    if model.error:
        raise model.error
    recorder.write([Ended(model.round, recorder.count)])
    return None


def header(scenario: Scenario, given: tuple[str, ...], backend: Backend) -> Header:
    """All that is needed to run it again."""
    versions = {name: metadata.version(name) for name in PACKAGES if _installed(name)} | {
        "python": platform.python_version()
    }
    return Header(
        SCHEMA,
        scenario.to_dict(),
        tuple(sorted(given)),
        dict(backend.identity),
        digests(PROMPTS),
        _data_digest(),
        _revision(),
        versions,
    )


def _installed(name: str) -> bool:
    return bool(list(metadata.distributions(name=name)))


def _data_digest() -> str:
    """Digest of personas, topics and scales."""
    files = sorted(AGENTS.rglob("*.toml"))
    return digest(*[part for path in files for part in (path.name, path.read_text(encoding="utf-8"))]).hex()


def _revision() -> str:
    """The commit of the checkout this code stands in, with a + when it was changed since; `release` outside a checkout."""
    here = Path(__file__).parent.parent
    if not (here / ".git").exists():
        return "release"
    try:
        found = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty=+"], capture_output=True, text=True, check=False
        )
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"


def _check(task: Ask, backend: Backend | None) -> None:
    """The folder belongs to this very experiment, or to nobody yet."""
    label = task.folder / "experiment.json"
    mine = {"scenario": task.scenario.to_dict(), "prompts": digests(PROMPTS), "data": _data_digest()}
    if label.exists():
        theirs = _read_label(label)
        for key, what in (
            ("scenario", "another scenario, seed or setting"),
            ("prompts", "other prompts"),
            ("data", "other personas or topics"),
        ):
            if theirs.get(key) != mine[key]:
                raise UserError(f"{task.folder} holds a run with {what}{_difference(theirs, mine)}; give another --out")
        if backend and theirs["model"] != json.loads(json.dumps(dict(backend.identity))):
            raise UserError(f"{task.folder} holds a run on another model or version of it; give another --out")
        return
    if any(path.name != ".lock" for path in task.folder.iterdir()):
        raise UserError(f"{task.folder} is not empty and holds no run; give another --out")
    if backend:
        _write(label, json.dumps({**mine, "model": dict(backend.identity)}, indent=1))


def _read_label(label: Path) -> dict:
    try:
        return dict(json.loads(label.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {label}: {error}") from error


def _difference(theirs: dict, mine: dict) -> str:
    changed = [
        f"{key} {theirs['scenario'].get(key)!r}, not {value!r}"
        for key, value in mine["scenario"].items()
        if theirs.get("scenario", {}).get(key) != value
    ]
    return f" ({changed[0]})" if changed else ""


def _write(path: Path, text: str) -> None:
    """Write a small file whole or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make the folder and hold its lock. Errors: UserError when it cannot be made or another sitting holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle: IO[str] = open(folder / ".lock", "w", encoding="utf-8")  # noqa: SIM115  # closed below
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"another run is at work in {folder}") from error
        yield
