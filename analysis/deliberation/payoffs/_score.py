"""What a statement is worth to somebody."""

from __future__ import annotations

from typing import NamedTuple


class Score(NamedTuple):
    """`value` in the scorer's unit, higher is better; None with the reason."""

    value: float | None
    reason: str = ""
