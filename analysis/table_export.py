"""Writes the tables of a run to disk, as .parquet and .csv."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

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


def write_table(frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Write one table as stem.parquet and stem.csv (every text quoted: a bare carriage return would end the row).

    A text column has the type of text also when all of it is missing. In the .csv a missing text is empty, and a text that a
    spreadsheet program would take for a formula has an apostrophe in front.
    """
    paths = [stem.with_name(f"{stem.name}.parquet"), stem.with_name(f"{stem.name}.csv")]
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    frame.astype(dict.fromkeys(texts, "string")).to_parquet(paths[0], index=False)
    paths[1].write_text(table_csv(frame), encoding="utf-8", newline="")
    return paths


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
