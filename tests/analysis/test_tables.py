"""Tables on disk: two forms, the same values, whatever the text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as parquet
import pytest

from parley.analysis.metrics import metrics
from parley.analysis.table_export import write_table, write_tables
from parley.analysis.tables import load
from parley.llm.table_text import from_cell

NASTY = [
    "a, b",
    "line\nbreak",
    "cr\ronly",
    "crlf\r\n",
    'say "no"',
    "NA",
    "nan",
    "=1+1",
    "'=1+1",
    "-5",
    "- 5",
    "@x",
    "\t=1",
    " space ",
    "tab\t",
    "é 日本 🙂",
    "'",
]


def read(stem: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both forms of a table; in the .csv an empty text is a missing one, and nothing else is, and no text is a formula."""
    kept = pd.read_parquet(f"{stem}.parquet")
    texts = {name: str for name in kept if pd.api.types.is_string_dtype(kept[name])}
    cells = pd.read_csv(f"{stem}.csv", keep_default_na=False, na_values=[""], dtype=texts)
    return kept, cells.map(lambda value: from_cell(value) if isinstance(value, str) else value)


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    assert list(one.columns) == list(other.columns)
    assert len(one) == len(other)
    for name in one:
        assert [None if pd.isna(v) else v for v in one[name]] == [None if pd.isna(v) else v for v in other[name]]


@pytest.mark.thorough
@pytest.mark.parametrize("preset", ["two_way", "three_way"])
def test_parquet_and_csv_hold_the_same_values(preset: str, ran: Callable, tmp_path: Path) -> None:
    """Whoever reads the one or the other works on the same data, to the last digit."""
    tables = load(ran(preset, memory="summary:1", also="confidence", think="bdi", traits="drawn"))
    assert len(tables.summaries)
    assert len(write_tables(tables, tmp_path)) == 16
    for name in ("agents", "characters", "utterances", "summaries", "private", "attitudes", "probes", "calls"):
        kept, text = read(tmp_path / name)
        same(kept, text)
        same(kept, getattr(tables, name))
    for name, metric in metrics().items():
        write_table(metric.compute(tables), tmp_path / name)
        same(*read(tmp_path / name))


def test_any_text_survives(tmp_path: Path) -> None:
    """Commas, quotes, every kind of line break and words that look like missing ones come back as they were."""
    frame = pd.DataFrame({"text": [*NASTY, None], "n": range(len(NASTY) + 1)})
    write_table(frame, tmp_path / "odd")
    kept, text = read(tmp_path / "odd")
    assert kept["text"].to_list()[:-1] == text["text"].to_list()[:-1] == NASTY
    assert pd.isna(kept["text"].iloc[-1])
    assert pd.isna(text["text"].iloc[-1])
    assert text["n"].to_list() == frame["n"].to_list()


def test_no_text_is_a_formula_and_numbers_stay(tmp_path: Path) -> None:
    """A reply `=HYPERLINK("http://...")` was a link in the spreadsheet of whoever opened tables/utterances.csv."""
    frame = pd.DataFrame(
        {"text": pd.Series(['=HYPERLINK("x")', "-1.5", None], dtype="category"), "move": [-1.5, 2.0, -3.0]}
    )
    write_table(frame, tmp_path / "evil")
    assert (tmp_path / "evil.csv").read_text() == '"text","move"\n"\'=HYPERLINK(""x"")",-1.5\n"-1.5",2.0\n"",-3.0\n'
    assert pd.read_parquet(tmp_path / "evil.parquet")["text"].iloc[0] == '=HYPERLINK("x")'


def test_missing_numbers_stay_missing_and_whole_ones_whole(tmp_path: Path) -> None:
    """None and NaN are not 0, and a round is 3, not 3.0."""
    frame = pd.DataFrame({"x": [0.5, None], "round": pd.array([3, None], dtype="Int64")})
    write_table(frame, tmp_path / "gaps")
    kept, text = read(tmp_path / "gaps")
    for got in (kept, text):
        assert got.isna().to_numpy().tolist() == [[False, False], [True, True]]
    assert (tmp_path / "gaps.csv").read_text().splitlines()[1] == "0.5,3"


def test_a_text_column_without_any_text_has_the_type_of_text(tmp_path: Path) -> None:
    """Runs with and without failures can be put together: the schema does not depend on luck."""
    for name, values in {"some": ["late", None], "none": [None, None]}.items():
        write_table(pd.DataFrame({"reason": pd.Series(values, dtype="object")}), tmp_path / name)
    some, none = (parquet.read_schema(tmp_path / f"{name}.parquet").types for name in ("some", "none"))
    assert some == none
