"""The user's files: messages, votes of people on pairs of them, and problems in which a message is needed.

Each is a table with commas (CSV), or one JSON object a line (.jsonl):

    messages   message; may have id (default: m1, m2, ...) and aim (what it is meant to achieve; one aim for all messages)
    votes      voter, first, second (ids of messages, in the order in which they were shown), choice (first, second or tie; empty
               for a vote that is missing)
    problems   aim; may have id (default: p1, p2, ...) and situation
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.analysis.table_files import read_table
from parley.llm.errors import UserError, unknown_name
from parley.studies.arena.writer import Aim

PAGE = "docs/arena.md"
FEWEST_MESSAGES = 2
SHARES = {"first": 1.0, "second": 0.0, "tie": 0.5}


class MessageSet(NamedTuple):
    """Messages by id, and their aim ("" if the file does not say it)."""

    texts: dict[str, str]
    aim: str = ""


def read_messages(path: Path) -> MessageSet:
    """Return the messages of a file. Errors: UserError for a file that does not fit the schema."""
    table = read_table(path, ["message"], PAGE)
    ids = _ids(table, path, "m")
    aims = sorted(set(table["aim"]) - {""}) if "aim" in table else []
    if len(aims) > 1:
        raise UserError(
            f"{path} has {len(aims)} aims: compare only messages with the same aim, each aim in its own file"
        )
    if empty := [name for name, text in zip(ids, table["message"], strict=True) if not text]:
        raise UserError(f"{path}: the message {empty[0]} is empty: write it, or leave out the row")
    if len(ids) < FEWEST_MESSAGES:
        raise UserError(f"{path} has {len(ids)} message: give at least {FEWEST_MESSAGES}")
    return MessageSet(dict(zip(ids, table["message"], strict=True)), aims[0] if aims else "")


def read_votes(path: Path, ids: Sequence[str]) -> pd.DataFrame:
    """Return one row per vote: member (the voter), first, second, share (1, 0.5, 0; NaN: missing), reason.

    ids: the messages. Errors: UserError for a file that does not fit, and for a message that is not one of them.
    """
    table = read_table(path, ["voter", "first", "second", "choice"], PAGE, filled=("voter",))
    for row in table.itertuples():
        where = f"{path}, row {row.Index}"
        for name in (str(row.first), str(row.second)):
            if name not in ids:
                raise UserError(f"{where}: {unknown_name('message', name, ids)}")
        if row.first == row.second:
            raise UserError(f"{where} compares the message {row.first} with itself: leave out the row")
        if row.choice and row.choice not in SHARES:
            raise UserError(f"{where}: choice must be {', '.join(SHARES)}, or empty if it is missing, not {row.choice}")
    share = table["choice"].map(SHARES).astype("float64")
    reason = table["choice"].map(lambda choice: "" if choice else "missing")
    return pd.DataFrame(
        {"member": table["voter"], "first": table["first"], "second": table["second"], "share": share, "reason": reason}
    ).reset_index(drop=True)


def read_problems(path: Path) -> dict[str, Aim]:
    """Return problems by id. Errors: UserError for a file that does not fit the schema."""
    table = read_table(path, ["aim"], PAGE)
    ids = _ids(table, path, "p")
    if empty := [name for name, aim in zip(ids, table["aim"], strict=True) if not aim]:
        raise UserError(f"{path}: the aim of {empty[0]} is empty: write what the message is to achieve")
    situations = table["situation"] if "situation" in table else [""] * len(table)
    return {name: Aim(aim, text) for name, aim, text in zip(ids, table["aim"], situations, strict=True)}


def _ids(table: pd.DataFrame, path: Path, letter: str) -> list[str]:
    ids = list(table["id"]) if "id" in table else [f"{letter}{number}" for number in range(1, len(table) + 1)]
    if wrong := [name for name in ids if not name or ids.count(name) > 1]:
        raise UserError(f"{path}: the id {wrong[0]!r} is empty or comes twice: give every row its own")
    if wrong := [name for name in ids if "/" in name]:
        raise UserError(
            f"{path}: the id {wrong[0]!r} has a slash, which separates a message from its rewritings: leave it out"
        )
    return ids
