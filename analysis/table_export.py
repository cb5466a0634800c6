"""Writes the tables of a run to disk, as .parquet and .csv."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from parley.analysis.tables import Tables
from parley.llm.table_text import as_cell

FURTHER = (
    "characters",
    "private",
    "probes",
    "interventions",
    "links",
    "heard",
    "places",
    "acts",
    "exposures",
    "insights",
    "interviews",
)


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write the tables of a run into a folder, those of `FURTHER` and of studies only if they have rows; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    further = [name for name in (*FURTHER, *tables.of_studies) if len(getattr(tables, name))]
    names = ("agents", "utterances", "summaries", "attitudes", "calls", *further)
    return [path for name in names for path in write_table(getattr(tables, name), folder / name)]


SPREADSHEET = 1_000_000
"""The most rows of a table that is written as .csv too: a spreadsheet program opens no more (1,048,576)."""
GROUP = 250_000
"""Rows of a large table that are made into Parquet at once."""


def write_table(frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Write one table as stem.parquet and stem.csv (every text quoted: a bare carriage return would end the row).

    A table of more than SPREADSHEET rows is written as .parquet alone, in groups of rows. A text column has the type of text
    also when all of it is missing. In the .csv a missing text is empty, and a text that a spreadsheet program would take for a
    formula has an apostrophe in front.
    """
    paths = [stem.with_name(f"{stem.name}.parquet"), stem.with_name(f"{stem.name}.csv")]
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if len(frame) > SPREADSHEET:
        _write_groups(frame, texts, paths[0])
        paths[1].unlink(missing_ok=True)  # of an earlier report
        return paths[:1]
    frame.astype(dict.fromkeys(texts, "string")).to_parquet(paths[0], index=False)
    paths[1].write_text(table_csv(frame), encoding="utf-8", newline="")
    return paths


def _write_groups(frame: pd.DataFrame, texts: Sequence[Any], path: Path) -> None:
    """Write a table as .parquet, so many rows at a time: a copy of the whole would take as much memory again."""
    schema = pa.Schema.from_pandas(frame.iloc[:0].astype(dict.fromkeys(texts, "string")), preserve_index=False)
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, len(frame), GROUP):
            group = frame.iloc[start : start + GROUP].astype(dict.fromkeys(texts, "string"))
            file.write_table(pa.Table.from_pandas(group, schema, preserve_index=False))


def parquet_alone(tables: Tables) -> list[str]:
    """Return the names of the tables of a run that are written as .parquet alone."""
    names = ("agents", "utterances", "summaries", "attitudes", "calls", *FURTHER, *tables.of_studies)
    return [name for name in names if len(getattr(tables, name)) > SPREADSHEET]


def table_csv(frame: pd.DataFrame) -> str:
    """Return the .csv of a table as text."""
    return str(harmless(frame).to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table with texts of a model as .csv alone."""
    harmless(frame).to_csv(path, index=False)


def harmless(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table without formulas in its texts (llm/table_text.py); numbers stay as they are."""
    safe = frame.copy(deep=False)
    for name in frame:
        if not pd.api.types.is_numeric_dtype(frame[name].dtype):
            texts = list(frame[name])
            cells = [as_cell(text) if isinstance(text, str) else text for text in texts]
            if cells != texts:
                safe[name] = pd.Series(cells, frame.index, dtype="object")
    return safe
