"""Cards of several models beside each other: one page, a table and a figure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from agents.topic import load_topic, slugs
from analysis.card.card import SCHEMA
from analysis.card.claims import ALL, Claim, find, paired
from analysis.card.sections.yardstick import PUBLIC
from analysis.plots import save, style
from analysis.web.document import Chapter, document
from analysis.wording import DASH, estimate, harmless, markdown_table
from llm.errors import UserError

MARKERS, COLOURS = "osd^vP*X", ("#1b1b1f", "#c77b00", "#1f5fa8", "#00785a", "#a8508a", "#8a5a00", "#777777", "#c1272d")
SHOWN = ("lost", "kappa", "three_alone", "three_empty", "asymmetry")
"""Quantities of the figure, over all topics."""
APART = (
    "Differences are each card's minus the first one's. Cards of one battery hold the same seats, topics and seeds block by "
    "block (and the same people, unless these were set): where both tell a number a block, the difference is within blocks, "
    "with Student's interval over these (`blocks` in compare.csv). Of other quantities the intervals take the cards for "
    "independent, and are rather too wide."
)


COLUMNS = (
    *("quantity", "topic", "card", "model", "estimate", "low", "high"),
    *("difference", "difference_low", "difference_high", "blocks", "reason"),
)


@dataclass(frozen=True)
class Kept:
    """A card as it was written. `battery` has to be alike for a difference to mean anything, `manner` is what else was set."""

    name: str
    model: str
    battery: dict[str, Any]
    manner: dict[str, Any]
    quantities: dict[str, dict[str, str]]
    claims: tuple[Claim, ...]
    sentences: tuple[str, ...]


def read(path: Path) -> Kept:
    """The card in a folder, or at a card.json. Errors: UserError when there is none, or one of another version."""
    file = path / "card.json" if path.is_dir() else path
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        if told["schema"] != SCHEMA:
            raise UserError(f"{file} is a card of version {told['schema']}, not {SCHEMA}: audit the model again")
        claims = tuple(_claim(one) for one in told["claims"])
        name, said = path.name if path.is_dir() else path.parent.name, tuple(told["sentences"])
        return Kept(name, told["model"], told["battery"], told["manner"], told["quantities"], claims, said)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read the card {file}: {error}") from error


def _claim(told: dict[str, Any]) -> Claim:
    return Claim(**{one.name: _number(told[one.name], one.name) for one in fields(Claim)})


def _number(value: Any, name: str) -> Any:
    """NaN where the card has none; an end that is missing beside an estimate has no end."""
    return math.nan if value is None and name in ("estimate", "low", "high", "null", "instrument") else value


def compared(cards: Sequence[Kept]) -> pd.DataFrame:
    """A row a card, quantity and topic that any card has: its estimate, low, high, and the difference to the first card with its
    ends and the blocks that it is within (NaN where the batteries differ, and why).
    """
    keys = dict.fromkeys((claim.quantity, claim.topic) for card in cards for claim in card.claims)
    return pd.DataFrame(
        [row for quantity, topic in keys for row in _rows(cards, quantity, topic)], columns=list(COLUMNS)
    )


def _rows(cards: Sequence[Kept], quantity: str, topic: str) -> Iterator[dict[str, Any]]:
    first = find(cards[0].claims, quantity, topic)
    for card in cards:
        claim = find(card.claims, quantity, topic)
        row: dict[str, Any] = {"quantity": quantity, "topic": topic, "card": card.name, "model": card.model}
        row |= {name: getattr(claim, name) if claim else math.nan for name in ("estimate", "low", "high")}
        if card is not cards[0]:
            row |= _difference(first, claim, unlike(cards[0], card))
        yield row


def unlike(first: Kept, other: Kept) -> str:
    """What the batteries of two cards differ in; empty where they are alike."""
    return ", ".join(name for name, value in first.battery.items() if other.battery.get(name) != value)


def otherwise(first: Kept, other: Kept) -> str:
    """What was set otherwise, as `temperature 0.5, not 1.0`; empty where nothing was."""
    changed = [name for name, value in first.manner.items() if other.manner.get(name) != value]
    return ", ".join(f"{name} {_shown(other.manner.get(name))}, not {_shown(first.manner[name])}" for name in changed)


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _difference(first: Claim | None, other: Claim | None, differs: str) -> dict[str, Any]:
    """`blocks`: within how many the difference is; 0: the cards are taken for independent."""
    if differs:
        return {"reason": f"other batteries: {differs}"}
    if first is None or other is None:
        return {"reason": "one of them has no estimate"}
    if first.quantity in PUBLIC:
        return {"reason": "people, not a model"}
    found = paired(first, other)
    ends = {"difference": found.estimate, "difference_low": found.low, "difference_high": found.high}
    return {**ends, "blocks": found.n, "reason": found.reason or None}


def write(cards: Sequence[Kept], folder: Path) -> Path:
    """Write compare.html, compare.csv, compare.png and .svg; the path of the first. Errors: UserError."""
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
    told = [f"**{card.name}** ({card.model})\n\n" + "\n".join(f"- {one}" for one in card.sentences) for card in cards]
    yield Chapter(
        "short", "In short", "\n\n".join([*told, "![What each model does, over all topics](compare.png)"]), folder
    )
    differ = {card.name: unlike(cards[0], card) for card in cards[1:]}
    apart = [f"> {name} is of another battery ({what}): no differences." for name, what in differ.items() if what]
    set_ = {card.name: otherwise(cards[0], card) for card in cards[1:]}
    apart += [f"{harmless(name)}: {harmless(what)}." for name, what in set_.items() if what]
    text = "\n\n".join([*apart, APART, _table(cards, found)])
    yield Chapter("table", "Every quantity", text, folder)


def _table(cards: Sequence[Kept], found: pd.DataFrame) -> str:
    titles = {name: told["title"] for card in cards for name, told in card.quantities.items()}
    heads = ["", "topic", *[card.name for card in cards], *[f"{card.name} minus {cards[0].name}" for card in cards[1:]]]
    rows = []
    for (quantity, topic), part in found.groupby(["quantity", "topic"], sort=False):
        each = part.to_dict("records")
        own = [estimate(row["estimate"], row["low"], row["high"], 3) for row in each]
        apart = [
            estimate(row.get("difference"), row.get("difference_low"), row.get("difference_high"), 3)
            for row in each[1:]
        ]
        rows.append([titles.get(str(quantity), str(quantity)), _title(str(topic)), *own, *apart])
    return markdown_table(heads, rows)


def _title(topic: str) -> str:
    return DASH if topic == ALL else load_topic(topic).title if topic in slugs() else topic


def figure(cards: Sequence[Kept]) -> Figure:
    """A panel a quantity, a row a card; a card has its colour and its marker."""
    with style():
        drawn = Figure(figsize=(7.0, 0.22 * len(cards) + 1.0), layout="constrained")
        FigureCanvasAgg(drawn)
        axes = drawn.subplots(1, len(SHOWN), sharey=True)
        for axis, name in zip(axes, SHOWN, strict=True):
            for row, card in enumerate(cards):
                if claim := find(card.claims, name):
                    reach = [[max(claim.estimate - claim.low, 0.0)], [max(claim.high - claim.estimate, 0.0)]]
                    look = {"color": COLOURS[row % len(COLOURS)], "marker": MARKERS[row % len(MARKERS)]}
                    axis.errorbar(
                        [claim.estimate],
                        [row],
                        xerr=reach if math.isfinite(claim.width) else None,
                        markersize=4,
                        **look,
                    )
            axis.axvline(0, color="#999999", linewidth=0.6)
            axis.set_title(name.replace("_", " minus "), fontsize=7)
        axes[0].set_yticks(range(len(cards)), [card.name for card in cards], fontsize=7)
        axes[0].set_ylim(len(cards) - 0.5, -0.5)
        drawn.supxlabel("Bars: 95% intervals.", fontsize=6)
    return drawn
