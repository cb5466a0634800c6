"""Values that a search tries for one key: a choice, as [1, 2], or a range, as { low = 1, high = 3 }."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

from parley.llm.errors import UserError, unknown_name

Value = str | int | float | bool
DIGITS = 4
"""Digits of a number that is tried."""


class Range(NamedTuple):
    """Numbers from low to high. whole: only whole ones. step: between two numbers (0: any)."""

    low: float
    high: float
    whole: bool = False
    step: float = 0.0

    @property
    def choices(self) -> tuple[Value, ...]:
        """All numbers of the range; () if there are too many to list."""
        if not (step := self.step or float(self.whole)):
            return ()
        count = math.floor((self.high - self.low) / step + 1e-9) + 1
        return tuple([self.typed(self.low + place * step) for place in range(count)])

    def typed(self, number: float) -> int | float:
        """Return a number of this range as it is tried."""
        return round(number) if self.whole else round(number, DIGITS)


Varied = tuple[Value, ...] | Range
"""A choice, or a range of numbers."""


def choices_of(varied: Varied) -> tuple[Value, ...]:
    """Return all values of a choice or a range; () for a range of too many numbers to list."""
    return varied.choices if isinstance(varied, Range) else varied


def draw_value(varied: Varied, rng: random.Random) -> Value:
    """Return a random value; each has the same chance."""
    if isinstance(varied, Range) and not varied.choices:
        return varied.typed(rng.uniform(varied.low, varied.high))
    return rng.choice(choices_of(varied))


def parse_varied(where: str, value: Any) -> Varied:
    """Return a choice or a range. where: for messages. Errors: UserError for a wrong range, a choice of one, a value twice."""
    if isinstance(value, Mapping):
        return _range(where, value)
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(each, Value) for each in value):
        raise UserError(f"{where}: write two or more values as [1, 2], or a range as {{ low = 1, high = 3 }}")
    if len(set(map(repr, value))) < len(value):
        raise UserError(f"{where}: a value is given twice: leave out one of the two")
    return tuple(value)


def _range(where: str, table: Mapping[str, Any]) -> Range:
    for key in table:
        if key not in ("low", "high", "step"):
            raise unknown_name(f"key of {where}", key, ("low", "high", "step"))
    numbers = [table.get("low"), table.get("high"), table.get("step", 0)]
    if not all(
        isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each) for each in numbers
    ):
        raise UserError(f"{where}: a range needs two numbers, as in {{ low = 1, high = 3 }}")
    low, high, step = map(float, numbers)
    if not low < high or step < 0 or step > high - low:
        raise UserError(f"{where}: low must be less than high, and step must be from 0 to high minus low")
    whole = all(isinstance(each, int) for each in numbers)
    return Range(low, high, whole, step)
