"""Texts in a CSV are no formulas, and come back as they were."""

from __future__ import annotations

from data_checks import check_each
from hypothesis import example, given
from hypothesis import strategies as st

from parley.llm.table_text import as_cell, from_cell, table_text


@check_each(
    "text", ["=1+1", "+1+1", "-1+1", "@x", "\t=1", " =HYPERLINK()", "\n+1+1", "'=1", "-", "- a list", "+49 30 1"]
)
def test_text_of_a_model_is_no_formula(text: str) -> None:
    """A reply that begins with = would be run by the spreadsheet of whoever opens the file."""
    assert as_cell(text) == f"'{text}"


@check_each("text", ["-1.5", "+3", "", "'tis so", "Yes - and no", "1-2", "a=b", "'"])
def test_what_is_no_formula_stays(text: str) -> None:
    assert as_cell(text) == from_cell(text) == text


def test_readers_of_tables_take_the_apostrophe_off() -> None:
    """The table of a run that is given to a command is what its models said."""
    assert [row for _, row in table_text(b"name,text\nAnn,'=1+1\nBo,'tis so\n", "a.csv").rows()] == [
        ["Ann", "=1+1"],
        ["Bo", "'tis so"],
    ]


@given(st.text(st.sampled_from("'=+-@\t\r\n 1.a"), max_size=6))
@example("''=x")
def test_each_text_comes_back(text: str) -> None:
    assert from_cell(as_cell(text)) == text
    assert as_cell(text)[:1] not in ("=", "+", "@", "-", "\t", "\r") or as_cell(text).lstrip("+-")[:1].isdigit()
