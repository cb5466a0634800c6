"""Cards of several models beside each other: one page, a table and a figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.agents.topic import load_topic, slugs
from parley.analysis.card.claims import ALL, Claim, find
from parley.analysis.card.compare import Kept, compared, named, otherwise, unlike
from parley.analysis.card.panels import Panel, Point, panels
from parley.analysis.card.sections import Quantity, quantities
from parley.analysis.card.words import DIFFERENCE, SHARES, cell, unit
from parley.analysis.plots import save
from parley.analysis.web.document import Chapter, document
from parley.analysis.wording import DASH, harmless, markdown_table
from parley.llm.errors import UserError

SHOWN = {
    "lost": "own pull,\na round of three", "kappa": "influence,\na line heard",
    "three_alone": "moved to the Default:\ndebate minus silence", "three_empty": "moved to the Default:\ndebate minus empty talk",
    "asymmetry": "distance closed: Republicans\nminus Democrats", "collapse": "spread after\ndivided by before",
}  # fmt: skip
"""Quantities of the figure, over all topics."""
APART = (
    "Differences are each card's minus the first one's. Cards of one battery hold the same seats, topics and seeds block by "
    "block (and the same people, unless these were set): where both tell a number a block, the difference is within blocks, "
    "with Student's interval over these (`blocks` in compare.csv). Of other quantities the intervals take the cards for "
    "independent (Zou and Donner 2008): of numbers that come from the same people these are rather too wide. Percentages have "
    "one decimal, everything else two."
)


def write(cards: Sequence[Kept], folder: Path) -> Path:
    """Write compare.html, compare.csv, compare.png and .svg; the path of the first. Errors: UserError."""
    cards = named(cards)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = compared(cards)
        found.to_csv(folder / "compare.csv", index=False)
        save(figure(cards), folder / "compare")
        path = folder / "compare.html"
        path.write_text(document("Bias cards side by side", list(_chapters(cards, found, folder))), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write into {folder}: {error.strerror}") from error
    return path


def _chapters(cards: Sequence[Kept], found: pd.DataFrame, folder: Path) -> Iterator[Chapter]:
    yield Chapter("short", "In short", "\n\n".join(_short(cards)), folder)
    yield Chapter("differences", "How differences are taken", "\n\n".join(_apart(cards)), folder)
    sections = {name: title for card in reversed(cards) for name, title in card.sections.items()}
    for number, (title, part) in enumerate(found.groupby(found["quantity"].map(sections), sort=False)):
        yield Chapter(f"section-{number}", str(title), _table(cards, part), folder)


def _short(cards: Sequence[Kept]) -> Iterator[str]:
    yield from dict.fromkeys(f"> {card.note}" for card in cards if card.note)
    yield "![What each model does, over all topics](compare.png)"
    for card in cards:
        yield f"**{harmless(card.name)}** ({harmless(card.model)})\n\n" + "\n".join(
            f"- {one}" for one in card.sentences
        )


def _apart(cards: Sequence[Kept]) -> Iterator[str]:
    for card in cards[1:]:
        if what := unlike(cards[0], card):
            yield f"> {harmless(card.name)} is of another battery ({what}): no differences."
        if what := otherwise(cards[0], card):
            yield f"{harmless(card.name)}: {harmless(what)}."
    yield APART


def _table(cards: Sequence[Kept], found: pd.DataFrame) -> str:
    """A row a quantity, topic and card; what it is stands in the first of each."""
    known = {name: told for card in reversed(cards) for name, told in card.quantities.items()}
    heads = ["", "topic", "card", "estimate (95% interval)", f"minus {harmless(cards[0].name)}"]
    rows = [
        row
        for (name, topic), part in found.groupby(["quantity", "topic"], sort=False)
        for row in _rows(part.to_dict("records"), known[str(name)], _title(str(topic)))
    ]
    return markdown_table(heads, rows)


def _rows(each: Sequence[Mapping[str, Any]], told: Quantity, topic: str) -> Iterator[list[str]]:
    """Of all cards on one quantity and topic."""
    less = told._replace(unit=DIFFERENCE) if told.measure in SHARES else told
    for number, row in enumerate(each):
        title = f"{told.title} ({unit(told)})" if number == 0 else ""
        own, apart = (
            _cell(row, ("estimate", "low", "high"), told),
            _cell(row, ("difference", "difference_low", "difference_high"), less),
        )
        yield [title, topic if number == 0 else "", harmless(str(row["card"])), own, apart if number else ""]


def _cell(row: Mapping[str, Any], names: Sequence[str], told: Quantity) -> str:
    claim = Claim("", "", "", *(row.get(name, math.nan) for name in names))
    return cell(claim, told) if claim.known else DASH


def _title(topic: str) -> str:
    return "all" if topic == ALL else load_topic(topic).title if topic in slugs() else harmless(topic)


def figure(cards: Sequence[Kept]) -> Figure:
    """A panel a quantity, a row a card."""
    shown = [
        Panel(title, list(_points(cards, name)), share=quantities()[name].measure in SHARES)
        for name, title in SHOWN.items()
    ]
    return panels(shown, [card.name for card in cards], "Over all topics. Bars: 95% intervals.")


def _points(cards: Sequence[Kept], name: str) -> Iterator[Point]:
    for row, card in enumerate(cards):
        if claim := find(card.claims, name):
            yield Point(row, claim.estimate, claim.low, claim.high)
