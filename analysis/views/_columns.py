"""What the tables of a run and their columns are called: the words of the published schema, and the titles of metrics."""

from __future__ import annotations

import re

from parley.analysis.formatting import plain
from parley.analysis.metrics import metrics
from parley.analysis.schemas.table_schema import column_texts
from parley.analysis.schemas.validation import TABLES, read_schema

ENDS = {"low": "lower", "high": "upper"}


def table_title(name: str) -> str:
    """Return the title of a table of a run, or what a row of it is, with its name in the folder of the run.

    >>> table_title("attitudes"), table_title("drift")
    ('One answer to the main survey question (attitudes)', 'Drift toward the Default (drift)')
    """
    metric = metrics().get(name)
    if metric:
        return f"{metric.TITLE} ({name})"
    row = re.split(r"[,;:(]", column_texts()["rows"].get(name, name))[0].strip()
    return f"{row[:1].upper()}{row[1:]} ({name})"


def column_rows(name: str) -> list[list[str]]:
    """Return what each column of a table is, and its name: two cells a column."""
    schema = read_schema(TABLES)["$defs"].get(name)
    known = (
        schema["properties"] if schema else {key: {"description": text} for key, text in column_texts()[name].items()}
    )
    return [[plain(column.get("description") or _end(key)), key] for key, column in known.items()]


def _end(column: str) -> str:
    stem, _, end = column.rpartition("_")
    return f"{ENDS[end]} end of the 95% interval of {stem}"
