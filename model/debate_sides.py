"""Which side each debater of a room argues for, from what the debaters thought before (the field `sides`)."""

from __future__ import annotations

from collections.abc import Sequence

MIDDLE = 5.0
"""The middle of a topic's axis, 0-10. An attitude there is on neither side."""


def alternate_sides(attitudes: Sequence[float | None]) -> list[int | None]:
    """Sides in seat order: the first debater argues for its own belief, the next against that belief, and so on in turn.

    So of two debaters who agree, one argues for its belief and one against it. Without a side for the first, none has one.

    >>> alternate_sides([8.0, 9.0]), alternate_sides([2.0, None]), alternate_sides([5.0, 9.0])
    ([1, -1], [-1, 1], [None, None])
    """
    first = side_of(attitudes[0])
    return [None if first is None else first if number % 2 == 0 else -first for number in range(len(attitudes))]


def side_of(attitude: float | None) -> int | None:
    """1 above the middle of the topic's axis, -1 below it; None at the middle and for a missing attitude."""
    return None if attitude is None or attitude == MIDDLE else 1 if attitude > MIDDLE else -1
