"""How many rooms does a difference need?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count

import pandas as pd
from statsmodels.stats.power import TTestIndPower, TTestPower

DIFFERENCES, POWERS, ALPHA = (0.25, 0.5, 1.0), (0.8, 0.9), 0.05


def rooms_needed(
    deviation: float, differences: Sequence[float] = DIFFERENCES, powers: Sequence[float] = POWERS, paired: bool = False
) -> pd.DataFrame:
    """Rooms for each condition (`paired`: pairs of rooms) by difference in points and power, at two-sided 5%.

    deviation: standard deviation between rooms in points (paired: of the differences). Columns: difference, power, rooms
    (at least 2; missing where the deviation is 0 or not known).

    >>> rooms_needed(1.0, [0.5], [0.8])["rooms"].tolist()
    [64]
    """
    solver = TTestPower() if paired else TTestIndPower()
    rows = [
        {
            "difference": difference,
            "power": power,
            "rooms": _rooms(solver, difference / deviation, power) if deviation > 0 else None,
        }
        for difference in differences
        for power in powers
    ]
    return pd.DataFrame(rows).astype({"rooms": "Int64"})


def detectable(deviation: float, pairs: int, power: float = 0.8) -> float:
    """The difference in points that this many pairs of rooms find with this power, at two-sided 5%; NaN below two pairs.

    deviation: standard deviation of the differences.

    >>> round(detectable(1.0, 34), 2)
    0.5
    """
    if pairs < 2:
        return math.nan
    return deviation * float(TTestPower().solve_power(nobs=pairs, alpha=ALPHA, power=power))


def _rooms(solver: TTestPower | TTestIndPower, size: float, power: float) -> int:
    name = "nobs" if isinstance(solver, TTestPower) else "nobs1"
    if size > 1:  # few rooms: counted up, since the solver looks for a part of a room below two
        return next(rooms for rooms in count(2) if not float(solver.power(size, rooms, ALPHA)) < power)
    return math.ceil(float(solver.solve_power(effect_size=size, alpha=ALPHA, power=power, **{name: None})))
