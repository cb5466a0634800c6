"""The record on disk: an event is one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.model.events import KINDS, SCHEMA, Event

_NAMES = {cls: tuple(field.name for field in fields(cls)) for cls in KINDS.values()}
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def to_line(event: Event) -> str:
    """The event as one line of JSON, its kind first."""
    names = _NAMES[type(event)]
    return _encode({"kind": event.kind, **{name: getattr(event, name) for name in names}}) + "\n"


def from_line(line: str) -> Event:
    """The event of a line. Errors: ValueError for a torn line, an unknown kind or field, another schema."""
    try:
        values = json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if isinstance(values, dict):
        values = {name: _frozen(value) if isinstance(value, list) else value for name, value in values.items()}
    if not isinstance(values, dict) or values.get("kind") not in KINDS:
        raise ValueError("no event")
    if values.get("schema", SCHEMA) != SCHEMA:
        raise ValueError(f"record schema {values['schema']}; this version reads {SCHEMA}")
    try:
        event: Event = KINDS[values.pop("kind")](**values)
    except TypeError as error:
        raise ValueError(str(error)) from error
    return event


def _frozen(values: list[Any]) -> tuple[Any, ...]:
    """A list as a tuple, and so those in a list of lists."""
    return tuple([tuple(value) if isinstance(value, list) else value for value in values])


def read(path: Path) -> Iterator[Event]:
    """The events of a record in order; a torn last line (a killed run) ends it. Errors: UserError when there is no record."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise UserError(f"cannot read the record {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        try:
            yield from_line(line.decode())
        except ValueError as error:
            if number == len(lines) and not line.endswith(b"\n"):
                return
            raise UserError(f"{path}, line {number} is no event of this version ({error})") from error
