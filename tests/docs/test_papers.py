"""The page of source papers: each row has an honest level, and what a level promises is in the row."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest
from data_checks import check_each
from documented import ROOT

import run
from parley.model.scenario import preset_names

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
LISTED = 52
COMMAND = re.compile(r"`python run\.py (?:--scenario (\w+)|((?:study )?[a-z][a-z-]*))")
DIGITS = r"[−+-]?(?:\d{1,3}(?:,\d{3})+|\d*\.?\d+)(?:e-?\d+)?"
NUMBER = re.compile(rf"(?<![\w`.-]){DIGITS}(?!\w)")
ANY = re.compile(rf"(?<![\w.]){DIGITS}")
COLUMNS = ["place", "numbers", "command", "date", "subject", "weights", "source"]
EXAMPLES = ROOT / "docs" / "models.md"


class Row(NamedTuple):
    """A row of the listing."""

    number: int
    level: int
    figure: str
    text: str


ROWS = [
    Row(int(number), int(level), figure, text)
    for number, level, figure, text in re.findall(
        r"^\| (\d+) \| [^|]+ \| [^|]+ \| ([0-3]) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE
    )
]
STUDIES = PAGE[: PAGE.index("The column *level* says how closely")]
THREE = re.findall(r"^\|(?! study|-).*\| ([0-3]) \| ([^|]+) \| ([^|]+) \|$", STUDIES, re.MULTILINE)
"""Level, where it was seen, and command of each row of the three studies."""
FIGURES = {str(row.number): NUMBER.findall(row.figure) for row in ROWS if row.level} | {
    name: NUMBER.findall(text)
    for name, text in re.findall(r"^\| ([TUJR]\d+) \| [^|]+ \| ([^|]+) \|", PAGE, re.MULTILINE)
}
with (ROOT / "docs" / "papers_measured.csv").open(encoding="utf-8", newline="") as file:
    MEASURED = list(csv.DictReader(file))


def plain(number: str) -> str:
    """A number without sign, separators of thousands and a zero in front: pages write .5, 0.5 and −.5 of the same."""
    digits = number.lstrip("−+-").replace(",", "")
    return digits.lstrip("0") or "0"


@cache
def section(place: str) -> str:
    """What stands under a heading of a page of the documentation or of the log: "page.md#heading", or the whole page."""
    page, _, heading = place.partition("#")
    text = (ROOT / ("" if page.startswith(("tools/", "studies/")) else "docs") / page).read_text(encoding="utf-8")
    parts = {part.partition("\n")[0].lstrip("# ").strip(): part for part in re.split(r"(?m)^(?=#{1,4} )", text)}
    return parts[heading] if heading else text


def names_a_command(text: str) -> bool:
    """Every command of the text exists, and there is one."""
    found = COMMAND.findall(text)
    return bool(found) and all(name in preset_names() if name else bool(run.parser_of(word)) for name, word in found)


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
    assert len(THREE) == STUDIES.count("\n| ") - 1
    assert {level for level, _, _ in THREE} <= {"2", "3"}
    assert [text for _, _, text in THREE if not (names_a_command(text) or "`python benchmarks/" in text)] == []


@check_each("measured", MEASURED, ids=lambda measured: measured["place"])
def test_a_figure_of_the_page_is_that_of_the_file_and_of_its_source(measured: dict[str, str]) -> None:
    """A number of this page has a command, a date and a speaker, and stands where its source describes the run.

    Figures of an older run, and the oracle's as those of a trained model, were on this page.
    """
    assert list(measured) == COLUMNS
    assert all(measured.values())
    assert re.fullmatch(r"2026-\d\d-\d\d", measured["date"])
    with_weights = not re.match("oracle|made data|published people|data of the paper", measured["subject"])
    assert bool(re.search(r"\b[0-9a-f]{16,}\b", measured["weights"])) == with_weights
    assert FIGURES[measured["place"]] == measured["numbers"].split()
    described = {plain(number) for place in measured["source"].split("; ") for number in ANY.findall(section(place))}
    assert [number for number in measured["numbers"].split() if plain(number) not in described] == []


def test_every_figure_of_the_page_is_in_the_file() -> None:
    """A row with a figure that the file lacks has no command and no speaker."""
    assert sorted(FIGURES) == sorted(measured["place"] for measured in MEASURED)


def test_a_command_seen_on_a_real_model_has_its_run_among_the_examples() -> None:
    """The column names a model only with a link to what it said."""
    cells = [seen for _, seen, _ in THREE]
    assert [cell for cell in cells if cell != "–" and "(models.md#" not in cell] == []
    links = set(re.findall(r"\(examples\.md#([\w-]+)\)", PAGE))
    headings = re.findall(r"^## (.+)$", EXAMPLES.read_text(encoding="utf-8"), re.MULTILINE) if links else []
    assert links <= {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


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
