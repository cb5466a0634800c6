"""SQLite files of another hand: what is in them is data. A view, a trigger or a function in a schema is refused in one line."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from data_checks import check_each

from parley.analysis.logs.formats import oasis
from parley.llm.backends.fake import Fake
from parley.llm.backends.replay import Replay
from parley.llm.errors import UserError
from parley.llm.journal import Journal, copy_journal, open_database, own_usage, query, read_identity, usage_of_journal
from parley.llm.request import Reply
from parley.llm.sqlite_files import read_sqlite

from .conftest import echo

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
COLUMNS = "key, attempt, purpose, voice, failure, prompt_tokens, completion_tokens, reply"
HOSTILE = {
    "view": f"DROP TABLE outcomes; CREATE VIEW outcomes ({COLUMNS}) AS "
    f"SELECT i, 0, 'survey', '', NULL, 1, 1, '{{}}' FROM ({ENDLESS})",
    "trigger": f"CREATE TRIGGER t AFTER INSERT ON outcomes BEGIN INSERT INTO meta SELECT i, '' FROM ({ENDLESS}); END",
    "virtual": "DROP TABLE outcomes; CREATE VIRTUAL TABLE outcomes USING fts5(key, reply)",
    "column": "ALTER TABLE outcomes ADD COLUMN large TEXT AS (hex(zeroblob(400000000))) VIRTUAL",
}


def journal_with(sql: str, path: Path) -> Path:
    """Make a journal with one reply's table changed."""
    open_database(path).close()
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"INSERT INTO meta VALUES ('identity', '{{}}'); {sql}")
    return path


READERS: dict[str, Callable[[Path], object]] = {
    "spent": own_usage,
    "usage": usage_of_journal,
    "identity": read_identity,
    "replay": Replay,
    "resume": lambda path: Journal(path, Fake(echo)),
    "copy": lambda path: copy_journal(path, path.with_name("copy.sqlite")),
    "logs": oasis.read_tables,
}


@check_each("kind", HOSTILE)
def test_a_journal_with_more_than_tables_is_one_line_for_all_who_read_it(kind: str, tmp_path: Path) -> None:
    """A recursive view called `outcomes` hung verify, the list of runs and --llm replay for ever."""
    path = journal_with(HOSTILE[kind], tmp_path / "journal.sqlite")
    began = time.process_time()
    for name, read in READERS.items():
        with pytest.raises(UserError, match="plain tables only") as error:
            read(path)
        assert "\n" not in str(error.value), name
    assert time.process_time() - began < 1
    assert not (tmp_path / "copy.sqlite").exists()


def test_a_query_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    """The work on a file is limited by its size, whatever else its schema can do."""
    path = tmp_path / "journal.sqlite"
    open_database(path).close()
    with pytest.raises(UserError, match="interrupted"):
        query(path, f"SELECT COUNT(*) FROM ({ENDLESS})")


def test_a_function_in_a_file_cannot_ask_for_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    open_database(path).close()
    with closing(read_sqlite(path)) as database, pytest.raises(sqlite3.Error, match="too big"):
        database.execute("SELECT hex(zeroblob(400000000))").fetchall()


@check_each(
    "table, values",
    [
        ("outcomes", (b"k", 0, "survey", "", None, 1e999, 1, "{}")),
        ("outcomes", (b"k", 0, "survey", "", None, "many", 1, "no JSON")),
        ("meta", ("copied", "[[[[")),
        ("meta", ("copied", '[1, {"": "x"}]')),
    ],
)
def test_values_that_no_journal_has_are_one_line(table: str, values: tuple[object, ...], tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    open_database(path).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO outcomes VALUES (x'00', 0, '', '', NULL, 1, 1, '{}')")
        database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
    with pytest.raises(UserError, match="cannot use the journal"):
        own_usage(path)


@check_each(
    "change",
    [
        {"text": 7}, {"text": ["a"]}, {"usage": [1, "2"]}, {"usage": [1, 2, 3]}, {"usage": None}, {"answers": {"7": "x"}},
        {"answers": [1]}, {"notes": {"cut": []}}, {"covered": float("inf")}, {"failure": "timeout"}, {"failure": [1, "", False]},
        {"mood": "good"}, {"thinking": None},
    ],
)  # fmt: skip
def test_a_reply_with_values_of_other_types_is_an_error(change: dict[str, object]) -> None:
    """A reply whose text is a number would be read by readers of texts, and end in a traceback or a wrong number."""
    plain = {"text": "7", "failure": None, "usage": [1, 1], "answers": None, "notes": {}}
    with pytest.raises((ValueError, TypeError)):
        Reply.from_json(json.dumps(plain | change))


def test_a_broken_reply_in_a_journal_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    open_database(path).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO outcomes VALUES (zeroblob(16), 0, '', '', NULL, 1, 1, '{\"text\": 7, \"usage\": []}')"
        )
        database.execute("INSERT INTO meta VALUES ('identity', '{}')")
    with pytest.raises(UserError, match="cannot use the journal"):
        Replay(path).reply_to(bytes(16).hex())
