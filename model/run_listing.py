"""The runs in a folder of runs, each as a row: what was debated, by which model, how far it came, and what it cost.

Only the first line and the end of a record are read, and a record that has not changed is not read again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from parley.llm.errors import UserError
from parley.llm.journal import own_usage
from parley.llm.prices import SERVED_BY, Account, Price, Prices, cost_of, price_from
from parley.llm.request import Usage
from parley.model.events import Ended, Header, InRound
from parley.model.files import JOURNAL, PARTIAL, RECORD, write_whole
from parley.model.header_bounds import check_header
from parley.model.recorder import from_line
from parley.model.run_folder import LOCK
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import is_complete, record_of

MOST = 500
"""Runs that are listed, the newest first: a sweep or an audit makes thousands."""
PRICES = "prices.json"
"""The prices that a user gave on the page, by voice, so that the folder can say what it has cost."""
TAIL = 65_536
LOOKED_AT = 200_000
"""Files and folders that are looked at, those nearest to the top first: a folder of a stranger may hold any number."""
Folders = dict[Path, set[str]]
"""Folders with the names of the files in them."""
LONGEST_LINE = 1 << 24
"""Characters of a header, or of a file of prices, that are read."""


@dataclass(frozen=True)
class RunRow:
    """A run folder. `state` is done, unfinished or elsewhere (another process runs in it); `cost` is None where no price is
    known, and 0 for a model on this machine. `changed` is the time of the last event, in seconds since 1970.
    """

    folder: Path
    header: Header
    rounds: int
    state: str
    changed: float
    calls: int
    cost: float | None


@dataclass(frozen=True)
class RunList:
    """The runs in a folder and its subfolders, the newest first. `unread` says in a line each which are not listed, and why."""

    rows: list[RunRow]
    unread: list[str]


def list_runs(root: Path) -> RunList:
    """Return the runs in a folder and its subfolders. Whatever the folders hold, the time is bounded."""
    records, complete = _records(root)
    runs = read_runs(records)
    return RunList(runs.rows, [*runs.unread, *([] if complete else [too_many(root)])])


def read_runs(records: Iterable[Path]) -> RunList:
    """Return the runs of these records, the newest first; of many only the newest."""
    dated, rows, unread = [], list[RunRow](), list[str]()
    for record in records:
        with suppress(OSError):
            dated.append((record.stat().st_mtime, record))
    for changed, record in sorted(dated, reverse=True)[:MOST]:
        try:
            rows.append(_row(record.parent, record, changed))
        except UserError as error:
            unread.append(str(error))
        except Exception as error:  # noqa: BLE001  a record of another hand may hold anything
            unread.append(f"cannot read the run in {record.parent}: {type(error).__name__}: {error}")
    return RunList(rows, unread)


def too_many(root: Path) -> str:
    """Return that not all of a folder was looked at."""
    return f"{root} holds more than {LOOKED_AT:,} files and folders, so only some of its runs are listed"


def _records(root: Path) -> tuple[list[Path], bool]:
    """Return the record of each run folder, and whether all files were looked at."""
    folders, complete = walk(root)
    records = [folder / name for folder, names in folders.items() for name in (RECORD, PARTIAL) if name in names]
    return list({record.parent: record for record in reversed(records)}.values()), complete


def walk(root: Path, whole: Callable[[Path, set[str]], bool] = lambda folder, names: False) -> tuple[Folders, bool]:
    """Return the names of the files in each folder, those nearest to the top first, and whether all were looked at.

    whole: whether nothing inside of a folder is looked at. Links to folders are not followed; devices and pipes are no files.
    """
    found: Folders = {}
    folders, left = deque([root]), LOOKED_AT
    while folders:
        folder = folders.popleft()
        names, inside = found.setdefault(folder, set()), list[Path]()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    return found, False
                if entry.is_dir(follow_symlinks=False):
                    inside.append(Path(entry))
                elif entry.is_file():
                    names.add(entry.name)
        folders.extend([] if folder != root and whole(folder, names) else inside)
    return found, True


def has_record(names: Collection[str]) -> bool:
    """Return whether a folder with files of these names is that of a run."""
    return RECORD in names or PARTIAL in names


def read_progress(folder: Path) -> tuple[Header, int, bool]:
    """Return the header of a run, the rounds that it has completed, and whether it has finished. Errors: UserError."""
    record = record_of(folder)
    try:
        return _read(record, record.stat().st_mtime)
    except OSError as error:
        raise UserError(f"cannot read the run in {folder}: {error.strerror}") from error


def read_header(folder: Path) -> Header:
    """Return the header of a run folder. Errors: UserError when it has no readable record."""
    path = record_of(folder)
    try:
        with path.open(encoding="utf-8") as file:
            header = from_line(file.readline(LONGEST_LINE))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"cannot read the run in {folder}: {error}") from error
    if not isinstance(header, Header):
        raise UserError(f"cannot read the run in {folder}: its record does not begin with a header")
    return header


def scenario_of(header: Header, folder: Path) -> Scenario:
    """Return the scenario of the run in a folder. Errors: UserError when the presets here do not give the same scenario, or its
    numbers are not those of a run of Parley.
    """
    recorded = header.scenario
    values = {key: recorded.get(key, recorded["options"].get(key)) for key in header.given}
    name = str(recorded["name"])
    scenario = load_preset(name, values)
    if scenario.to_dict() != recorded:
        raise UserError(
            f"the preset {name} has changed since this run, or the run was made in Python: resume the run with the "
            "command or the program that began this run"
        )
    check_header(scenario, record_of(folder))
    return scenario


def is_locked(folder: Path) -> bool:
    """Return whether a process is running in the folder."""
    try:
        with (folder / LOCK).open("a", encoding="utf-8") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def save_prices(folder: Path, prices: Prices) -> None:
    """Keep the prices of a run in its folder."""
    write_whole(folder / PRICES, json.dumps({voice: price.numbers for voice, price in prices.items() if price}))


def saved_prices(folder: Path) -> dict[str, Price]:
    """Return the prices that the folder keeps; none where it keeps none."""
    try:
        with (folder / PRICES).open(encoding="utf-8") as file:
            kept = json.loads(file.read(LONGEST_LINE))
        return {str(voice): price_from(numbers) for voice, numbers in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _row(folder: Path, record: Path, changed: float) -> RunRow:
    header, rounds, done = _read(record, changed)
    calls, cost = _spent(folder, header)
    return RunRow(folder, header, rounds, "done" if done else "unfinished", changed, calls, cost)


@lru_cache(maxsize=4 * MOST)
def _read(record: Path, changed: float) -> tuple[Header, int, bool]:
    """Return header, rounds so far, and whether the record is complete. changed: when it was, so that it is read anew."""
    return read_header(record.parent), _rounds(record), is_complete(record)


def _rounds(record: Path) -> int:
    """Return the rounds that a record completes: those of its end, or one less than that of its last event."""
    with record.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL))
        lines = file.read().decode("utf-8", "replace").splitlines()[1:]
    for event in _events(reversed(lines)):
        if isinstance(event, Ended):
            return event.rounds
        if isinstance(event, InRound):
            return max(0, event.round - 1)
    return 0


def _events(lines: Iterator[str]) -> Iterator[object]:
    for line in lines:
        try:
            yield from_line(line)
        except (ValueError, TypeError, KeyError):  # the last line of a killed run may be half written
            continue


def _spent(folder: Path, header: Header) -> tuple[int, float | None]:
    """Return calls and cost of a run. A model in this process is free; one behind an endpoint costs what the folder says."""
    if not (folder / JOURNAL).exists():
        return 0, None
    calls, used = _usage(folder / JOURNAL, _stamp(folder / JOURNAL))
    prices, names = saved_prices(folder), _backends(header)
    voices = {account.voice for account in used} or {""}
    if any(voice not in prices and names.get(voice, names[""]) in SERVED_BY for voice in voices):
        return calls, None
    return calls, cost_of(used, prices)


@lru_cache(maxsize=MOST)
def _usage(journal: Path, stamp: tuple[int, ...]) -> tuple[int, Mapping[Account, Usage]]:
    """Return what a journal has spent: with millions of calls that takes seconds, and a page lists its runs often."""
    return own_usage(journal)


def _stamp(journal: Path) -> tuple[int, ...]:
    """Return numbers that change when a journal or its log does."""
    files = [path.stat() for path in (journal, journal.with_name(f"{journal.name}-wal")) if path.exists()]
    return tuple(number for file in files for number in (file.st_ino, file.st_size, file.st_mtime_ns))


def _backends(header: Header) -> dict[str, str]:
    """Return the backend of each voice, "" for the first model."""
    model = header.model
    if model.get("backend") != "several":
        return {"": str(model.get("backend"))}
    voices = {voice: str(voice_identity.get("backend")) for voice, voice_identity in model["voices"].items()}
    return {"": str(model["first"].get("backend")), **voices}
