"""The one report: what a model wrote cannot become markup, nothing empty leaves a gap, and tables lie beside the page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from parley.analysis.figures import dot_plot
from parley.analysis.formatting import estimate
from parley.analysis.report import Report

TABLE = pd.DataFrame(
    {"who": ["<b>a|b</b>", "c"], "change": [1.0, float("nan")], "low": [0.5, float("nan")], "high": [1.5, 2.0]}
)


def test_text_of_a_model_is_plain_everywhere(tmp_path: Path) -> None:
    """In the title, a section's title, a cell and plain text alike."""
    report = Report(tmp_path, "page", "<i>title</i>")
    report.section("<i>section</i>")
    report.plain("<i>said</i>")
    report.table(TABLE, {"who": "who"})
    assert "<i>" not in report.text
    assert "<b>" not in report.text
    assert "a\\|b" in report.text


def test_what_is_missing_is_a_dash_and_is_counted() -> None:
    report = Report(Path(), "page")
    report.table(TABLE, {"who": "who", "change": estimate("change")})
    report.missing(1, 1200, "lack a verdict", "timeout 1")
    assert "| 1.00 (0.50 to 1.50) |" in report.text
    assert "| c | – |" in report.text
    assert report.text.endswith("1 of 1,200 lack a verdict (timeout 1).")


def test_parts_that_are_empty_leave_no_gap() -> None:
    """Notes come once each, None and "" not at all; paragraphs are one blank line apart."""
    report = Report(Path(), "page", "T")
    report.add(None, "", "one\n", "two\n\n")
    report.note("known", None, "known")
    assert report.text == "# T\n\none\n\ntwo\n\n> known"


def test_the_page_lies_beside_its_tables_and_figures(tmp_path: Path) -> None:
    report = Report(tmp_path / "new", "page", "T")
    report.data(**{"tables/all": TABLE})
    report.figure(dot_plot(TABLE, ["who"], "change", "points", "caption"), "figures/change", "Change")
    assert report.write().read_text().endswith("![Change](figures/change.png)\n")
    found = {path.relative_to(tmp_path / "new").as_posix() for path in (tmp_path / "new").rglob("*.*")}
    assert found == {
        "page.md",
        "tables/all.csv",
        "tables/all.parquet",
        "figures/change.png",
        "figures/change.svg",
        "figures/change.txt",
    }
