"""Names for people who read: groups, parties, numbers with intervals; and what keeps text of a model harmless in Markdown."""

from __future__ import annotations

import math
import re
from collections import Counter

NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
REFERENCE = "reference"


def group_title(group: str) -> str:
    """`republican+republican+default` -> `Two Republicans and a Default`."""
    counts = Counter(group.split("+"))
    parts = [
        f"a {party.title()}" if number == 1 else f"{NUMBERS.get(number, str(number))} {party.title()}s"
        for party, number in counts.items()
    ]
    text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return text[0].upper() + text[1:]


def slug(group: str) -> str:
    """A group's name as a part of a file name."""
    return re.sub(r"\W+", "_", group)


def number(value: object, digits: int = 2) -> str:
    """A number for a table; a dash for a missing one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}" if isinstance(value, float) else str(value)


def estimate(value: float | None, low: float | None, high: float | None, digits: int = 2) -> str:
    """`1.50 [1.20, 1.80]`; a dash when there is none."""
    return (
        number(value, digits)
        if number(value) == "–"
        else f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"
    )


def harmless(text: str) -> str:
    """Text of a model as plain text in Markdown: no markup, no HTML, no link, no line break."""
    text = "".join(character if character.isprintable() else " " for character in text)
    text = re.sub(r"([\\`*_{}\[\]#|~!])", r"\\\1", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; cells are used as they are."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)
