"""A difference between two movements in words: how far each moved and which way, and the size of the difference.

A difference alone can mislead: if both fell, the one that fell less has a difference above 0. So both movements are said, and
every number is a size; the words say the direction.
"""

from __future__ import annotations

from parley.analysis.formatting import format_span

UP_AND_DOWN = ("up the axis", "down the axis")
TO_AND_FRO = ("toward the model's own opinion", "away from the model's own opinion")


def movement(points: float, ways: tuple[str, str]) -> str:
    """Return a movement as its size and direction. ways: the words for a movement above 0, and below.

    >>> movement(-0.92, UP_AND_DOWN)
    '0.92 points down the axis'
    >>> movement(0.004, UP_AND_DOWN)
    'not at all'
    """
    size = f"{abs(points):.2f}"
    return "not at all" if size == "0.00" else f"{size} points {ways[points < 0]}"


def size_and_span(difference: float, low: float, high: float) -> str:
    """Return the size of a difference whose interval excludes 0, and the interval of the size.

    >>> size_and_span(-4.9, -6.0, -3.8)
    '4.90 points (95% interval 3.80 to 6.00'
    """
    ends = sorted((abs(low), abs(high)))
    return f"{abs(difference):.2f} points (95% interval {format_span(*ends)}"


def contrast(
    who: str,
    moved: tuple[float, float],
    names: tuple[str, str],
    found: tuple[float, float, float],
    ways: tuple[str, str],
    unit: str,
) -> str:
    """Return the sentence of a difference whose interval excludes 0.

    Parameters
    ----------
    who
        Those who moved, such as `Labour on Immigration`.
    moved, names
        The movements in points and the names of the two runs.
    found
        The difference of the movements (first minus second) with the ends of its interval, in points.
    ways
        The words for a movement above 0, and below.
    unit
        What the interval is over, such as `6 paired rooms`.

    Examples
    --------
    >>> contrast("Voters", (-0.23, -0.92), ("b", "a"), (0.69, 0.41, 0.97), UP_AND_DOWN, "6 paired rooms")
    'Voters moved 0.23 points down the axis in b, and 0.92 points down the axis in a: they differ by 0.69 points (95% interval 0.41 to 0.97, 6 paired rooms).'
    """  # noqa: E501
    first, second = (movement(points, ways) for points in moved)
    return f"{who} moved {first} in {names[0]}, and {second} in {names[1]}: they differ by {size_and_span(*found)}, {unit})."
