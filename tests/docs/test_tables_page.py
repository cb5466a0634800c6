"""The page of tables is where a reader looks a column up: a column that it lacks, or names in vain, costs them an evening."""

from __future__ import annotations

from docs import tables_page
from parley.analysis.schemas.table_schema import column_texts, table_schema

OF_OTHERS = {"branch", "episodes", "voices"}
"""Tables that only a branch or a deliberation writes; the schema of a run's tables does not have them."""


def test_every_column_is_explained() -> None:
    """Ends of an interval are explained once for all."""
    lacking = [
        f"{table}: {column}"
        for table, row in table_schema()["$defs"].items()
        for column, kind in row["properties"].items()
        if "description" not in kind and column.removesuffix("_low").removesuffix("_high") not in row["properties"]
    ]
    assert lacking == []


def test_no_column_is_explained_that_is_nowhere() -> None:
    rows, texts = table_schema()["$defs"], column_texts()
    assert set(texts) - {"rows", "every"} == set(rows) | OF_OTHERS
    in_vain = [
        f"{table}: {column}"
        for table, row in rows.items()
        for column in texts[table]
        if column not in row["properties"]
    ]
    assert in_vain == []
    assert [column for column in texts["every"] if not any(column in row["properties"] for row in rows.values())] == []


def test_the_page_has_every_table_with_its_columns() -> None:
    page, texts = tables_page.tables_page(), column_texts()
    assert [name for name in texts if name not in ("rows", "every") and f"\n### {name}\n" not in page] == []
    assert f"| `attitude` | {texts['attitudes']['attitude']} |" in page
    assert "positive toward the Default's first rating" in page
