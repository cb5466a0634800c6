"""The journal: keeps the final outcome of every request in SQLite, so that resume is replay.

The key is `Request.key`. Twins, requests that differ only in a seed without effect, share a key and are sent once. Named failures
are final outcomes too, so a resume sends nothing twice. With `retry_failures` a request whose outcome is a failure is sent again;
the new outcome is stored with the old one, and the newest counts. A batch is one transaction (WAL): what `complete` has returned
survives `kill -9`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from operator import sub
from pathlib import Path
from typing import Any

from parley.llm.budget import Budget, Ledger
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.notices import notify
from parley.llm.prices import Account
from parley.llm.request import NOTHING, Backend, Reply, Request, Usage, Wrapper, check_replies, identity_text
from parley.llm.sqlite_files import check_schema, read_sqlite

_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcomes (
    key BLOB NOT NULL, attempt INTEGER NOT NULL, purpose TEXT NOT NULL, voice TEXT NOT NULL,
    failure TEXT, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, reply TEXT NOT NULL,
    PRIMARY KEY (key, attempt)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sittings (started REAL NOT NULL, seconds REAL, asked INTEGER NOT NULL, replayed INTEGER NOT NULL);
"""
_INSERT = "INSERT INTO outcomes SELECT ?, COALESCE((SELECT MAX(attempt) + 1 FROM outcomes WHERE key = ?), 0), ?, ?, ?, ?, ?, ?"
_REPLIES = "SELECT key, reply FROM outcomes WHERE key IN"
MERGED = "merged:"
"""How the name of a note begins that says which journal of a part was put into this one."""
_FIRST_START = "SELECT MIN(started) FROM sittings"
_OUTCOMES = "SELECT key, key, purpose, voice, failure, prompt_tokens, completion_tokens, reply FROM outcomes ORDER BY 1, attempt"
_SPENT = """
SELECT voice, served, batch, COUNT(*) + TOTAL(repeated), TOTAL(prompt_tokens), TOTAL(completion_tokens), TOTAL(cached) FROM (
    SELECT voice, prompt_tokens, completion_tokens, json_extract(reply, '$.notes.repeated') AS repeated,
        COALESCE(json_extract(reply, '$.notes.batch'), 0) > 0 AS batch,
        MIN(prompt_tokens, COALESCE(json_extract(reply, '$.notes.cached_tokens'), 0)) AS cached,
        CASE WHEN INSTR(reply, '"served:') THEN COALESCE((
            SELECT SUBSTR(key, 8) FROM json_each(reply, '$.notes') WHERE key LIKE 'served:%' LIMIT 1), '')
        ELSE '' END AS served
    FROM outcomes)
GROUP BY voice, served, batch
"""
_RATE = "SELECT TOTAL(asked), TOTAL(seconds) FROM sittings WHERE seconds"
_THINKING = (
    "SELECT COUNT(*), AVG(COALESCE(json_extract(reply, '$.notes.thinking_tokens'), 0)) FROM outcomes "
    "WHERE voice = '' AND failure IS NULL"
)
FEWEST = 20
"""Calls that a journal must hold before a rate or a mean of them is reported."""
COPIED = "copied"
_COPIED = f"SELECT value FROM meta WHERE name = '{COPIED}'"
"""The name, among the notes on a journal, of what the journal that it began with had spent."""
MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite database."""
_KEYS = 500  # per SELECT, below SQLite's limit of 999 variables


@contextmanager
def journal_errors(path: Path) -> Iterator[None]:
    """Turn any error of SQLite (no journal, disk full, damaged, locked), and any value that no journal of ours has, into one
    line for the user.
    """
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, OverflowError, AttributeError, KeyError, RecursionError) as error:
        raise UserError(f"cannot use the journal {path}: {error}") from error


def open_database(path: Path) -> sqlite3.Connection:
    """Open or make a journal. Errors: UserError when the file is no journal or cannot be written."""
    with journal_errors(path):
        connection = check_schema(sqlite3.connect(path, timeout=30, isolation_level=None))
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(_SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def read_database(path: Path) -> sqlite3.Connection:
    """Open a journal for reading only: another program's database, or an archive, stays as it is."""
    if not path.is_file():
        raise UserError(f"{path} does not exist: give the folder of a run that has a journal of replies")
    with journal_errors(path):
        return read_sqlite(path)


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a journal that is not open. Errors: UserError when there is no such journal."""
    with journal_errors(path), closing(read_database(path)) as database:
        return database.execute(sql).fetchall()


def copy_journal(source: Path, path: Path) -> None:
    """Copy the journal at `source` to `path`, completely or not at all; note what it has spent. Errors: UserError."""
    partial_copy = path.with_name(f"{path.name}.part")
    partial_copy.unlink(missing_ok=True)
    with (
        journal_errors(path),
        closing(read_database(source)) as original,
        closing(sqlite3.connect(partial_copy)) as new,
    ):
        original.backup(new)
        with new:
            calls, used = _spent(new.execute(_SPENT).fetchall())
            spent = json.dumps((calls, list(used.items())))
            new.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (COPIED, spent))
    partial_copy.replace(path)


def merge_journal(source: Path, path: Path) -> None:
    """Put all outcomes of the journal at `source` into the one at `path`, as its latest; once, also if it is called again.

    Errors: UserError.
    """
    with journal_errors(path), closing(read_database(source)) as part, closing(open_database(path)) as database:
        mark = f"{MERGED}{part.execute(_FIRST_START).fetchone()[0]}"
        if database.execute("SELECT 1 FROM meta WHERE name = ?", (mark,)).fetchone():
            return
        identity = part.execute("SELECT name, value FROM meta WHERE name = 'identity'").fetchall()
        with database:
            database.execute("BEGIN")
            database.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", [*identity, (mark, "")])
            database.executemany(_INSERT, part.execute(_OUTCOMES))


def add_sitting(path: Path, started: float, seconds: float, asked: int, replayed: int) -> None:
    """Note a start of a run whose calls were made by several workers. Errors: UserError."""
    with journal_errors(path), closing(open_database(path)) as database:
        database.execute("INSERT INTO sittings VALUES (?, ?, ?, ?)", (started, seconds, asked, replayed))


class Journal(Wrapper):
    """A backend that answers from its file first, and sends only the rest to the inner backend.

    `asked`, `twins` (answered with a twin of this sitting) and `replayed` (known from before) count the requests of this sitting.
    A request equal to one in flight waits for it, and is not sent twice. `earlier` is another journal whose replies are known,
    which is only read. Errors: UserError when the disk is full.
    """

    def __init__(self, path: Path, inner: Backend, retry_failures: bool = False, earlier: Path | None = None):
        super().__init__(inner)
        self.path, self.retry_failures = path, retry_failures
        self.asked = self.twins = self.replayed = 0
        self._identity = identity_text(inner)
        self._waiting: dict[bytes, list[Request]] = {}
        self._landed: list[tuple[Request, Reply]] = []
        self._retried: set[bytes] = set()
        self._met: set[bytes] = set()
        self._idle, self._ended = 0.0, False
        self._database = open_database(path)
        self._earlier = read_database(earlier) if earlier and earlier.exists() else None
        with journal_errors(path), path.open("rb") as file:
            status = os.fstat(file.fileno())
        self._file = status.st_dev, status.st_ino
        self._started = time.time()
        self._say_if_changed()
        self._run("INSERT OR REPLACE INTO meta VALUES ('identity', ?)", (self._identity,))
        self._run("INSERT INTO sittings VALUES (?, NULL, 0, 0)", (self._started,))
        self._sitting = self._run("SELECT last_insert_rowid()")[0][0]

    def _say_if_changed(self) -> None:
        """Say on the terminal if the replies so far are of another model, so that none of them will be used."""
        before = self._run("SELECT value FROM meta WHERE name = 'identity' AND EXISTS (SELECT 1 FROM outcomes)")
        if before and before[0][0] != self._identity:
            notify(
                f"{self.path} has replies of another model, or of another version of it, so Parley asks every question again"
            )

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        keys = [self._key(request) for request in requests]
        first = dict(zip(reversed(keys), reversed(requests), strict=True))  # of twins the first, as on a network
        outcomes = self._known(list(first))
        fresh = {key: first[key] for key in dict.fromkeys(keys) if key not in outcomes}
        if fresh:
            self.keep_beside(self.path)
            try:
                replies = check_replies(self.inner.complete(list(fresh.values())), len(fresh))
            except BudgetSpent as spent:
                self._keep(fresh, list(spent.replies))
                self.settle()
                raise
            outcomes |= self._keep(fresh, replies)
            self.settle()
        self._count(requests, len(fresh))
        return [outcomes[key] for key in keys]

    def send(self, requests: Sequence[Request]) -> None:
        keys = [self._key(request) for request in requests]
        stored, fresh = self._known([key for key in keys if key not in self._waiting]), []
        for key, request in zip(keys, requests, strict=True):
            if key in stored:
                self._landed.append((request, stored[key]))
            elif key in self._waiting:
                self._waiting[key].append(request)
            else:
                self._waiting[key] = [request]
                fresh.append(request)
        self._count(requests, len(fresh))
        if fresh:
            self.keep_beside(self.path)
            super().send(fresh)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """Return known replies first; else keep what has landed as one transaction, and return it to all who wait for it."""
        if self._landed:
            landed, self._landed = self._landed, []
            return landed
        arrived = super().receive(wait)
        fresh = {self._key(request): request for request, _ in arrived}
        outcomes = self._keep(fresh, [reply for _, reply in arrived])
        self.settle()
        return [(request, reply) for key, reply in outcomes.items() for request in self._waiting.pop(key)]

    def _key(self, request: Request) -> bytes:
        return request.key(self._identity, self.inner.seedless(request))

    def _count(self, requests: Sequence[Request], fresh: int) -> None:
        seedless = [self._key(request) for request in requests if self.inner.seedless(request)]
        twins = len(seedless) - len(set(seedless) - self._met)
        self._met.update(seedless)
        self.twins += twins
        self.replayed += len(requests) - fresh - twins

    def _keep(self, fresh: dict[bytes, Request], replies: list[Reply]) -> dict[bytes, Reply]:
        rows, outcomes = [], {}
        for (key, request), reply in zip(fresh.items(), replies, strict=False):  # fewer replies: the budget ran out
            line, failure = reply.to_json(), reply.failure.name if reply.failure else None
            rows.append((key, key, request.purpose, request.voice, failure, *reply.usage, line))
            # JSON joins a split surrogate pair: return now what a replay will return
            outcomes[key] = Reply.from_json(line) if "\\ud" in line else reply
        with journal_errors(self.path), self._database:
            self._database.execute("BEGIN")
            self._database.executemany(_INSERT, rows)
        self._check_file(len(rows))
        self.asked += len(rows)
        if self.retry_failures:
            self._retried.update(outcomes)
        return outcomes

    def _check_file(self, rows: int) -> None:
        """Errors: UserError where the file is not the one that was opened: SQLite goes on writing to a file without a name.

        Its log may be missing: another program that reads the journal last may delete the log (documentation of SQLite, WAL).
        """
        problem = ""
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if file.read(len(MAGIC)) != MAGIC or (status.st_dev, status.st_ino) != self._file:
                    problem = "was replaced by another file"
        except OSError as error:
            problem = f"was removed ({error.strerror})"
        if problem:
            raise UserError(
                f"the journal {self.path} {problem}, so the run stopped. Up to {self.asked + rows:,} replies since this start "
                "are lost, unless you have a copy of the file. Restore the file, or start again with another --out"
            )

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        stored: dict[bytes, Reply] = {}
        for start in range(0, len(keys), _KEYS):
            key_batch = keys[start : start + _KEYS]
            marks = ",".join("?" * len(key_batch))
            for database in filter(None, (self._earlier, self._database)):
                with journal_errors(self.path):
                    rows = database.execute(f"{_REPLIES} ({marks}) ORDER BY key, attempt", key_batch).fetchall()
                    stored |= {key: Reply.from_json(reply) for key, reply in rows}
        if self.retry_failures:
            return {key: reply for key, reply in stored.items() if not reply.failure or key in self._retried}
        return stored

    def spent(self) -> tuple[int, dict[Account, Usage]]:
        """Return calls (with those that a network backend repeated) and tokens by account, over all starts of this folder.

        What came with a copied journal was spent elsewhere and is not counted.
        """
        return _without_copied(self._run(_SPENT), self._run(_COPIED))

    def idle(self, seconds: float) -> None:
        """Leave out seconds in which a user let the run wait: the time of a start is that of its calls."""
        self._idle += seconds

    def end(self) -> None:
        """Write the counts and wall-clock time of this start (which is only here, never in the record); later calls of an
        interview do not count.
        """
        if not self._ended:
            self._ended = True
            self._run(
                "UPDATE sittings SET seconds = ?, asked = ?, replayed = ? WHERE rowid = ?",
                (time.time() - self._started - self._idle, self.asked, self.replayed, self._sitting),
            )

    def close(self) -> None:
        """End this start, and close the file."""
        try:
            self.end()
        finally:
            for database in filter(None, (self._earlier, self._database)):
                database.close()

    def _run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with journal_errors(self.path):
            return self._database.execute(sql, values).fetchall()


def _spent(rows: Sequence[Sequence[Any]]) -> tuple[int, dict[Account, Usage]]:
    """Return calls and tokens by account (llm/prices.py) of the rows of `_SPENT`."""
    used: dict[Account, Usage] = {}
    for voice, served, batch, _, *tokens in rows:
        prompt, completion, cached = map(int, tokens)
        used[Account(voice, served, False, bool(batch))] = Usage(prompt - cached, completion)
        if cached:
            used[Account(voice, served, True, bool(batch))] = Usage(cached, 0)
    return sum(int(row[3]) for row in rows), used


def _without_copied(rows: Sequence[Sequence[Any]], copied: Sequence[Sequence[Any]]) -> tuple[int, dict[Account, Usage]]:
    """Return calls and tokens by account, without those of the journal that was copied."""
    calls, used = _spent(rows)
    for (text,) in copied:
        before, tokens = json.loads(text)
        calls -= before
        # a journal that an earlier version copied has tokens by voice
        accounts = (
            {voice: ((voice,), usage) for voice, usage in tokens.items()}.values()
            if isinstance(tokens, dict)
            else tokens
        )
        copied_tokens = {Account(*account): usage for account, usage in accounts}
        used = {account: Usage(*map(sub, now, copied_tokens.get(account, NOTHING))) for account, now in used.items()}
    return calls, used


def own_usage(path: Path) -> tuple[int, dict[Account, Usage]]:
    """Return what a journal that is not open has spent itself, as `Journal.spent`. Errors: UserError when there is none."""
    with journal_errors(path):
        return _without_copied(query(path, _SPENT), query(path, _COPIED))


def count_outcomes(path: Path) -> int:
    """Return how many outcomes a journal holds; 0 for one that cannot be read now, as when it is being made."""
    try:
        return int(query(path, "SELECT COUNT(*) FROM outcomes")[0][0])
    except (UserError, sqlite3.Error):
        return 0


def usage_of_journal(path: Path) -> tuple[int, dict[Account, Usage]]:
    """Return what all calls of a journal that is not open have spent, those copied from another one among them.

    Errors: UserError when there is none.
    """
    with journal_errors(path):
        return _spent(query(path, _SPENT))


def shared_ledger(budget: Budget, journals: Iterable[tuple[Path, Budget]]) -> Ledger | None:
    """Return one ledger for several journals, with what they have spent by now; None where there is no limit.

    Each journal comes with a budget that has its prices.
    """
    if (budget.calls, budget.tokens, budget.cost) == (None, None, None):
        return None
    ledger = Ledger(budget)
    for path, journal_budget in journals:
        if path.exists():
            calls, used = usage_of_journal(path)
            ledger.spend(calls, sum(map(sum, used.values())), journal_budget.money(used))
    return ledger


def reply_rate(path: Path) -> float | None:
    """Return the calls per second over all starts of a journal; None where fewer than 20 calls were made."""
    with journal_errors(path):
        ((calls, seconds),) = query(path, _RATE)
        return calls / seconds if calls >= FEWEST and seconds else None


def thinking_tokens(path: Path) -> float | None:
    """Return the mean tokens that a journal's model thought before it replied; None for fewer than 20 replies."""
    with journal_errors(path):
        ((replies, mean),) = query(path, _THINKING)
        return float(mean) if replies >= FEWEST else None


def read_identity(path: Path) -> dict[str, Any]:
    """Return the identity of the model whose replies a journal holds. Errors: UserError when there is no such journal."""
    if not (rows := query(path, "SELECT value FROM meta WHERE name = 'identity'")):
        raise UserError(f"the journal {path} has no replies to replay: choose a run that has called a model")
    with journal_errors(path):
        return dict(json.loads(rows[0][0]))
