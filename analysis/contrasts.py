"""Differences and movements in words: the side of a number and its size, which never contradict each other.

A sign, a signed number and a signed interval that are put together apart can contradict each other, so they never are: words say
the direction, and every number is a size. An interval on one side of 0 has two sizes; of one that has 0 inside, each end has its
own word. A difference of two movements says both of them, because the one that fell less is not the one that rose.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from parley.analysis.formatting import format_number

OWN = "the model's own opinion"


class Sides(NamedTuple):
    """What a number above 0 is, and one below, in words that stand behind its size: `0.4 points higher`."""

    above: str
    below: str

    def of(self, value: float) -> str:
        """Return the words for a number."""
        return self.below if value < 0 else self.above


HIGHER, MORE, LARGER = Sides("higher", "lower"), Sides("more", "less"), Sides("larger", "smaller")
NEARER = Sides("nearer", "farther")
UP_AND_DOWN = Sides("up the axis", "down the axis")
TO_AND_FRO = Sides(f"toward {OWN}", f"away from {OWN}")
POINTS = "points"
PERCENT = 100


def to_and_from(what: str) -> Sides:
    """Return the sides of a movement toward something.

    >>> to_and_from("the audience").below
    'away from the audience'
    """
    return Sides(f"toward {what}", f"away from {what}")


def size(value: float, digits: int = 2) -> str:
    """Return a number without its sign."""
    return format_number(abs(float(value)), digits)


def movement(points: float, ways: Sides) -> str:
    """Return a movement as its size and direction.

    >>> movement(-0.92, UP_AND_DOWN), movement(0.004, UP_AND_DOWN)
    ('0.92 points down the axis', 'not at all')
    """
    return "not at all" if _is_none(points) else f"{size(points)} {POINTS} {ways.of(points)}"


def span(value: float, low: float, high: float, sides: Sides, digits: int = 2) -> str:
    """Return the interval of a number as sizes, with words where the sizes alone do not say its sides; "" without one.

    >>> span(-4.9, -6.0, -3.8, HIGHER), span(0.2, -0.3, 0.7, HIGHER)
    ('3.80 to 6.00', '0.30 lower to 0.70 higher')
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        least = low if math.isfinite(low) and low > 0 else high if math.isfinite(high) and high < 0 else math.nan
        return "" if math.isnan(least) else f"{size(least, digits)} or more"
    if min(value, low) > 0 or max(value, high) < 0:
        return " to ".join(size(end, digits) for end in sorted((low, high), key=abs))
    if _is_none(low, digits) and _is_none(high, digits):
        return " to ".join([size(0, digits)] * 2)
    return " to ".join(f"{size(end, digits)} {sides.of(end)}" for end in (low, high))


def amount(
    estimate: tuple[float, float, float], sides: Sides, unit: str = POINTS, digits: int = 2, of: str = ""
) -> str:
    """Return a number as its size, unit and side, with its interval. estimate: the number and the ends of its interval.

    of: what the interval is over, such as `6 paired rooms`.

    >>> amount((-4.9, -6.0, -3.8), HIGHER, of="6 rooms"), amount((0.2, -0.3, 0.7), MORE, "percentage points", 1)
    ('4.90 points lower (95% interval 3.80 to 6.00, 6 rooms)', '0.2 percentage points more (95% interval 0.3 less to 0.7 more)')
    """
    value, low, high = map(float, estimate)
    side = "" if _is_none(value, digits) else f" {sides.of(value)}"
    return f"{size(value, digits)} {unit}".strip() + side + _brackets(span(value, low, high, sides, digits), of)


def _brackets(ends: str, of: str) -> str:
    notes = ", ".join(filter(None, [ends and f"95% interval {ends}", of]))
    return f" ({notes})" if notes else ""


def contrast(
    who: str,
    moved: tuple[float, float],
    names: tuple[str, str],
    difference: tuple[float, float, float],
    ways: Sides,
    of: str = "",
) -> str:
    """Return the sentence of a difference between two movements.

    Parameters
    ----------
    who
        Those who moved, such as `Labour on Immigration`.
    moved, names
        The movements in points and the names of the two runs.
    difference
        The difference of the movements (first minus second) with the ends of its interval, in points.
    ways
        The words for a movement above 0, and below.
    of
        What the interval is over, such as `6 paired rooms`.

    Examples
    --------
    >>> contrast("Men", (-0.23, -0.92), ("b", "a"), (0.69, 0.41, 0.97), UP_AND_DOWN)
    'Men moved 0.23 points down the axis in b, and 0.92 points in a, which is 0.69 points less in b (95% interval 0.41 to 0.97).'
    """
    first, second = (movement(points, ways) for points in moved)
    signs = {math.copysign(1, points) for points in moved if not _is_none(points)}
    if len(signs) == 1 and not any(map(_is_none, moved)):  # the same way, which is said once
        second = f"{size(moved[1])} {POINTS}"
    said = f"{who} moved {first} in {names[0]}, and {second} in {names[1]}, which is "
    if len(signs) > 1:  # one went up and one down, so neither moved more
        return f"{said}a difference of {size(difference[0])} {POINTS}{_brackets(span(*difference, ways), of)}."
    value, low, high = difference
    if -1 in signs:
        value, low, high = -value, -high, -low
    return f"{said}{amount((value, low, high), Sides(f'more in {names[0]}', f'less in {names[0]}'), of=of)}."


def _is_none(value: float, digits: int = 2) -> bool:
    """Return whether a number is printed as 0."""
    return float(size(value, digits)) == 0 if math.isfinite(value) else False
