"""How far raters agree on categories, beyond chance: Cohen's kappa and Gwet's AC1 for two, Krippendorff's alpha for any number,
with gaps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from statsmodels.stats.inter_rater import cohens_kappa

from parley.analysis.alignment.persona_validation import RANDOM
from parley.analysis.bootstrap import FEWEST, NONE, Floats, interval

COLUMNS = ["sample", "raters", "measure", "items", "agreed", "value", "low", "high"]


class AgreementEstimate(NamedTuple):
    """A coefficient with its 95% interval; NaN where it is undefined (nobody to compare, or only one category used)."""

    value: float
    low: float
    high: float


WIDTHLESS = 1e-6
"""A standard error below this is the rounding of one that is 0."""
UNDEFINED = AgreementEstimate(math.nan, math.nan, math.nan)


def rater_agreement(ratings: pd.DataFrame) -> pd.DataFrame:
    """Kappa and AC1 of every two raters and alpha of all of them and of the people alone, over all that was reviewed and over the
    random part. ratings: see review.ratings. items: with at least two raters; agreed: the share of them on which these agree.
    """
    raters = [name for name in ratings.columns if name != "review"]
    samples = {"all reviewed": ratings, "random tenth": ratings[ratings["review"] == RANDOM]}
    rows = [{"sample": sample, **row} for sample, part in samples.items() for row in _rows(part[raters])]
    return pd.DataFrame(rows, columns=COLUMNS)


def _rows(ratings: pd.DataFrame) -> Iterator[dict[str, Any]]:
    names = list(ratings.columns)
    for pair in combinations(names, 2):
        yield _row(ratings[list(pair)], "Cohen's kappa", kappa(ratings[list(pair)]))
        yield _row(ratings[list(pair)], "Gwet's AC1", ac1(ratings[list(pair)]))
    for group in dict.fromkeys([tuple(names), tuple(names[1:])]):
        if len(group) > 1:
            yield _row(ratings[list(group)], "Krippendorff's alpha", alpha(ratings[list(group)]))


def _row(part: pd.DataFrame, measure: str, found: AgreementEstimate) -> dict[str, Any]:
    rated = part[(part != "").sum(axis=1) > 1]
    same = rated.apply(lambda row: len(set(row) - {""}) == 1, axis=1) if len(rated) else pd.Series(dtype=bool)
    agreed = float(same.mean()) if len(rated) else math.nan
    told = {"raters": ", ".join(part.columns), "measure": measure, "items": len(rated), "agreed": agreed}
    return told | found._asdict()


def kappa(ratings: pd.DataFrame) -> AgreementEstimate:
    """Cohen's kappa of two columns, by statsmodels, with its asymptotic interval; items that one of them left empty stay out.

    No interval over fewer than `FEWEST` items, and none where the formula gives it no width: perfect agreement, or a rater with
    one word for everything.
    """
    both = ratings[(ratings != "").all(axis=1)]
    categories = sorted(set(both.to_numpy().ravel()))
    if len(categories) < 2:
        return UNDEFINED
    table = pd.crosstab(both.iloc[:, 0], both.iloc[:, 1]).reindex(index=categories, columns=categories, fill_value=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = cohens_kappa(table.to_numpy())
    sure = len(both) >= FEWEST and found.std_kappa > WIDTHLESS
    return AgreementEstimate(float(found.kappa), *map(float, (found.kappa_low, found.kappa_upp) if sure else NONE))


def ac1(ratings: pd.DataFrame) -> AgreementEstimate:
    """Gwet's AC1 of two columns of a verdict with two categories or more; items that one of them left empty stay out.

    (agreed - chance) / (1 - chance), where chance is the sum of p (1 - p) over categories, divided by one less than there are;
    p: the share of a category in both columns together. Unlike kappa it does not fall where one category is rare.
    Source: Gwet 2008, British Journal of Mathematical and Statistical Psychology 61(1).
    """
    both = ratings[(ratings != "").all(axis=1)].to_numpy()
    categories = sorted(set(both.ravel()))
    if not len(both):
        return UNDEFINED
    agreed = (both[:, 0] == both[:, 1]).astype(float)
    items = np.column_stack([agreed, *((both == one).mean(axis=1) for one in categories)])
    low, high = interval(items, _ac1)
    return AgreementEstimate(float(_ac1(items[None])[0]), low, high)


def _ac1(drawn: Floats) -> Floats:
    """From (draws, items, 1 + k): whether the two agree, and the share of each category."""
    means = drawn.mean(axis=-2)
    agreed, shares = means[..., 0], means[..., 1:]
    chance = (shares * (1 - shares)).sum(axis=-1) / max(shares.shape[-1] - 1, 1)
    return np.asarray((agreed - chance) / (1 - chance))


def alpha(ratings: pd.DataFrame) -> AgreementEstimate:
    """Krippendorff's alpha for nominal categories, a column a rater, empty: no rating; the interval is over items.

    1 is agreement, 0 chance, below 0 worse than chance. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability,
    section C: coincidences of pairs of ratings of an item, each item weighing as much as it has ratings.
    """
    categories = sorted(set(ratings.to_numpy().ravel()) - {""})
    if len(categories) < 2:
        return UNDEFINED
    counts = np.array([[list(row).count(one) for one in categories] for row in ratings.to_numpy()], dtype=float)
    items = _coincidences(counts[counts.sum(axis=1) > 1])
    low, high = interval(items, lambda drawn: nominal(drawn.sum(axis=-2)))
    return AgreementEstimate(float(nominal(items.sum(axis=0))), low, high)


def _coincidences(counts: Floats) -> Floats:
    """(items, k) ratings by category -> (items, 1 + k): agreeing pairs, then ratings by category, as the formula weighs them."""
    raters = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (raters - 1)
    return np.column_stack([agreeing, counts])


def nominal(sums: Floats) -> Floats:
    """Alpha from (..., 1 + k) sums over items: ((n - 1) agreeing - sum of n_c (n_c - 1)) / (n (n - 1) - sum of n_c (n_c - 1))."""
    agreeing, by = sums[..., 0], sums[..., 1:]
    n, chance = by.sum(axis=-1), (by * (by - 1)).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((n - 1) * agreeing - chance) / (n * (n - 1) - chance))


def confusion_counts(ratings: pd.DataFrame, human: str, verdicts: Sequence[str]) -> pd.DataFrame:
    """How many items the judge (rows) and a person (columns) put where; items without one of both stay out."""
    both = ratings[(ratings["judge"] != "") & (ratings[human] != "")]
    found = pd.crosstab(both["judge"], both[human]) if len(both) else pd.DataFrame(dtype="int64")
    return found.reindex(index=list(verdicts), columns=list(verdicts), fill_value=0)
