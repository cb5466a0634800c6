"""What a card says: one row a quantity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.bootstrap import (
    NO_VARIATION,
    Floats,
    clustered_share_interval,
    mean_interval,
    too_few,
    why_no_interval,
)
from parley.analysis.influence_model import Estimate

ALL = "all"
"""In the place of a topic: all of them together."""
BLOCK, WORDING, RATING = "block", "wording", "rating"
"""Units: the same people under every condition; a way to ask; an answer."""
NAN = math.nan


@dataclass(frozen=True)
class CardEstimate:
    """`estimate` with its 95% interval over `n` units, or the `reason` why there is none (NaN) and nothing can be concluded.

    `null`: what the null condition gives, already taken off the estimate. `instrument`: by how much the reading itself may be
    off, in the same unit of measure (NaN: it cancels, or is not known). `values`: a number a block of which the estimate is the
    mean (of a fit or a ratio jackknife pseudo-values), by which claims of two cards are paired; empty where there is none.
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
        """Half the interval; infinite where it has no end, 0 where nothing varied."""
        if self.reason == NO_VARIATION:
            return 0.0
        return (self.high - self.low) / 2 if math.isfinite(self.high - self.low) else math.inf


COLUMNS = tuple(one.name for one in fields(CardEstimate) if one.name != "values")


def estimate_table(claims: Iterable[CardEstimate]) -> pd.DataFrame:
    """A row a claim, with the columns of card.csv."""
    rows = [[getattr(claim, name) for name in COLUMNS] for claim in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def from_fit(begun: CardEstimate, found: Estimate, n: int, values: Mapping[str, float] | None = None) -> CardEstimate:
    """The claim with an estimate of the law; an interval without end has a reason."""
    value, _, low, high = found
    if not math.isfinite(value):
        return replace(begun, n=n, reason="no detectable pull, so its target level is unknown")
    return replace(begun, estimate=value, low=low, high=high, n=n, values=values or {})


def mean_estimate(begun: CardEstimate, values: Sequence[float] | Floats | pd.Series) -> CardEstimate:
    """The claim with the mean of one number a unit and Student's interval, or the reason why there is none: too few units, or no
    variation. Units without a number are left out; a series by block is kept as the claim's `values`.
    """
    found = values if isinstance(values, pd.Series) else pd.Series(values, dtype=float)
    finite = found[np.isfinite(found.astype(float))]
    known = finite.to_numpy(dtype=float)
    if not len(known):
        return replace(begun, reason=begun.reason or "nothing that could be read")
    low, high = mean_interval(known)
    kept = dict(zip(finite.index, map(float, known), strict=True)) if finite.index.name == BLOCK else {}
    reason = why_no_interval(known, begun.unit)
    return replace(begun, estimate=float(known.mean()), low=low, high=high, n=len(known), values=kept, reason=reason)


def jackknife(begun: CardEstimate, rows: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> CardEstimate:
    """A statistic of rows, one a block, by leaving out one: mean and Student's interval of the pseudo-values (Tukey 1958)."""
    size = len(rows)
    if size < 2:
        return replace(begun, n=size, reason=too_few(begun.unit))
    whole = statistic(rows)
    pseudo = [size * whole - (size - 1) * statistic(rows.drop(index=one)) for one in rows.index]
    return mean_estimate(begun, pd.Series(pseudo, rows.index.rename(BLOCK)))


def paired_difference(first: CardEstimate, other: CardEstimate) -> CardEstimate:
    """The other less the first: within blocks where both have a number a block, else as if the two were independent."""
    begun = replace(other, estimate=NAN, low=NAN, high=NAN, null=NAN, instrument=NAN, values={}, reason="")
    if not (first.known and other.known):
        return replace(begun, n=0, reason="one of them has no estimate")
    ours, theirs = (pd.Series(one.values, dtype=float) for one in (first, other))
    within = (theirs - ours).dropna().rename_axis(BLOCK)
    if len(within) > 1:
        return mean_estimate(begun, within)
    return replace(difference(begun, other, first), n=0)


def difference(begun: CardEstimate, ours: CardEstimate, theirs: CardEstimate) -> CardEstimate:
    """Ours less theirs, of independent samples: each end lies off by the root of the squares of the two distances there (Zou and
    Donner 2008). An end that one of them has not got is infinite.
    """
    value = ours.estimate - theirs.estimate
    low = value - math.hypot(ours.estimate - ours.low, theirs.high - theirs.estimate)
    high = value + math.hypot(ours.high - ours.estimate, theirs.estimate - theirs.low)
    reason = "one of them has no interval" if math.isnan(low) or math.isnan(high) else ""
    return replace(begun, estimate=value, low=low, high=high, reason=reason)


def proportion(begun: CardEstimate, happened: pd.Series, who: pd.Series) -> CardEstimate:
    """The claim with the share of answers in which something happened; its interval is over agents (`who`), since the answers of
    one agent are no independent ones.
    """
    if happened.empty:
        return replace(begun, reason="nothing was asked")
    hits, sizes = happened.astype(float).groupby(who.to_numpy()).agg(["sum", "size"]).to_numpy(dtype=float).T
    low, high = clustered_share_interval(hits, sizes)
    reason = "" if math.isfinite(low) else too_few("agent")
    return replace(begun, estimate=float(happened.mean()), low=low, high=high, n=len(happened), reason=reason)


def is_possible(claim: CardEstimate) -> CardEstimate:
    """The claim on a share with ends that a share can have, from 0 to 1."""
    return replace(claim, low=float(np.clip(claim.low, 0, 1)), high=float(np.clip(claim.high, 0, 1)))


def agents(rows: pd.DataFrame) -> pd.Series:
    """Of which persona each row is: names tell those of a party apart."""
    return rows["party"].astype(str) + " " + rows["name"].astype(str)


def simultaneous(claims: Sequence[CardEstimate]) -> list[CardEstimate]:
    """Claims with Student's intervals so much wider that all of them hold at once in 95% (Bonferroni), for a verdict topic by
    topic.
    """
    return [_widened(one, 0.05 / len(claims)) for one in claims]


def _widened(claim: CardEstimate, missed: float) -> CardEstimate:
    if not math.isfinite(claim.width) or claim.n < 2:
        return claim
    ratio = float(stdtrit(claim.n - 1, 1 - missed / 2) / stdtrit(claim.n - 1, 0.975))
    ends = [claim.estimate + ratio * (end - claim.estimate) for end in (claim.low, claim.high)]
    return replace(claim, low=ends[0], high=ends[1])


def find_estimate(claims: Iterable[CardEstimate], quantity: str, topic: str = ALL) -> CardEstimate | None:
    """The claim on a quantity, where there is one with an estimate."""
    return next((one for one in claims if (one.quantity, one.topic) == (quantity, topic) and one.known), None)
