"""Cards as they were written, and what each has less than the first one has."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.card.card import SCHEMA
from parley.analysis.card.claims import Claim, find, paired
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections.yardstick import PUBLIC
from parley.llm.errors import UserError

NUMBERS = ("estimate", "low", "high", "null", "instrument")
COLUMNS = (
    *("quantity", "topic", "card", "model", "estimate", "low", "high"),
    *("difference", "difference_low", "difference_high", "blocks", "reason"),
)


@dataclass(frozen=True)
class Kept:
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
    claims: tuple[Claim, ...]
    sentences: tuple[str, ...]


def read(path: Path) -> Kept:
    """The card in a folder, or at a card.json. Errors: UserError when there is none, or one of another version."""
    file = path / "card.json" if path.is_dir() else path
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        if told["schema"] != SCHEMA:
            raise UserError(f"{file} is a card of version {told['schema']}, not {SCHEMA}: audit the model again")
        known = told["quantities"]
        return Kept(
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


def named(cards: Sequence[Kept]) -> list[Kept]:
    """The cards, those of one name numbered: `card 1`, `card 2`."""
    many, seen = Counter(card.name for card in cards), Counter[str]()
    found = []
    for card in cards:
        seen[card.name] += 1
        found.append(replace(card, name=f"{card.name} {seen[card.name]}") if many[card.name] > 1 else card)
    return found


def _claim(told: dict[str, Any]) -> Claim:
    """NaN where the card has no number; of an interval with one end the other is infinite."""
    numbers = {name: math.nan if told[name] is None else told[name] for name in NUMBERS}
    low, high = numbers["low"], numbers["high"]
    if math.isnan(low) != math.isnan(high):
        numbers |= {"low": -math.inf} if math.isnan(low) else {"high": math.inf}
    return Claim(**{one.name: told[one.name] for one in fields(Claim)} | numbers)


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
    if first.quantity in (*PUBLIC, "people_gap"):
        return {"reason": "people, not a model"}
    found = paired(first, other)
    ends = {"difference": found.estimate, "difference_low": found.low, "difference_high": found.high}
    return {**ends, "blocks": found.n, "reason": found.reason or None}
