"""Tables on disk: each as .parquet and .csv, the same bytes for the same record."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from parley.analysis.load import Tables

FURTHER = ("characters", "private", "probes", "interventions", "links", "heard")


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write the tables of a run into a folder, further ones where there is anything in them; the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    further = [name for name in FURTHER if len(getattr(tables, name))]
    return [
        path
        for name in ("agents", "utterances", "summaries", "attitudes", "calls", *further)
        for path in write_table(getattr(tables, name), folder / name)
    ]


def write_table(frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Write one table as stem.parquet and stem.csv (every text quoted: a bare carriage return would end the row).

    Text columns have the type of text even where all is missing. In the .csv a missing text is an empty one.
    """
    paths = [stem.with_name(f"{stem.name}.parquet"), stem.with_name(f"{stem.name}.csv")]
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name].dtype)]
    frame.astype(dict.fromkeys(texts, "string")).to_parquet(paths[0], index=False)
    paths[1].write_text(as_csv(frame), encoding="utf-8", newline="")
    return paths


def as_csv(frame: pd.DataFrame) -> str:
    """The .csv of a table as text."""
    return str(frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC))
