"""Checks card.json, a table or all tables of a run against the published schema."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from jsonschema import Draft202012Validator

from parley.analysis.schemas.card_schema import card_schema
from parley.analysis.schemas.table_schema import VERSION, table_schema
from parley.llm.errors import UserError

FOLDER = Path(__file__).parent
CARD, TABLES = FOLDER / "card-4.schema.json", FOLDER / f"tables-{VERSION}.schema.json"


def schema_text(schema: dict[str, Any]) -> str:
    """Return a schema as the text of its file."""
    return json.dumps(schema, indent=1, ensure_ascii=True) + "\n"


def write_schemas() -> None:
    """Write both schemas anew."""
    for path, schema in ((CARD, card_schema()), (TABLES, table_schema())):
        path.write_text(schema_text(schema), encoding="utf-8")


def read_schema(path: Path) -> dict[str, Any]:
    """Return a published schema."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    write_schemas()


SUFFIXES = (".csv", ".parquet")


def check_card(path: Path) -> str:
    """Return a sentence on a card.json that fits the schema. Errors: UserError, one line that names the first fault."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    schema = read_schema(CARD)
    _refuse(path, Draft202012Validator(schema), card, schema["title"])
    return f"{path} fits {schema['$id']}: {len(card['claims']):,} estimates"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def check_table(path: Path) -> str:
    """Return a sentence on a table that fits the schema. The name of the file says which table it is. Errors: as check_card."""
    rows_by_name = read_schema(TABLES)["$defs"]
    if path.stem not in rows_by_name:
        raise UserError(f"{path}: Parley has no table named {path.stem}; keep the name of the file")
    schema, identity = rows_by_name[path.stem], read_schema(TABLES)["$id"]
    columns, rows = read_rows(path, schema)
    lacking = [name for name in schema["required"] if name not in columns]
    if lacking:
        raise UserError(f"{path} does not fit {identity}: it has no column {lacking[0]}")
    validator, count = Draft202012Validator(schema), 0
    for count, row in enumerate(rows, 1):
        _refuse(path, validator, row, identity, f", row {count}")
    return f"{path} fits {identity}: {count:,} rows"


def check_folder(folder: Path) -> list[str]:
    """Check every table of a run folder that Parley publishes a schema for; return a sentence for each. Errors: as check_card."""
    schemas = read_schema(TABLES)["$defs"]
    paths = sorted(path for path in (folder / "tables").glob("*") if path.suffix in SUFFIXES)
    if not paths:
        raise UserError(f"{folder} has no tables: write them with run.py report {folder}")
    named = [path for path in paths if path.stem in schemas]
    other = sorted({path.stem for path in paths if path not in named})
    checked = [check_table(path) for path in named]
    return checked + [f"{folder / 'tables' / name} has no published schema, and was not checked" for name in other]


def read_rows(path: Path, schema: dict[str, Any]) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Return the columns of a table and its rows as plain values: null where a value is missing. Errors: UserError."""
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
            return list(frame.columns), (_plain_row(row) for row in frame.to_dict("records"))
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    if not lines or path.suffix != ".csv":
        raise UserError(f"{path} is no table: give a .csv or .parquet file")
    head = lines[0]
    for number, line in enumerate(lines[1:], 1):
        if len(line) != len(head):
            raise UserError(f"{path}, row {number} has {len(line)} cells, and there are {len(head)} columns")
    types = {name: schema["properties"].get(name, {}).get("type", "string") for name in head}
    return head, (
        {name: _value(text, types[name]) for name, text in zip(head, line, strict=True)} for line in lines[1:]
    )


def _value(text: str, types: str | list[str]) -> Any:
    """Return a cell of a .csv as the type of its column, or as text where it is none."""
    if text == "":
        return None
    for name, read in (("integer", int), ("number", float)):
        if name in types:
            try:
                return read(text)
            except ValueError:
                continue
    return text


def _plain_row(row: dict[Any, Any]) -> dict[str, Any]:
    return {str(name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def _refuse(path: Path, validator: Draft202012Validator, value: Any, what: str, where: str = "") -> None:
    """Raise a UserError with the first fault of a value, if it has one."""
    if (error := next(iter(validator.iter_errors(value)), None)) is not None:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path).lstrip(
            "."
        )
        message = error.message if len(error.message) < 200 else f"{error.message[:200]}…"
        raise UserError(f"{path}{where} does not fit {what}: {f'{place}: ' if place else ''}{message}")
