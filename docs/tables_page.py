"""The page of all tables of a run: columns from analysis/schemas/columns.toml, metrics from their files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from types import ModuleType

from parley.analysis.metrics import metrics
from parley.analysis.schemas.table_schema import column_texts

INTRODUCTION = """# Tables of a run

Every run folder has `tables/`, with each table as `.csv` and, with the same values, as `.parquet`. In Python,
`parley.load("runs/a").attitudes` gives the table `attitudes` as a DataFrame. A run writes only tables that have rows.

In `.csv` files a missing value is empty, and the column `reason` says why it is missing. A text that begins with `=`, `+`, `-`,
`@` or a tab has an apostrophe in front, so that no spreadsheet takes it for a formula.

## Columns of every table

A column `NAME_low` or `NAME_high` is an end of the 95% interval of `NAME` over rooms. It is empty below five rooms.
"""
METRICS = """## Metrics

A metric is a number that Parley computes from the tables of a run, such as how far a party moved. Each metric is a file in
`analysis/metrics/` or in a study, and a table in `tables/`. `summary.md` has the main results.

The unit is the room: one debate, or in a network one population. Parley computes a metric in each room and averages over rooms.
A room without a value is left out with its reason, and counted.

Ratings are on the topic's axis, 0 to 10. If the model gives probabilities for every rating of a party, then `drift`,
`first_cycle`, `default_crossing` and `polarisation` use the mean of these probabilities (`measure` is `expected`), because
a single answer is rounded. Otherwise they use the answers (`rating`).
"""


def tables_page() -> str:
    """Return the page in Markdown: columns of every table, then each recorded table, then each metric."""
    texts = column_texts()
    recorded = [_recorded(name, row, texts[name]) for name, row in texts["rows"].items()]
    computed = [_metric(name, metric, texts[name]) for name, metric in metrics().items()]
    parts = [INTRODUCTION, _columns(texts["every"]), "## Recorded tables", *recorded, METRICS, *computed]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _recorded(name: str, row: str, columns: Mapping[str, str]) -> str:
    return f"### {name}\n\nOne row is {row}.\n\n{_columns(columns)}"


def _metric(name: str, metric: ModuleType, columns: Mapping[str, str]) -> str:
    question, _, sources = (inspect.getdoc(metric) or "").partition("\n")
    parts = [f"### {name}", f"*{question}*", metric.NOTE, _columns(columns), sources]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _columns(texts: Mapping[str, str]) -> str:
    return "\n".join(["| column | what it is |", "|---|---|", *_rows(texts)])


def _rows(texts: Mapping[str, str]) -> Iterator[str]:
    yield from (f"| `{name}` | {text} |" for name, text in texts.items())
