"""The SQLite file of OASIS (camel-ai/oasis): users, posts, comments, likes, dislikes, follows.

A post with `original_post_id` is a repost, or a quote if it has `quote_content`. A comment is a reply to its post. Votes on
comments are acts on the comment. OASIS counts time in steps or writes it as a date; in both cases each distinct time of an act
is a round, in order. OASIS asks for no attitudes, so the log has none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from parley.analysis.logs.log import ONE_ROOM, Deed, Line, Link, Log, Person
from parley.analysis.logs.mapping import LogMap
from parley.llm.errors import UserError
from parley.llm.sqlite_files import read_sqlite

ABOUT = "the SQLite file of an OASIS simulation (.db)"
SCHEMA = {
    "user": ("user_id",),
    "post": ("post_id", "user_id", "original_post_id", "content", "quote_content", "created_at"),
    "comment": ("comment_id", "post_id", "user_id", "content", "created_at"),
    "like": ("user_id", "post_id", "created_at"),
    "dislike": ("user_id", "post_id", "created_at"),
    "follow": ("follower_id", "followee_id", "created_at"),
}
"""The tables that a file must have, with the columns that are read."""
VOTES = {"like": ("like", "post"), "dislike": ("dislike", "post"), "comment_like": ("like", "comment"),
         "comment_dislike": ("dislike", "comment")}  # fmt: skip
Row = dict[str, Any]


def read(paths: Sequence[Path], given: LogMap) -> Log:
    """Return the database as a log of one room. Errors: UserError of one line that names the table or column it lacks."""
    (path, *more) = paths
    if more:
        raise UserError(
            f"{more[0]} is another OASIS simulation, but Parley reads only one file at a time: give only one file"
        )
    tables = read_tables(path)
    people = {row["user_id"]: f"user {row['user_id']}" for row in tables["user"]}
    rounds = _rounds(tables)
    lines, deeds, links = [], [], []
    for round_, row, kind in _in_order(tables, rounds):
        if kind == "follow":
            names = people.get(row["follower_id"]), people.get(row["followee_id"])
            if all(names):
                links.append(Link(ONE_ROOM, round_, str(names[0]), str(names[1])))
            continue
        if (name := people.get(row["user_id"])) is None:
            raise UserError(f"{path}: table {kind} names user_id {row['user_id']!r}, which table user lacks")
        if line := _line(row, kind, name, round_):
            lines.append(line)
        deeds.append(_deed(row, kind, name, round_))
    lacks = {
        "attitudes": "OASIS records acts and asks for no ratings",
        "probes": "OASIS records acts and asks for no ratings",
        "calls": "an OASIS file does not count calls",
    }
    seated = [Person(ONE_ROOM, name) for name in people.values()]
    return Log("OASIS", seated, lines=lines, deeds=deeds, links=links, lacks=lacks)


def read_tables(path: Path) -> dict[str, list[Row]]:
    """Return the rows of each table. Errors: UserError if the file is no SQLite file, or lacks a table or a column."""
    try:
        with closing(read_sqlite(path)) as file:
            file.row_factory = sqlite3.Row
            file.text_factory = lambda text: text.decode("utf-8", "replace")
            present = {str(row[0]) for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for name, columns in SCHEMA.items():
                if name not in present:
                    raise UserError(f"{path} lacks the table {name}, which an OASIS simulation has")
                present_columns = {str(row["name"]) for row in file.execute(f'PRAGMA table_info("{name}")')}
                if lacking := [column for column in columns if column not in present_columns]:
                    raise UserError(f"{path}: the table {name} lacks the column {lacking[0]}")
            names = [*SCHEMA, *(name for name in VOTES if name in present and name not in SCHEMA)]
            return {name: list(map(dict, file.execute(f'SELECT * FROM "{name}" ORDER BY rowid'))) for name in names}
    except sqlite3.Error as error:
        raise UserError(f"{path} cannot be read as an SQLite file: {error}") from error


def _rounds(tables: dict[str, list[Row]]) -> dict[tuple[int, Any], int]:
    """Return the round of each time: numbers in order, then texts in order."""
    times = {_time(row) for name, rows in tables.items() if name != "user" for row in rows}
    return {time: number for number, time in enumerate(sorted(times), 1)}


def _time(row: Row) -> tuple[int, Any]:
    time = row.get("created_at")
    if isinstance(time, int | float):
        return 0, float(time)
    text = str(time)
    return (0, float(text)) if text.replace(".", "", 1).isdecimal() else (1, text)


def _in_order(tables: dict[str, list[Row]], rounds: dict[tuple[int, Any], int]) -> Iterator[tuple[int, Row, str]]:
    """Yield round, row and table of everything that happened, in order."""
    rows = [(rounds[_time(row)], row, name) for name, of in tables.items() if name != "user" for row in of]
    yield from sorted(rows, key=lambda dated_row: dated_row[0])


def _line(row: Row, kind: str, name: str, round_: int) -> Line | None:
    """Return the text that a row writes; None for a vote and a repost."""
    if kind not in ("post", "comment") or _act(row, kind) == "repost":
        return None
    text = row["quote_content"] if _act(row, kind) == "quote" else row["content"]
    form = {"post": "post", "quote": "quote", "reply": "comment"}[_act(row, kind)]
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else "" if text is None else str(text)
    reason = None if text else "empty in the log"
    return Line(ONE_ROOM, name, round_, text or None, reason, form, f"{kind} {row[f'{kind}_id']}")


def _act(row: Row, kind: str) -> str:
    if kind == "comment":
        return "reply"
    return "post" if row["original_post_id"] is None else "quote" if row["quote_content"] else "repost"


def _deed(row: Row, kind: str, name: str, round_: int) -> Deed:
    if kind in VOTES:
        act, what = VOTES[kind]
        return Deed(ONE_ROOM, name, round_, act, f"{what} {row[f'{what}_id']}")
    act = _act(row, kind)
    target = f"post {row['post_id']}" if kind == "comment" else f"post {row['original_post_id']}"
    written = "" if act == "repost" else f"{kind} {row[f'{kind}_id']}"
    return Deed(ONE_ROOM, name, round_, act, "" if act == "post" else target, written)
