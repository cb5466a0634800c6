"""The schema of the tables of a run, from the tables of an empty record: one row schema for each table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from parley.analysis.metrics import metrics
from parley.analysis.run_tables import run_tables
from parley.analysis.schemas.card_schema import DRAFT, closed, missing_has_reason
from parley.analysis.tables import Tables, tables
from parley.model.events import SCHEMA, Header
from parley.model.scenario import load_preset

VERSION = 1
"""Of the schema: raised when a column is renamed, removed or means something else."""
REASONS = {
    "utterances": "text",
    "summaries": "text",
    "private": "text",
    "attitudes": "rating",
    "probes": "rating",
    "interviews": "text",
}
"""Tables in which a missing value has a reason, and that value."""
NOT_NEGATIVE = (
    "round", "iteration", "repetition", "asked", "rooms", "missing", "n", "people", "prompt_tokens", "completion_tokens",
    "prompt_chars", "sent_before",
)  # fmt: skip
TEXTS = (
    "topic",
    "group",
    "party",
    "seat",
    "reason",
    "measure",
    "probe",
    "kind",
    "what",
    "trait",
    "emotion",
    "move",
    "about",
    "verdict",
)
"""Columns of metrics that are texts."""
OPTIONAL = {"node": {"type": ["string", "null"]}}
"""Columns of a run on a network of the user alone."""


def table_schema() -> dict[str, Any]:
    """Return the JSON schema of the tables: `$defs` has the schema of a row of each, by the name of the table."""
    rows = {name: _row(name, frame, name in _record_tables()) for name, frame in sorted(_frames())}
    return {
        "$schema": DRAFT,
        "$id": f"urn:parley:tables:{VERSION}",
        "title": f"Tables of a run of Parley, version {VERSION}",
        "description": (
            "Each table in tables/ is an array of rows; $defs has the schema of a row by the name of the table. A column "
            "NAME_low or NAME_high is an end of the 95% interval of NAME. A missing value is null, in .csv files an empty cell."
        ),
        "$defs": rows,
    }


def column_texts() -> Mapping[str, Mapping[str, str]]:
    """Return what each column means, by table: columns.toml. `rows` says what a row is, `every` has columns of every table."""
    return tomllib.loads(Path(__file__).with_name("columns.toml").read_text(encoding="utf-8"))


def _record_tables() -> list[str]:
    field_names = [field.name for field in fields(Tables) if field.name not in ("header", "finished", "of_studies")]
    return [*field_names, *run_tables()]


def _frames() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield every table of a run without events, with its columns and their types, then those of Parley's metrics."""
    header = Header(SCHEMA, load_preset("two_way").to_dict(), (), {}, {}, "", "", {})
    empty = tables([header])
    yield from ((name, getattr(empty, name)) for name in _record_tables())
    yield from ((name, metric.compute(empty)) for name, metric in metrics().items())


def _answers() -> dict[str, str]:
    return REASONS | {name: table.answer for name, table in run_tables().items() if table.answer}


def _row(name: str, frame: pd.DataFrame, recorded: bool) -> dict[str, Any]:
    row = closed({column: _column(name, column, frame[column].dtype, recorded) for column in frame.columns})
    kinds = {**OPTIONAL, **row["properties"]} if recorded else row["properties"]
    known = column_texts()
    texts = {**known["every"], **known.get(name, {})}
    row["properties"] = {
        column: {"description": texts[column]} | kind if column in texts else kind for column, kind in kinds.items()
    }
    if answer := _answers().get(name):
        row["allOf"] = [missing_has_reason(answer, "reason")]
    return row


def _column(table: str, name: str, dtype: Any, recorded: bool) -> dict[str, Any]:
    if not types.is_numeric_dtype(dtype):
        texts = recorded or name in TEXTS
        return {"type": ["string", "null"] if texts else ["string", "number", "null"]}
    kind: dict[str, Any] = {"type": "integer" if dtype == "int64" else ["integer", "null"]}
    if types.is_float_dtype(dtype):
        kind = {"type": ["number", "null"]}
    if name in NOT_NEGATIVE:
        kind["minimum"] = 0
    if table in ("attitudes", "probes") and name in ("attitude", "expected"):
        kind |= {"minimum": 0, "maximum": 10}
    return kind
