"""What the fuzzer feeds, by name: readers of replies, of records, of journals and of users' files.

Each takes bytes and lets only bad news through: an exception of another kind than the reader documents, or a broken promise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from fuzz.readers import LABELLED, NUMERIC, READERS
from parley.agents.scales import read_rating
from parley.analysis.table_files import read_records
from parley.environments.graph_files import ENDINGS
from parley.environments.graphs import File
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.llm.thinking import split_thinking
from parley.model.recorder import from_line, to_line

PLACE = Path(tempfile.mkdtemp(prefix="fuzz-"))


def replies(data: bytes) -> None:
    """Every reader takes any text; a rating is a number on its scale, or missing with a reason."""
    text = data.decode("utf-8", "surrogateescape")
    for read in READERS.values():
        read(text)
    for scale in (NUMERIC, LABELLED):
        value, reason = read_rating(text, scale)
        assert (value is None) == (reason is not None)
        assert value is None or scale.low <= value <= scale.high
    answer, _ = split_thinking(text)
    assert len(answer) <= len(text)


def records(data: bytes) -> None:
    """A line of a record is an event that is written as it was read, or a ValueError."""
    try:
        event = from_line(data.decode())
    except ValueError:
        return
    assert from_line(to_line(event)) == event


def journals(data: bytes) -> None:
    """A reply of a journal has the types of its fields, or is an error that the journal turns into one line."""
    try:
        reply = Reply.from_json(data.decode())
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return
    assert Reply.from_json(reply.to_json()).to_json() == reply.to_json()


def graphs(data: bytes) -> None:
    """A graph file is a graph without loops, or a ValueError of one line. The first byte picks the ending."""
    path = PLACE / f"graph{ENDINGS[(data or b' ')[0] % len(ENDINGS)]}"
    path.write_bytes(data[1:])
    try:
        assert len(File(path=str(path)).read())
    except ValueError as error:
        _check_one_line(error)


def tables(data: bytes) -> None:
    """A user's table has as many cells in each row as its header, or is a UserError of one line."""
    path = PLACE / "table.csv"
    path.write_bytes(data)
    try:
        read_records(path)
    except UserError as error:
        _check_one_line(error)


def _check_one_line(error: Exception) -> None:
    assert "\n" not in str(error), str(error)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (replies, records, journals, graphs, tables)
}
