"""What a card says: one row a quantity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from scipy import stats

from analysis.bootstrap import Floats, share_interval
from analysis.law import Estimate

ALL = "all"
"""In the place of a topic: all of them together."""
BLOCK, WORDING, RATING = "block", "wording", "rating"
"""Units: the same people under every condition; a way to ask; an answer."""
NAN = math.nan


@dataclass(frozen=True)
class Claim:
    """`estimate` with its 95% interval over `n` units; NaN, with a `reason`: there is none. `null`: what the null condition
    gives, already taken off the estimate. `instrument`: by how much the reading itself may be off, in the same unit of measure
    (NaN: it cancels, or is not known).
    """

    section: str
    quantity: str
    topic: str
    estimate: float = NAN
    low: float = NAN
    high: float = NAN
    null: float = NAN
    n: int = 0
    unit: str = BLOCK
    reason: str = ""
    instrument: float = NAN

    @property
    def known(self) -> bool:
        return math.isfinite(self.estimate)

    @property
    def width(self) -> float:
        """Half the interval; infinite where it has no end."""
        return (self.high - self.low) / 2 if math.isfinite(self.high - self.low) else math.inf


COLUMNS = tuple(field.name for field in fields(Claim))


def table(claims: Iterable[Claim]) -> pd.DataFrame:
    """A row a claim, with the columns of card.csv."""
    rows = [[getattr(claim, name) for name in COLUMNS] for claim in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def estimated(begun: Claim, found: Estimate, n: int) -> Claim:
    """The claim with an estimate of the law; an interval without end has a reason."""
    value, _, low, high = found
    if not math.isfinite(value):
        return replace(begun, n=n, reason="no pull that can be told from none, so there is nowhere that it leads")
    return replace(begun, estimate=value, low=low, high=high, n=n)


def averaged(begun: Claim, values: Sequence[float] | Floats) -> Claim:
    """The claim with the mean of one number a unit and Student's interval. Units without a number are left out."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return replace(begun, reason=begun.reason or "nothing that could be read")
    mean = float(known.mean())
    if len(known) < 2:
        return replace(begun, estimate=mean, n=len(known), reason="one unit only: no interval")
    reach = float(stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known)))
    return replace(begun, estimate=mean, low=mean - reach, high=mean + reach, n=len(known))


def shared(begun: Claim, count: int, of: int) -> Claim:
    """The claim with a share and Wilson's interval."""
    if not of:
        return replace(begun, reason="nothing was asked")
    low, high = share_interval(count, of)
    return replace(begun, estimate=count / of, low=low, high=high, n=of)


def find(claims: Iterable[Claim], quantity: str, topic: str = ALL) -> Claim | None:
    """The claim on a quantity, where there is one with an estimate."""
    return next((one for one in claims if (one.quantity, one.topic) == (quantity, topic) and one.known), None)
