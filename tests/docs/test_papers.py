"""The page of source papers: each row has an honest level, and what a level promises is in the row."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import pytest
from data_checks import check_each
from documented import ROOT

import run
from parley.model.scenario import preset_names

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
LISTED = 52
COMMAND = re.compile(r"`python run\.py (?:--scenario (\w+)|([a-z][a-z-]*))")
NUMBER = re.compile(r"(?<![\w`])[−-]?\d*\.?\d+")


class Row(NamedTuple):
    """A row of the listing."""

    number: int
    level: int
    figure: str
    text: str


ROWS = [
    Row(int(number), int(level), figure, text)
    for number, level, figure, text in re.findall(
        r"^\| (\d+) \| [^|]+ \| ([0-3]) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE
    )
]
STUDIES = PAGE[: PAGE.index("## The listing")]


def names_a_command(text: str) -> bool:
    """Every command of the text exists, and there is one."""
    found = COMMAND.findall(text)
    return bool(found) and all(name in preset_names() if name else callable(run.command(word)) for name, word in found)


def wrong(row: Row) -> str:
    """What a row lacks for its level; "" if nothing."""
    if row.level == 0:
        return "" if re.match(r"(outside|missing|followed)\b", row.text) else "does not say why nothing is there"
    if not names_a_command(row.text):
        return "names no command that exists"
    if not re.search(r"[.:;,] ", row.text):
        return "does not say what the command does not do"
    if row.level > 1 and not (NUMBER.search(row.figure) and "`" in row.figure + row.text):
        return "has no figure"
    return ""


def test_every_row_of_the_listing_has_a_level() -> None:
    assert [row.number for row in ROWS] == list(range(1, LISTED + 1))


@check_each("row", ROWS, ids=lambda row: f"row {row.number}")
def test_a_row_has_what_its_level_promises(row: Row) -> None:
    """From 1 on a command that exists, from 2 on a figure; at 0 the reason."""
    assert wrong(row) == ""


def test_the_counts_at_the_top_are_those_of_the_rows() -> None:
    """A reader who looks at the sums alone is not misled."""
    sums = Counter(row.level for row in ROWS)
    stated = re.findall(r"^\| ([0-3]) \| (\d+) \|", PAGE, re.MULTILINE)
    assert {int(level): int(count) for level, count in stated} == {level: sums[level] for level in range(4)}


def test_every_row_of_the_three_studies_has_a_level_and_a_command() -> None:
    rows = re.findall(r"^\|(?! study|-).*\| (\S+) \| ([^|]+) \|$", STUDIES, re.MULTILINE)
    assert len(rows) == STUDIES.count("\n| ") - 1
    assert {level for level, _ in rows} <= {"2", "3"}
    assert [text for _, text in rows if not (names_a_command(text) or "`python benchmarks/" in text)] == []


@pytest.mark.parametrize(("study", "page"), [("Taubenfeld et al.", "tuning"), ("Jarrett et al.", "deliberation")])
def test_what_was_measured_of_a_study_is_on_the_page_that_it_names(study: str, page: str) -> None:
    """A figure of an older training, or of another representative, does not stay here when its page has a new one."""
    text = STUDIES[STUDIES.index(f"- *{study}*") :].partition("\n- *")[0]
    measured = text[: text.index("The personas")] if page == "tuning" else text[: text.index("A payoff model")]
    measured = measured.partition("400 fits.")[2] or measured
    assert f"({page}.md)" in text
    source = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    figures = re.findall(r"-?\d+\.\d+", measured)
    assert len(figures) >= 4
    assert [one for one in figures if one not in source] == []


@pytest.mark.parametrize(
    ("row", "lacks"),
    [
        (Row(1, 2, "–", "`python run.py sweep`. No one speaks."), "has no figure"),
        (Row(1, 2, "`x`: .71 (.60 to .80)", "`python run.py swoop`. No."), "unknown"),
        (Row(1, 1, "–", "a part. No command."), "names no command that exists"),
        (Row(1, 0, "–", "not built"), "does not say why nothing is there"),
        (Row(1, 2, "`x`: .71", "`python run.py sweep`. No people."), ""),
    ],
)
def test_a_row_that_promises_too_much_is_found(row: Row, lacks: str) -> None:
    if lacks == "unknown":
        with pytest.raises(Exception, match="swoop"):
            wrong(row)
    else:
        assert wrong(row) == lacks
