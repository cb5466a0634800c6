"""Cards of several models side by side: their differences from the first one, a page, a table, a figure."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import t as t_distribution

from parley.agents.topic import load_topic
from parley.analysis.card.card import SCHEMA
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, paired_difference
from parley.analysis.card.figure import Panel, Point, panel_figure
from parley.analysis.card.labels import DIFFERENCE, SHARES, cell, unit
from parley.analysis.card.labels import value as format_value
from parley.analysis.card.sections import Quantity, fill_names, quantities
from parley.analysis.card.sections.human_benchmark import PUBLIC
from parley.analysis.contrasts import MORE, PERCENT, TO_AND_FRO, Sides, amount, contrast
from parley.analysis.formatting import DASH, count_phrase, escape_markdown, markdown_table, numbered
from parley.analysis.html_page import Chapter
from parley.analysis.provenance import short_spec
from parley.analysis.report import Report, bullets
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.unknown import unknown_sentence
from parley.llm.errors import UserError

NUMBERS = ("estimate", "low", "high", "null", "instrument")
COLUMNS = (
    *("quantity", "topic", "card", "model", "estimate", "low", "high"),
    *("difference", "difference_low", "difference_high", "blocks", "reason"),
)
SHOWN = {
    "lost": "own pull,\na round of three", "kappa": "influence,\na line heard",
    "three_alone": "toward the model's own opinion:\ndebate minus silence",
    "three_empty": "toward the model's own opinion:\ndebate minus empty talk",
    "asymmetry": "distance closed: {firsts}\nminus {seconds}", "collapse": "spread after\ndivided by before",
}  # fmt: skip
"""Quantities of the figure, over all topics."""
MOVED = {
    "three_alone": "Compared with silence, agents in debates",
    "three_empty": "Compared with empty talk, agents in debates",
}
SAYS = {
    "kappa": "Each reply that an agent hears moves the agent by a part of the distance to the speaker",
    "asymmetry": "Share of the distance to the model's own opinion that {firsts} close, compared with {seconds}",
    "collapse": "Spread of opinions after debates, divided by the spread before",
}
"""The quantities of the figure in sentences, besides the pull."""
RATIO = "collapse"
"""The quantity of the figure whose value without an effect is 1."""
LABELS = ("first party", "second party")
PLURALS = ("agents of the first party", "agents of the second party")
"""What parties are called if the cards are of several societies."""
APART = (
    "A difference is the value of a card minus the value of the first card. Cards with the same battery use the same roles, "
    "topics and seeds block by block, and the same personas unless a setting changed them. If both cards have one number per "
    "block, the difference is within blocks, with Student's interval over blocks (the column `blocks` of compare.csv). "
    "Otherwise the interval treats the cards as independent (Zou and Donner 2008). For independent cards, the interval of a "
    "difference is too wide if the numbers come from the same personas. Percentages have one decimal, all other numbers have "
    "two."
)

FALSE_ALARMS = 0.05
CORRECTED = (
    "The sentences name a difference over all topics, of the six quantities in the figure, if p is below 0.05 after Holm's "
    "correction. The 95% intervals are not corrected."
)


@dataclass(frozen=True)
class SavedCard:
    """A card as it was written.

    note: the caveat of one of our own speakers. parties: what the people of the two parties are called. battery: what two cards
    must share before a difference means anything. manner: all other settings. sections: the title of the section of each
    quantity.
    """

    name: str
    model: str
    note: str
    parties: tuple[str, str]
    battery: dict[str, Any]
    manner: dict[str, Any]
    quantities: dict[str, Quantity]
    sections: dict[str, str]
    claims: tuple[CardEstimate, ...]
    sentences: tuple[str, ...]


def read_card(path: Path) -> SavedCard:
    """The card in a folder, or at a card.json. Errors: UserError if there is none, or one of another version."""
    file = path / "card.json" if path.is_dir() else path
    try:
        card = json.loads(file.read_text(encoding="utf-8"))
        if card["schema"] != SCHEMA:
            raise UserError(
                f"{file} was written by another version of Parley (card version {card['schema']}, "
                f"not {SCHEMA}): audit the model again"
            )
        quantities, name = card["quantities"], file.resolve().parent.name
        titles = {key: Quantity(each["title"], each["measure"], each["unit"]) for key, each in quantities.items()}
        sections = {key: each["section"] for key, each in quantities.items()}
        claims, sentences = tuple(map(_parse_claim, card["claims"])), tuple(card["sentences"])
        first, second = card["parties"]
        settings = card["model"], card["note"] or "", (first, second), card["battery"], card["manner"]
        return SavedCard(name, *settings, titles, sections, claims, sentences)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read the card {file}: {error}") from error


def name_cards(cards: Sequence[SavedCard]) -> list[SavedCard]:
    """The cards, named after their models: `oracle`, `oracle with kappa=0`; several of one model with their folder (`oracle,
    card-a`), or a number.
    """
    models = Counter(card.model for card in cards)
    plain = [short_spec(card.model.partition(" (")[0]) for card in cards]
    names = [
        name if models[card.model] == 1 else f"{name}, {card.name}" for name, card in zip(plain, cards, strict=True)
    ]
    return [replace(card, name=name) for card, name in zip(cards, numbered(names), strict=True)]


def _parse_claim(values: dict[str, Any]) -> CardEstimate:
    """NaN where the card has no number; if an interval has only one end, the other end is infinite."""
    numbers = {name: math.nan if values[name] is None else values[name] for name in NUMBERS}
    low, high = numbers["low"], numbers["high"]
    if math.isnan(low) != math.isnan(high):
        numbers |= {"low": -math.inf} if math.isnan(low) else {"high": math.inf}
    return CardEstimate(**{column.name: values[column.name] for column in fields(CardEstimate)} | numbers)


def compare_cards(cards: Sequence[SavedCard]) -> pd.DataFrame:
    """One row per card, quantity and topic that any card has; columns: COLUMNS.

    blocks: the blocks that a difference is within; 0: the cards are treated as independent. A difference is NaN, with a reason,
    where the batteries differ.
    """
    keys = dict.fromkeys((claim.quantity, claim.topic) for card in cards for claim in card.claims)
    rows = [row for quantity, topic in keys for row in _rows(cards, quantity, topic)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


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
    """The fields in which the batteries of two cards differ; "" if they are the same."""
    return ", ".join(name for name, value in first.battery.items() if other.battery.get(name) != value)


def other_settings(first: SavedCard, other: SavedCard) -> str:
    """The other settings that differ, as `temperature 0.5, not 1.0`; "" if there are none."""
    changed = [name for name, value in first.manner.items() if other.manner.get(name) != value]
    return ", ".join(
        f"{name} {_setting(other.manner.get(name))}, not {_setting(first.manner[name])}" for name in changed
    )


def _setting(value: Any) -> str:
    return ",".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _difference(first: CardEstimate | None, other: CardEstimate | None, differs: str) -> dict[str, Any]:
    if differs:
        return {"reason": f"other batteries: {differs}"}
    if first is None or other is None:
        return {"reason": "one of the two cards has no estimate"}
    if first.quantity in (*PUBLIC, "people_gap"):
        return {"reason": "people, not a model"}
    apart = paired_difference(first, other)
    ends = {"difference": apart.estimate, "difference_low": apart.low, "difference_high": apart.high}
    return {**ends, "blocks": apart.n, "reason": apart.reason or None}


def difference_sentences(cards: Sequence[SavedCard], table: pd.DataFrame) -> list[str]:
    """Return in what each card after the first differs from the first, over all topics, or that no difference can be shown.

    Of the quantities in SHOWN, those with a p below 0.05 after Holm's correction are named.
    """
    over_all = table[(table["topic"] == ALL) & table["quantity"].isin(SHOWN)]
    return [line for card in cards[1:] for line in _differing(cards, card, over_all[over_all["card"] == card.name])]


def _differing(cards: Sequence[SavedCard], card: SavedCard, rows: pd.DataFrame) -> Iterator[str]:
    first = cards[0]
    if fields_ := protocol_differences(first, card):
        yield f"{card.name} was made with other settings ({fields_}), so differences from {first.name} are not computed."
        return
    p = np.array([p_of_interval(row) for row in rows.to_dict("records")])
    sure = rows[holm(p) < FALSE_ALARMS]
    yield _pull_sentence(cards, card, rows, "lost" in set(sure["quantity"]))
    yield from (_sentence(cards, card, row) for row in sure[sure["quantity"] != "lost"].to_dict("records"))
    if sure.empty:
        few = rows["reason"].str.contains("fewer than", na=False).any() and not np.isfinite(p).any()
        few = f" (intervals need at least {FEWEST} blocks)" if few else ""
        yield f"No difference between {first.name} and {card.name} can be distinguished from chance{few}."


def _pull_sentence(cards: Sequence[SavedCard], card: SavedCard, rows: pd.DataFrame, sure: bool) -> str:
    """Return which of two models pulls agents harder to its own opinion, and by how much."""
    first = cards[0]
    found = rows[rows["quantity"] == "lost"].to_dict("records")
    if not found or not math.isfinite(found[0]["difference"]):
        reason = next((row["reason"] for row in found if row["reason"]), "a card lacks this number")
        return unknown_sentence(f"whether {card.name} or {first.name} pulls agents harder to its own opinion", reason)
    row, both = found[0], (card.name, first.name)
    names, sign = (both, 1) if row["difference"] > 0 else (both[::-1], -1)
    shares = row["estimate"], row["estimate"] - row["difference"]
    ends = sorted(sign * PERCENT * row[f"difference_{end}"] for end in ("low", "high"))
    apart = amount((sign * PERCENT * row["difference"], *ends), MORE, DIFFERENCE, 1)
    more, less = (f"{PERCENT * max(share, 0.0):.1f}%" for share in shares[::sign])  # no share is below 0
    size = f"in a round of three, {more} of the remaining distance with {names[0]}, and {less} with {names[1]}, which is {apart}"
    if sure:
        return f"{names[0]} pulls agents harder to its own opinion than {names[1]}: {size}."
    return unknown_sentence(f"whether {card.name} or {first.name} pulls agents harder to its own opinion", size)


def _sentence(cards: Sequence[SavedCard], card: SavedCard, row: Mapping[str, Any]) -> str:
    """Return both values of a quantity and their difference."""
    name, quantity = str(row["quantity"]), _titles(cards)[str(row["quantity"])]
    both, names = (row["estimate"], row["estimate"] - row["difference"]), (card.name, cards[0].name)
    value, low, high = (row[f"difference{end}"] for end in ("", "_low", "_high"))
    if name in MOVED:
        return contrast(MOVED[name], both, names, (value, low, high), TO_AND_FRO)
    factor, size, digits = (PERCENT, DIFFERENCE, 1) if quantity.measure in SHARES else (1, "", 2)
    if quantity.unit == DIFFERENCE:
        here, there = (amount((factor * share, math.nan, math.nan), MORE, size, digits) for share in both)
    else:
        here, there = (_with_unit(number, quantity) for number in both)
    sides = Sides(f"more for {card.name}", f"less for {card.name}")
    apart = amount((factor * value, factor * low, factor * high), sides, size, digits)
    return (
        f"{fill_names(SAYS[name], LABELS, card.parties)}: {here} for {names[0]}, and {there} for {names[1]}: {apart}."
    )


def _with_unit(number: float, quantity: Quantity) -> str:
    """`6.0%`, `2.29 points`; a ratio has no unit."""
    text, name = format_value(float(number), quantity), unit(quantity)
    return f"{text}%" if name == "%" else text if quantity.measure == "ratio" else f"{text} {name}"


def p_of_interval(row: Mapping[str, Any]) -> float:
    """Return the p of a difference whose 95% interval is known: Student's t within blocks, otherwise normal; NaN without one."""
    value, low, high = (row[name] for name in ("difference", "difference_low", "difference_high"))
    reach = value - low if value > 0 else high - value
    if not (math.isfinite(reach) and reach > 0):
        return math.nan
    freedom = row["blocks"] - 1 if row["blocks"] > 1 else math.inf
    edge = float(t_distribution.ppf(1 - FALSE_ALARMS / 2, freedom))
    return float(2 * t_distribution.sf(abs(value) / reach * edge, freedom))


def write_comparison(cards: Sequence[SavedCard], folder: Path) -> Path:
    """Write compare.html, compare.csv, compare.png and .svg; return the path of the page. Errors: UserError."""
    cards = name_cards(cards)
    table, report = compare_cards(cards), Report(folder, "compare")
    try:
        report.data(compare=table)
        lines = list(map(escape_markdown, difference_sentences(cards, table)))
        report.add(*(f"**{line}**" for line in lines[:1]), bullets(lines[1:]), CORRECTED)
        report.note(*(card.note for card in cards))
        report.figure(comparison_figure(cards), "compare", "What each model does, over all topics")
        return report.write_document("Bias cards compared", list(_chapters(cards, table, report)))
    except OSError as error:
        raise UserError(f"cannot write into {folder}: {error.strerror}") from error


def _chapters(cards: Sequence[SavedCard], table: pd.DataFrame, report: Report) -> Iterator[Chapter]:
    folder, apart = report.folder, []
    for card in cards[1:]:
        name = escape_markdown(card.name)
        if fields_ := protocol_differences(cards[0], card):
            apart.append(
                f"> {name} was made with other settings ({fields_}), so differences from {name} are not computed."
            )
        if settings := other_settings(cards[0], card):
            apart.append(f"{name}: {escape_markdown(settings)}.")
    yield Chapter("short", "What differs", report.text, folder)
    each = Report(folder, "each")
    for card in cards:
        each.add(f"**{escape_markdown(card.name)}**")
        each.lines(f"- {sentence}" for sentence in card.sentences)
    yield Chapter("each", "What each card says", each.text, folder)
    yield Chapter("differences", "How differences are computed", "\n\n".join([*apart, APART]), folder)
    sections = {name: title for card in reversed(cards) for name, title in card.sections.items()}
    for number, (title, section_rows) in enumerate(table.groupby(table["quantity"].map(sections), sort=False)):
        yield Chapter(f"section-{number}", str(title), _table(cards, section_rows), folder)


def _table(cards: Sequence[SavedCard], table: pd.DataFrame) -> str:
    """One row per quantity, topic and card; the title is in the first row of each."""
    quantity_by_name = _titles(cards)
    header = ["", "topic", "card", "estimate (95% interval)", f"minus {escape_markdown(cards[0].name)}"]
    rows: list[list[str]] = []
    for (name, topic), cells in table.groupby(["quantity", "topic"], sort=False):
        rows += _estimate_rows(cells.to_dict("records"), quantity_by_name[str(name)], _topic_title(str(topic)))
    return markdown_table(header, rows)


def _titles(cards: Sequence[SavedCard]) -> dict[str, Quantity]:
    """The quantities of all cards, by name; with general names of the parties if these differ."""
    quantity_by_name = {name: quantity for card in reversed(cards) for name, quantity in card.quantities.items()}
    if len({card.parties for card in cards}) > 1:
        shared = {name: each for name, each in quantities().items() if name in quantity_by_name}
        quantity_by_name |= {
            name: each._replace(title=fill_names(each.title, LABELS, PLURALS)) for name, each in shared.items()
        }
    return quantity_by_name


def _estimate_rows(rows: Sequence[Mapping[str, Any]], quantity: Quantity, topic: str) -> Iterator[list[str]]:
    """The rows of all cards on one quantity and topic."""
    signed = quantity._replace(unit=DIFFERENCE) if quantity.measure in SHARES else quantity
    heading = [f"{quantity.title} ({unit(quantity)})", topic]
    for number, row in enumerate(rows):
        estimate_cell = _cell(row, ("estimate", "low", "high"), quantity)
        apart = _cell(row, ("difference", "difference_low", "difference_high"), signed)
        yield [
            *(["", ""] if number else heading),
            escape_markdown(str(row["card"])),
            estimate_cell,
            apart if number else "",
        ]


def _cell(row: Mapping[str, Any], names: Sequence[str], quantity: Quantity) -> str:
    claim = CardEstimate("", ALL, *(row.get(name, math.nan) for name in names))
    return cell(claim, quantity) if claim.known else DASH


def _topic_title(topic: str) -> str:
    if topic == ALL:
        return "all"
    try:
        return load_topic(topic).title
    except UserError:
        return escape_markdown(topic)


BARS = "Points are estimates over all topics, bars are 95% intervals. The grey line marks no effect."


def comparison_figure(cards: Sequence[SavedCard]) -> Figure:
    """One panel per quantity, one row per card."""
    panels = []
    parties = {card.parties for card in cards}
    plurals = parties.pop() if len(parties) == 1 else PLURALS
    for name, title in SHOWN.items():
        claims = ((row, find_estimate(card.claims, name)) for row, card in enumerate(cards))
        points = [Point(row, claim.estimate, claim.low, claim.high) for row, claim in claims if claim]
        title = fill_names(title, LABELS, plurals)
        none = 1.0 if name == RATIO else 0.0
        panels.append(Panel(title, points, share=quantities()[name].measure in SHARES, none=none))
    title = f"Bias of {count_phrase(len(cards), 'model')} compared, over all topics"
    return panel_figure(panels, [card.name for card in cards], BARS, title)
