"""Names, numbers and what keeps foreign text harmless."""

from __future__ import annotations

import html
import re

from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from parley.analysis.formatting import (
    count_phrase,
    count_table,
    escape_markdown,
    format_estimate,
    format_number,
    format_range,
    markdown_table,
    slug,
    strip_controls,
)
from parley.model.titles import group_title, join_phrases


@check_each(
    ("group", "title"),
    [
        ("republican", "A Republican"),
        ("republican+democrat", "A Republican and a Democrat"),
        ("republican+democrat+default", "A Republican, a Democrat and a Default"),
        ("republican+republican+default", "Two Republicans and a Default"),
        ("independent+default", "An Independent and a Default"),
        ("+".join(["democrat"] * 7), "7 Democrats"),
        ("30 republican+30 democrat+default", "30 Republicans, 30 Democrats and a Default"),
    ],
)
def test_groups_have_readable_names(group: str, title: str) -> None:
    """A reader meets people, not plus signs."""
    assert group_title(group) == title


def test_groups_make_safe_file_names() -> None:
    """A group's name never leaves the folder of figures."""
    assert slug("republican+default") == "republican_default"
    assert slug("../../x y") == "_x_y"


@check_each(
    ("value", "told"),
    [(1.005, "1.00"), (2.0, "2.00"), (-0.001, "0.00"), (None, "–"), (float("nan"), "–"), (3, "3"), ("why", "why")],
)
def test_numbers(value: object, told: str) -> None:
    """Missing is a dash, whole numbers stay whole, there is no minus zero."""
    assert format_number(value) == told


def test_estimates() -> None:
    """No interval without a number, and none of dashes."""
    assert format_estimate(1.5, 1.25, 2.0) == "1.50 (1.25 to 2.00)"
    assert format_estimate(1.5, float("nan"), float("nan")) == "1.50"
    assert format_estimate(0.0, 0.0, 0.0) == "0.00"
    assert format_estimate(None, None, None) == "–"


def test_counts_and_lists() -> None:
    """One line is no lines."""
    assert [count_phrase(n, "line") for n in (0, 1, 1200)] == ["0 lines", "1 line", "1,200 lines"]
    assert count_phrase(2, "reply") == "2 replies"
    assert [join_phrases(list(parts)) for parts in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]


def test_spans_and_tallies() -> None:
    """Counts by reason come the most frequent first, ties by name, so that bytes do not depend on order."""
    assert (format_range([40, 40]), format_range([38, 40, 39]), format_range([])) == ("40", "38 to 40", "0")
    assert count_table(["late", "odd", "late", "bad"]) == "late 2, bad 1, odd 1"


NASTY = [
    "**bold** _it_ `code` ~~no~~",
    "[link](http://evil.example) ![image](x.png)",
    "<script>alert(1)</script> & <img src=x onerror=y>",
    "line\n\n# Heading\n- item\r\n> quote",
    "\x1b[31mred\x1b[0m \x07 \x00 \u202e backwards \u2028 end",
    "https://evil.example and WWW.evil.example",
    "cell | cell",
    "<!-- gone -->",
    "lone \ud800 half",
    "[x](javascript:alert(1)) y](javascript:alert(2)) ![z](http://evil.example/z.png) \\[a](javascript:alert(3))",
    "[x]: javascript:alert(1)",
]


@check_each("text", NASTY)
def test_foreign_text_is_one_plain_line(text: str) -> None:
    """Nothing that a model says becomes markup, a link, a new line or a terminal's command."""
    shown = escape_markdown(text)
    assert shown.isprintable()
    assert "](" not in shown, "for programs that know no escape"
    assert not re.search("<(?!/?p>)", MarkdownIt("commonmark").render(shown.encode(errors="replace").decode()))
    assert not re.search(r"(?<!\\)[*`\[\]|#~!]|[<>]|https?://|www\.", shown, re.IGNORECASE)
    shown.encode("utf-8")


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=60))
def test_foreign_text_can_be_read_as_it_was(text: str) -> None:
    """Escaped, not censored: a reader of the rendered page sees every printable character."""
    assert html.unescape(re.sub(r"\\([!-/:-@[-`{-~])", r"\1", escape_markdown(text))) == strip_controls(text)


def test_words_with_underscores_stay_readable() -> None:
    """`two_way` cannot begin emphasis, so it needs no escape; a leading or doubled one can."""
    assert escape_markdown("two_way") == "two_way"
    assert escape_markdown("_a_ __b__") == r"\_a\_ \_\_b\_\_"


def test_tables_hold_foreign_cells_and_align_numbers() -> None:
    """A bar or a line break in a cell does not break the table."""
    lines = markdown_table(["a|b", "n"], [["x\n|y", "1.50 (1 to 2)"], ["<b>", "–"]]).splitlines()
    assert lines == [r"| a\|b | n |", "| --- | ---: |", r"| x \|y | 1.50 (1 to 2) |", "| &lt;b&gt; | – |"]
