"""What a card says: one row a quantity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

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
    (NaN: it cancels, or is not known). `values`: a number a block of which the estimate is the mean (of a fit or a ratio
    jackknife pseudo-values), by which claims of two cards are paired; empty where there is none.
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
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        return math.isfinite(self.estimate)

    @property
    def width(self) -> float:
        """Half the interval; infinite where it has no end."""
        return (self.high - self.low) / 2 if math.isfinite(self.high - self.low) else math.inf


COLUMNS = tuple(one.name for one in fields(Claim) if one.name != "values")


def table(claims: Iterable[Claim]) -> pd.DataFrame:
    """A row a claim, with the columns of card.csv."""
    rows = [[getattr(claim, name) for name in COLUMNS] for claim in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def estimated(begun: Claim, found: Estimate, n: int, values: Mapping[str, float] | None = None) -> Claim:
    """The claim with an estimate of the law; an interval without end has a reason."""
    value, _, low, high = found
    if not math.isfinite(value):
        return replace(begun, n=n, reason="no pull that can be told from none, so there is nowhere that it leads")
    return replace(begun, estimate=value, low=low, high=high, n=n, values=values or {})


def averaged(begun: Claim, values: Sequence[float] | Floats | pd.Series) -> Claim:
    """The claim with the mean of one number a unit and Student's interval. Units without a number are left out; a series by
    block is kept as the claim's `values`.
    """
    found = values if isinstance(values, pd.Series) else pd.Series(values, dtype=float)
    finite = found[np.isfinite(found.astype(float))]
    known = finite.to_numpy(dtype=float)
    if not len(known):
        return replace(begun, reason=begun.reason or "nothing that could be read")
    mean = float(known.mean())
    if len(known) < 2:
        return replace(begun, estimate=mean, n=len(known), reason="one unit only: no interval")
    reach = float(stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known)))
    kept = dict(zip(finite.index, map(float, known), strict=True)) if finite.index.name == BLOCK else {}
    return replace(begun, estimate=mean, low=mean - reach, high=mean + reach, n=len(known), values=kept, reason="")


def jackknifed(begun: Claim, rows: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> Claim:
    """A statistic of rows, one a block, by leaving out one: mean and Student's interval of the pseudo-values (Tukey 1958)."""
    size = len(rows)
    if size < 2:
        return replace(begun, n=size, reason="one unit only: no interval")
    whole = statistic(rows)
    pseudo = [size * whole - (size - 1) * statistic(rows.drop(index=one)) for one in rows.index]
    return averaged(begun, pd.Series(pseudo, rows.index.rename(BLOCK)))


def paired(first: Claim, other: Claim) -> Claim:
    """The other less the first: within blocks where both have a number a block, else as if the two were independent."""
    begun = replace(other, estimate=NAN, low=NAN, high=NAN, null=NAN, instrument=NAN, values={}, reason="")
    if not (first.known and other.known):
        return replace(begun, n=0, reason="one of them has no estimate")
    ours, theirs = (pd.Series(one.values, dtype=float) for one in (first, other))
    within = (theirs - ours).dropna().rename_axis(BLOCK)
    if len(within) > 1:
        return averaged(begun, within)
    return replace(apart(begun, other, first), n=0)


def apart(begun: Claim, ours: Claim, theirs: Claim) -> Claim:
    """Ours less theirs, of independent samples: each end lies off by the root of the squares of the two distances there (Zou and
    Donner 2008). An end that one of them has not got is infinite.
    """
    value = ours.estimate - theirs.estimate
    low = value - math.hypot(ours.estimate - ours.low, theirs.high - theirs.estimate)
    high = value + math.hypot(ours.high - ours.estimate, theirs.estimate - theirs.low)
    reason = "one of them has no interval" if math.isnan(low) or math.isnan(high) else ""
    return replace(begun, estimate=value, low=low, high=high, reason=reason)


def shared(begun: Claim, count: int, of: int) -> Claim:
    """The claim with a share and Wilson's interval."""
    if not of:
        return replace(begun, reason="nothing was asked")
    low, high = share_interval(count, of)
    return replace(begun, estimate=count / of, low=low, high=high, n=of)


def find(claims: Iterable[Claim], quantity: str, topic: str = ALL) -> Claim | None:
    """The claim on a quantity, where there is one with an estimate."""
    return next((one for one in claims if (one.quantity, one.topic) == (quantity, topic) and one.known), None)
