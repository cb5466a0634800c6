"""Text of figures, measured in inches before it is drawn, so that labels can be wrapped at the space that they have."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from parley.analysis.formatting import format_range, strip_controls
from parley.analysis.statistics.intervals import FEWEST

HINTING = 1.04
"""On a screen letters are moved to whole pixels, which makes a line this much wider at most."""
SPACING = 1.25
"""Height of a line, in font sizes."""


def text_width(text: str, size: float) -> float:
    """Return how wide a line of text is at most, in inches. size: in points."""
    outline = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]
    return HINTING * float(outline) / 72


def wrap_text(text: str, width: float, size: float) -> str:
    """Return text in lines of at most `width` inches; a longer word is broken. Line breaks stay.

    >>> wrap_text("one two three", 0.6, 8)
    'one two\\nthree'
    """
    return "\n".join(line for paragraph in text.split("\n") for line in _lines(strip_controls(paragraph), width, size))


def _lines(text: str, width: float, size: float) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) <= width:
            lines[-1] = longer
            continue
        pieces = _pieces(word, width, size)
        lines += pieces if lines[-1] else []
        lines = lines if lines[-1] else pieces
    return lines


def _pieces(word: str, width: float, size: float) -> list[str]:
    """Return a word in pieces that fit."""
    pieces = [""]
    for letter in word:
        fits = not pieces[-1] or text_width(pieces[-1] + letter, size) <= width
        pieces = [*pieces[:-1], pieces[-1] + letter] if fits else [*pieces, letter]
    return pieces


def text_height(text: str, size: float) -> float:
    """Return how tall lines of text are, in inches."""
    return SPACING * size / 72 * (text.count("\n") + 1) if text else 0.0


def rooms_phrase(values: Iterable[int]) -> str:
    """Return what the points of a figure are, and whether they have intervals. values: rooms of each point.

    >>> rooms_phrase([10, 10])
    'Means over 10 rooms; bars are 95% intervals over rooms'
    >>> rooms_phrase([1])
    'One room, so there are no intervals'
    """
    ends = sorted({int(value) for value in values if value}) or [0]
    if ends[-1] == 0:
        return "No ratings"
    if ends[-1] == 1:
        return "One room, so there are no intervals"
    means = f"Means over {format_range(ends)} rooms"
    if ends[-1] < FEWEST:
        return f"{means}; no intervals, because there are fewer than {FEWEST} rooms"
    few = f" (none below {FEWEST} rooms)" if ends[0] < FEWEST else ""
    return f"{means}; bars are 95% intervals over rooms{few}"
