"""What a statement is worth to somebody."""

from __future__ import annotations

from typing import NamedTuple

UNASKED = frozenset({"no opinion", "nothing to compare", "not rated by the participant"})
"""Reasons for a missing value that are nobody's failure: nothing was asked."""


class Score(NamedTuple):
    """`value` in the scorer's unit, higher is better; None with the reason."""

    value: float | None
    reason: str = ""
