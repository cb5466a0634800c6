"""Cards as they were written, and what each has less than the first one has.

Cards of several models beside each other: one page, a table and a figure.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.agents.topic import load_topic, topic_names
from parley.analysis.card.card import SCHEMA
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, paired_difference
from parley.analysis.card.figure import Panel, Point, panel_figure
from parley.analysis.card.labels import DIFFERENCE, SHARES, cell, unit
from parley.analysis.card.sections import Quantity, quantities
from parley.analysis.card.sections.human_benchmark import PUBLIC
from parley.analysis.formatting import DASH, escape_markdown, markdown_table
from parley.analysis.html_page import Chapter
from parley.analysis.report import Report
from parley.llm.errors import UserError

NUMBERS = ("estimate", "low", "high", "null", "instrument")
COLUMNS = (
    *("quantity", "topic", "card", "model", "estimate", "low", "high"),
    *("difference", "difference_low", "difference_high", "blocks", "reason"),
)


@dataclass(frozen=True)
class SavedCard:
    """A card as it was written. `battery` has to be alike for a difference to mean anything, `manner` is what else was set;
    `note`: what has to be known of a speaker that is ours; `sections`: the title of each quantity's section.
    """

    name: str
    model: str
    note: str
    battery: dict[str, Any]
    manner: dict[str, Any]
    quantities: dict[str, Quantity]
    sections: dict[str, str]
    claims: tuple[CardEstimate, ...]
    sentences: tuple[str, ...]


def read_card(path: Path) -> SavedCard:
    """The card in a folder, or at a card.json. Errors: UserError when there is none, or one of another version."""
    file = path / "card.json" if path.is_dir() else path
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        if told["schema"] != SCHEMA:
            raise UserError(f"{file} is a card of version {told['schema']}, not {SCHEMA}: audit the model again")
        known = told["quantities"]
        return SavedCard(
            file.resolve().parent.name,
            told["model"],
            told["note"] or "",
            told["battery"],
            told["manner"],
            {name: Quantity(one["title"], one["measure"], one["unit"]) for name, one in known.items()},
            {name: one["section"] for name, one in known.items()},
            tuple(_claim(one) for one in told["claims"]),
            tuple(told["sentences"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read the card {file}: {error}") from error


def name_cards(cards: Sequence[SavedCard]) -> list[SavedCard]:
    """The cards, those of one name numbered: `card 1`, `card 2`."""
    many, seen = Counter(card.name for card in cards), Counter[str]()
    found = []
    for card in cards:
        seen[card.name] += 1
        found.append(replace(card, name=f"{card.name} {seen[card.name]}") if many[card.name] > 1 else card)
    return found


def _claim(told: dict[str, Any]) -> CardEstimate:
    """NaN where the card has no number; of an interval with one end the other is infinite."""
    numbers = {name: math.nan if told[name] is None else told[name] for name in NUMBERS}
    low, high = numbers["low"], numbers["high"]
    if math.isnan(low) != math.isnan(high):
        numbers |= {"low": -math.inf} if math.isnan(low) else {"high": math.inf}
    return CardEstimate(**{one.name: told[one.name] for one in fields(CardEstimate)} | numbers)


def compare_cards(cards: Sequence[SavedCard]) -> pd.DataFrame:
    """A row a card, quantity and topic that any card has: its estimate, low, high, and the difference to the first card with its
    ends and the blocks that it is within (NaN where the batteries differ, and why).
    """
    keys = dict.fromkeys((claim.quantity, claim.topic) for card in cards for claim in card.claims)
    return pd.DataFrame(
        [row for quantity, topic in keys for row in _rows(cards, quantity, topic)], columns=list(COLUMNS)
    )


def _rows(cards: Sequence[SavedCard], quantity: str, topic: str) -> Iterator[dict[str, Any]]:
    first = find_estimate(cards[0].claims, quantity, topic)
    for card in cards:
        claim = find_estimate(card.claims, quantity, topic)
        row: dict[str, Any] = {"quantity": quantity, "topic": topic, "card": card.name, "model": card.model}
        row |= {name: getattr(claim, name) if claim else math.nan for name in ("estimate", "low", "high")}
        if card is not cards[0]:
            row |= _difference(first, claim, protocol_differences(cards[0], card))
        yield row


def protocol_differences(first: SavedCard, other: SavedCard) -> str:
    """What the batteries of two cards differ in; empty where they are alike."""
    return ", ".join(name for name, value in first.battery.items() if other.battery.get(name) != value)


def other_settings(first: SavedCard, other: SavedCard) -> str:
    """What was set otherwise, as `temperature 0.5, not 1.0`; empty where nothing was."""
    changed = [name for name, value in first.manner.items() if other.manner.get(name) != value]
    return ", ".join(f"{name} {_shown(other.manner.get(name))}, not {_shown(first.manner[name])}" for name in changed)


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _difference(first: CardEstimate | None, other: CardEstimate | None, differs: str) -> dict[str, Any]:
    """`blocks`: within how many the difference is; 0: the cards are taken for independent."""
    if differs:
        return {"reason": f"other batteries: {differs}"}
    if first is None or other is None:
        return {"reason": "one of them has no estimate"}
    if first.quantity in (*PUBLIC, "people_gap"):
        return {"reason": "people, not a model"}
    found = paired_difference(first, other)
    ends = {"difference": found.estimate, "difference_low": found.low, "difference_high": found.high}
    return {**ends, "blocks": found.n, "reason": found.reason or None}


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


def write_comparison(cards: Sequence[SavedCard], folder: Path) -> Path:
    """Write compare.html, compare.csv, compare.png and .svg; the path of the first. Errors: UserError."""
    cards = name_cards(cards)
    found, report = compare_cards(cards), Report(folder, "compare")
    try:
        report.data(compare=found)
        _short(report, cards)
        return report.write_document("Bias cards side by side", list(_chapters(cards, found, report)))
    except OSError as error:
        raise UserError(f"cannot write into {folder}: {error.strerror}") from error


def _chapters(cards: Sequence[SavedCard], found: pd.DataFrame, report: Report) -> Iterator[Chapter]:
    folder = report.folder
    yield Chapter("short", "In short", report.text, folder)
    yield Chapter("differences", "How differences are taken", "\n\n".join(_apart(cards)), folder)
    sections = {name: title for card in reversed(cards) for name, title in card.sections.items()}
    for number, (title, part) in enumerate(found.groupby(found["quantity"].map(sections), sort=False)):
        yield Chapter(f"section-{number}", str(title), _table(cards, part), folder)


def _short(report: Report, cards: Sequence[SavedCard]) -> None:
    report.note(*(card.note for card in cards))
    report.figure(comparison_figure(cards), "compare", "What each model does, over all topics")
    for card in cards:
        report.add(f"**{escape_markdown(card.name)}** ({escape_markdown(card.model)})")
        report.lines(f"- {one}" for one in card.sentences)


def _apart(cards: Sequence[SavedCard]) -> Iterator[str]:
    for card in cards[1:]:
        if what := protocol_differences(cards[0], card):
            yield f"> {escape_markdown(card.name)} is of another battery ({what}): no differences."
        if what := other_settings(cards[0], card):
            yield f"{escape_markdown(card.name)}: {escape_markdown(what)}."
    yield APART


def _table(cards: Sequence[SavedCard], found: pd.DataFrame) -> str:
    """A row a quantity, topic and card; what it is stands in the first of each."""
    known = {name: told for card in reversed(cards) for name, told in card.quantities.items()}
    heads = ["", "topic", "card", "estimate (95% interval)", f"minus {escape_markdown(cards[0].name)}"]
    rows = [
        row
        for (name, topic), part in found.groupby(["quantity", "topic"], sort=False)
        for row in _estimate_rows(part.to_dict("records"), known[str(name)], _title(str(topic)))
    ]
    return markdown_table(heads, rows)


def _estimate_rows(each: Sequence[Mapping[str, Any]], told: Quantity, topic: str) -> Iterator[list[str]]:
    """Of all cards on one quantity and topic."""
    less = told._replace(unit=DIFFERENCE) if told.measure in SHARES else told
    for number, row in enumerate(each):
        title = f"{told.title} ({unit(told)})" if number == 0 else ""
        own, apart = (
            _cell(row, ("estimate", "low", "high"), told),
            _cell(row, ("difference", "difference_low", "difference_high"), less),
        )
        yield [title, topic if number == 0 else "", escape_markdown(str(row["card"])), own, apart if number else ""]


def _cell(row: Mapping[str, Any], names: Sequence[str], told: Quantity) -> str:
    claim = CardEstimate("", "", "", *(row.get(name, math.nan) for name in names))
    return cell(claim, told) if claim.known else DASH


def _title(topic: str) -> str:
    return "all" if topic == ALL else load_topic(topic).title if topic in topic_names() else escape_markdown(topic)


def comparison_figure(cards: Sequence[SavedCard]) -> Figure:
    """A panel a quantity, a row a card."""
    shown = [
        Panel(title, list(_points(cards, name)), share=quantities()[name].measure in SHARES)
        for name, title in SHOWN.items()
    ]
    return panel_figure(shown, [card.name for card in cards], "Over all topics. Bars: 95% intervals.")


def _points(cards: Sequence[SavedCard], name: str) -> Iterator[Point]:
    for row, card in enumerate(cards):
        if claim := find_estimate(card.claims, name):
            yield Point(row, claim.estimate, claim.low, claim.high)
