"""The one report: what a model wrote cannot become markup, nothing empty leaves a gap, and tables lie beside the page."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from parley.analysis.figures import dot_plot
from parley.analysis.formatting import estimate
from parley.analysis.report import Report, multiplicity
from parley.studies.conjoint import report as conjoint_report
from parley.studies.opinion_groups import report as opinion_groups_report
from parley.studies.truthfulness import report as truthfulness_report

TABLE = pd.DataFrame(
    {
        "who": ["<b>a|b</b>", "c"],
        "change": [1.0, float("nan")],
        "low": [0.5, float("nan")],
        "high": [1.5, 2.0],
        "rooms": [5, 5],
    }
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


def test_a_page_with_several_intervals_says_how_many_mislead(tmp_path: Path) -> None:
    """Pages of bets, arguments, games, herding and twenty more printed many intervals, and nothing about their number. Each page
    is written by `Report`, which counts what it prints; a page that names a correction keeps its own words."""
    report = Report(tmp_path, "page", "T")
    report.lines(["Men 0.1 (-0.2 to 0.4), women -3% (-5% to -1%)."] * 3)
    page = report.write().read_text()
    assert page.endswith("All 6 intervals in this report may well contain the true value.\n"), (
        "0.3 of 6 intervals is no number of intervals"
    )
    assert multiplicity(page) == ""
    assert multiplicity("1 (0 to 2) " * 4) == ""
    assert multiplicity("1 (0 to 2) " * 9 + "P values are corrected by Holm's method.") == ""


def test_no_other_file_writes_a_page_of_intervals() -> None:
    """Only these write Markdown without `Report`: transcripts, model cards without intervals, and the bias card, which has its
    own sentence on the number of intervals."""
    root = Path(__file__).parents[2] / "analysis"
    own = {path.relative_to(root).as_posix() for path in root.rglob("*.py")
           if re.search(r'\.md"\)\.write_text', path.read_text(encoding="utf-8"))}  # fmt: skip
    assert own == {"card/card.py", "deliberation/consensus_report.py", "own_reports.py"}
    assert "chance_note" in (root / "card" / "card.py").read_text(encoding="utf-8")


def test_pages_say_when_their_rows_are_not_independent() -> None:
    """Statements of one source, respondents of one debate, voters who debated: the files have no column for it, so the page says
    what the intervals take for granted and what to do."""
    for page in (truthfulness_report.READING, conjoint_report.READING, opinion_groups_report.READING):
        assert "count as independent." in page
    assert all(
        any(advice in page for advice in (": keep one", ": give each", ": give all", ": compare"))
        for page in (truthfulness_report.READING, conjoint_report.READING, opinion_groups_report.READING)
    )


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
