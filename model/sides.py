"""Which side each debater of a room is given to argue for, by what they thought before."""

from __future__ import annotations

from collections.abc import Sequence

MIDDLE = 5.0
"""Of a topic's axis, 0-10: who stands there is on neither side."""


def side_of(attitude: float | None) -> int | None:
    """1 above the middle of the topic's axis, -1 below it; None where nobody knows or it stands in the middle."""
    return None if attitude is None or attitude == MIDDLE else 1 if attitude > MIDDLE else -1


def opposed(attitudes: Sequence[float | None]) -> list[int | None]:
    """Sides in seat order: the first debater argues for what it thought before, the others in turn against it and for it.

    So of two who think alike one argues with its own belief and one against it. Nobody has a side where the first has none.

    >>> opposed([8.0, 9.0]), opposed([2.0, None]), opposed([5.0, 9.0])
    ([1, -1], [-1, 1], [None, None])
    """
    first = side_of(attitudes[0])
    return [None if first is None else first if number % 2 == 0 else -first for number in range(len(attitudes))]
