"""Reads a record of millions of lines: the most frequent kinds of events become rows, five times as fast as events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, Union, get_type_hints

import msgspec

from parley.model import events
from parley.model.recorder import read_lines

MANY = (events.Utterance, events.Rated, events.Called, events.Heard)
"""The kinds of events of which a record has most."""


@cache
def row_kinds() -> dict[type, type]:
    """Return for each class of rows the class of events that it stands for, with the same fields and types."""
    return {_row_kind(kind): kind for kind in MANY}


def _row_kind(kind: type[events.Event]) -> type:
    types = get_type_hints(kind)
    columns = [
        (field.name, types[field.name]) if field.default is MISSING else (field.name, types[field.name], field.default)
        for field in fields(kind)
    ]
    checks: dict[str, Any] = {"forbid_unknown_fields": True, "kw_only": True, "gc": False}
    return msgspec.defstruct(f"{kind.__name__}Row", columns, tag_field="kind", tag=kind.kind, **checks)


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Union[tuple(row_kinds())])  # noqa: UP007  # of classes that are made here


def read_rows(path: Path) -> Iterator[Any]:
    """Yield the lines of a record: rows of the kinds MANY, events of others. Errors: as `read_lines`."""
    return read_lines(path, _row)


def _row(line: bytes) -> Any:
    """Return the row of a line; None for another kind, and for a line that has to be looked at more closely."""
    try:
        return _decoder().decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
