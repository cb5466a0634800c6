"""The estimates of a card: one for each quantity and topic, with its interval or why it has none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.influence_model import Estimate
from parley.analysis.statistics import intervals
from parley.analysis.statistics.intervals import Floats

ALL = "all"
"""In place of a topic: all topics together."""
BLOCK, WORDING, RATING = "block", "wording", "rating"
"""Units: the same agents in every condition; a wording of the question; a rating."""
NAN = math.nan
NOT_RUN = "not run"


@dataclass(frozen=True)
class CardEstimate:
    """An estimate with its 95% interval over `n` units, or the `reason` why it is missing (NaN).

    null: the value in the null condition, which is already subtracted. instrument: error of the reading itself, in the same
    measure (NaN: it cancels, or is unknown). values: one number per block whose mean is the estimate (for fits and ratios
    jackknife pseudo-values); two cards are paired by these. section: filled in by `card_estimates`.
    """

    quantity: str
    topic: str = ALL
    estimate: float = NAN
    low: float = NAN
    high: float = NAN
    null: float = NAN
    n: int = 0
    unit: str = BLOCK
    reason: str = ""
    instrument: float = NAN
    values: Mapping[str, float] = field(default_factory=dict)
    section: str = ""

    @property
    def known(self) -> bool:
        return math.isfinite(self.estimate)

    @property
    def width(self) -> float:
        """Half the interval; infinite where an end is missing, 0 where nothing varied."""
        if self.reason == intervals.NO_VARIATION:
            return 0.0
        return (self.high - self.low) / 2 if math.isfinite(self.high - self.low) else math.inf


COLUMNS = ("section", *(column.name for column in fields(CardEstimate) if column.name not in ("section", "values")))


def estimate_table(claims: Iterable[CardEstimate]) -> pd.DataFrame:
    """One row per estimate, with the columns of card.csv."""
    rows = [[getattr(claim, name) for name in COLUMNS] for claim in claims]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def from_fit(claim: CardEstimate, fit: Estimate, n: int, values: Mapping[str, float] | None = None) -> CardEstimate:
    """The claim with an estimate of the influence model; where nothing varied it is exact, and the reason says so."""
    reason = intervals.NO_VARIATION if abs(fit.high - fit.low) <= intervals.ALIKE else ""
    value, low, high = (0.0 if abs(number) <= intervals.ALIKE else number for number in (fit.value, fit.low, fit.high))
    return replace(claim, estimate=value, low=low, high=high, n=n, reason=reason, values=values or {})


def mean_estimate(
    claim: CardEstimate, values: Sequence[float] | Floats | pd.Series, bounds: intervals.Ends | None = None
) -> CardEstimate:
    """The claim with the mean of one number per unit and Student's interval, or the reason why there is none.

    bounds: of the quantity, as in `mean_interval`. Units without a number are left out. The numbers of a series by block are
    kept as the claim's `values`.
    """
    series = values if isinstance(values, pd.Series) else pd.Series(values, dtype=float)
    finite = series[np.isfinite(series.astype(float))]
    readable = finite.to_numpy(dtype=float)
    if not len(readable):
        return replace(claim, reason=claim.reason or "no answer could be read")
    low, high = intervals.mean_interval(readable, bounds=bounds)
    by_block = dict(zip(finite.index, map(float, readable), strict=True)) if finite.index.name == BLOCK else {}
    reason = intervals.why_no_interval(readable, claim.unit)
    return replace(
        claim, estimate=float(readable.mean()), low=low, high=high, n=len(readable), values=by_block, reason=reason
    )


def jackknife(claim: CardEstimate, rows: pd.DataFrame, statistic: Callable[[pd.DataFrame], float]) -> CardEstimate:
    """The claim with a statistic of rows, one per block: mean and Student's interval of its pseudo-values (Tukey 1958)."""
    size = len(rows)
    if size < 2:
        return replace(claim, n=size, reason=intervals.too_few(claim.unit))
    whole = statistic(rows)
    pseudo = [size * whole - (size - 1) * statistic(rows.drop(index=block)) for block in rows.index]
    return mean_estimate(claim, pd.Series(pseudo, rows.index.rename(BLOCK)))


def paired_difference(first: CardEstimate, other: CardEstimate) -> CardEstimate:
    """Other minus first: within blocks where both have a number per block, else as independent samples (n = 0)."""
    claim = CardEstimate(other.quantity, other.topic, n=other.n, unit=other.unit, section=other.section)
    if not (first.known and other.known):
        return replace(claim, n=0, reason="one of the two numbers compared has no estimate")
    ours, theirs = (pd.Series(each.values, dtype=float) for each in (first, other))
    within = (theirs - ours).dropna().rename_axis(BLOCK)
    if len(within) > 1:
        return mean_estimate(claim, within)
    return replace(difference(claim, other, first), n=0)


def difference(claim: CardEstimate, ours: CardEstimate, theirs: CardEstimate) -> CardEstimate:
    """Ours minus theirs, of independent samples.

    Each end is as far off as the root of the sum of the squares of the two distances there (Zou and Donner 2008); an end that
    one of the two lacks is infinite.
    """
    value = ours.estimate - theirs.estimate
    low = value - math.hypot(ours.estimate - ours.low, theirs.high - theirs.estimate)
    high = value + math.hypot(ours.high - ours.estimate, theirs.estimate - theirs.low)
    reason = "one of the two numbers compared has no interval" if math.isnan(low) or math.isnan(high) else ""
    return replace(claim, estimate=value, low=low, high=high, reason=reason)


def proportion(claim: CardEstimate, happened: pd.Series, agent: pd.Series) -> CardEstimate:
    """The claim with the share of answers in which something happened.

    The interval is over agents, because the answers of one agent are not independent.
    """
    if happened.empty:
        return replace(claim, reason="nothing was asked")
    hits, sizes = happened.astype(float).groupby(agent.to_numpy()).agg(["sum", "size"]).to_numpy(dtype=float).T
    low, high = intervals.clustered_share_interval(hits, sizes)
    reason = "" if math.isfinite(low) else intervals.why_few(len(sizes), "agent", sizes)
    return replace(claim, estimate=float(happened.mean()), low=low, high=high, n=len(happened), reason=reason)


def is_possible(claim: CardEstimate) -> CardEstimate:
    """The claim on a share, with its interval cut off at 0 and 1."""
    return replace(claim, low=float(np.clip(claim.low, 0, 1)), high=float(np.clip(claim.high, 0, 1)))


def agents(rows: pd.DataFrame) -> pd.Series:
    """The persona of each row: party and name."""
    return rows["party"].astype(str) + " " + rows["name"].astype(str)


def simultaneous(claims: Sequence[CardEstimate]) -> list[CardEstimate]:
    """The claims with intervals so wide that 95% of the time all of them hold at once (Bonferroni)."""
    return [_widened(claim, 0.05 / len(claims)) for claim in claims]


def _widened(claim: CardEstimate, missed: float) -> CardEstimate:
    if not math.isfinite(claim.width) or claim.n < 2:
        return claim
    ratio = float(stdtrit(claim.n - 1, 1 - missed / 2) / stdtrit(claim.n - 1, 0.975))
    low, high = (claim.estimate + ratio * (end - claim.estimate) for end in (claim.low, claim.high))
    return replace(claim, low=low, high=high)


def find_estimate(claims: Iterable[CardEstimate], quantity: str, topic: str = ALL) -> CardEstimate | None:
    """The claim on a quantity; None where it is missing or has no estimate."""
    return next((claim for claim in claims if (claim.quantity, claim.topic) == (quantity, topic) and claim.known), None)
