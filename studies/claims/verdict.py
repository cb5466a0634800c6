"""What an audit says of a claim in one sentence: whether it holds, in how many specifications, and on what it depends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import skew

from parley.analysis.formatting import count_phrase, format_number, format_p, format_span
from parley.analysis.statistics.intervals import is_even, mean_interval
from parley.analysis.unknown import unknown_sentence
from parley.llm.backends import identity_spec
from parley.model.titles import join_phrases
from parley.studies.claims.claim import Claim
from parley.studies.claims.curve import ALPHA, FEWEST_UNITS, MOST_MISSING, Curve, equivalence_p
from parley.studies.claims.variance import Share

EXPECTED = {"greater": "above 0", "less": "below 0", "equivalent": "near 0"}
"""Where the effect should be, by what a claim expects."""
MOST = 0.5
"""A claim that is true of no more than this share of the specifications holds on average only: specifications may cancel out."""

MOST_SKEWED, AGREED, FEWEST_TO_SEE = 0.75, 0.95, 12
"""Swapped arms suppose that effects of groups are not skewed. If their long tail is opposite to a direction and their skewness is
above the first, the direction needs this share of groups on its side. With fewer groups than the last, skewness is hardly seen.
studies/claims/README.md has the rates.
"""


def verdict(claim: Claim, curve: Curve, table: pd.DataFrame, together: Share) -> str:
    """Return the sentence. table: `dependence_table`. together: the share of all settings that should not matter."""
    return f"{whether(claim, curve)} {depends(table, together)}"


def withheld(models: Sequence[str]) -> str:
    """Return the sentence in place of the verdict where these models were checked, and do not play people."""
    named = join_phrases([identity_spec(spec) for spec in models])
    return (
        f"Parley does not say whether the claim holds, because it was not shown that the ratings of {named} depend on who the "
        "model plays (docs/models.md). The tables of the report have all numbers."
    )


def unknown_reason(curve: Curve) -> str:
    """Return why nothing can be said of a claim; empty if something can."""
    if curve.missing > MOST_MISSING * (curve.measured + curve.missing):
        return f"{curve.missing:,} of {curve.measured + curve.missing:,} differences are missing"
    if len(curve.units) < FEWEST_UNITS:
        return few_people(len(curve.units))
    if np.ptp(curve.effects["effect"]) == 0 and curve.median == 0:
        return "both conditions are equal in every specification, so their setting may not reach the model"
    return ""


def few_people(groups: int) -> str:
    """Return that there are too few groups of people, and what to do."""
    more = "give more --repetitions, or name a larger set of personas if groups share people"
    return (
        f"there are {count_phrase(groups, 'separate group')} of people, but at least {FEWEST_UNITS} are needed ({more})"
    )


def whether(claim: Claim, curve: Curve) -> str:
    """Return whether a claim holds, with the numbers for it."""
    if why := unknown_reason(curve):
        return unknown_sentence("whether the claim holds", why)
    count, size = round(curve.share * len(curve.effects)), len(curve.effects)
    if claim.expected == "equivalent":
        return _whether_equivalent(claim, curve, count, size)
    numbers = f"{_median(curve)} {EXPECTED[claim.expected]} in {count} of {size} specifications"
    limit = (
        ""
        if len(curve.units) >= FEWEST_TO_SEE
        else ", if effects of groups are not skewed, which so few groups hardly show"
    )
    for p, side in ((curve.p, 1), (curve.p_other, -1)):
        if p < ALPHA and (tail := against(claim, curve, side)) > MOST_SKEWED:
            return (
                f"It is unknown whether the claim holds, because {numbers}, but a few groups of people have far larger "
                f"effects to the opposite side (skewness {format_number(tail)}), and then a permutation test (p "
                f"{format_p(p)}) finds a direction too often."
            )
    if curve.p < ALPHA:
        return f"{_size(claim, curve)} {numbers[0].upper()}{numbers[1:]} (one-sided permutation p {format_p(curve.p)}{limit})."
    if curve.p_other < ALPHA:
        return f"The claim does not hold: {numbers} (permutation p of the opposite direction {format_p(curve.p_other)}{limit})."
    return (
        f"It is unknown whether the claim holds, because {numbers}, which chance also gives (permutation p "
        f"{format_p(curve.p)})."
    )


def against(claim: Claim, curve: Curve, side: int) -> float:
    """Return the skewness of the effects of groups, positive if their long tail is opposite to a direction.

    0 where the tail says nothing: all effects are alike, or nearly all groups are on the side of the direction. side: 1 for the
    direction that the claim expects, -1 for the other.
    """
    effects = curve.units["effect"].to_numpy(dtype=float) * side * (-1 if claim.expected == "less" else 1)
    return 0.0 if is_even(effects) or np.mean(effects > 0) >= AGREED else -float(skew(effects, bias=False))


def _size(claim: Claim, curve: Curve) -> str:
    """Return whether a claim whose direction is shown holds, by the average effect and the smallest effect of interest."""
    effects = curve.units["effect"].to_numpy(dtype=float)
    if is_even(effects):
        low = high = float(effects.mean())
        average = f"{format_number(low)} in every group of people"
    else:
        low, high = mean_interval(effects)
        average = f"on average {format_span(low, high)}, 95% interval over groups of people"
    bound = format_number(-claim.smallest if claim.expected == "less" else claim.smallest)
    reached = f"the effect {{}} {bound}, the smallest effect of interest ({average})."
    if claim.too_small(low, high):
        return f"The direction of the claim holds {_where(curve)}, but {reached.format('does not reach')}"
    if claim.large_enough(low, high):
        return f"The claim holds {_where(curve)}: {reached.format('reaches')}"
    return f"The direction of the claim holds {_where(curve)}; it is unknown whether {reached.format('reaches')}"


def _where(curve: Curve) -> str:
    return "here" if curve.share > MOST else "on average only"


def _whether_equivalent(claim: Claim, curve: Curve, count: int, size: int) -> str:
    p, bound = equivalence_p(claim, curve), format_number(claim.smallest)
    effects = curve.units["effect"].to_numpy(dtype=float)
    if is_even(effects):
        same = f"every group of people has the same effect ({format_number(effects[0])}), so there is no interval"
        return unknown_sentence("whether the claim holds", same)
    low, high = mean_interval(effects)
    interval = f"{format_span(low, high)}, 95% interval over groups of people"
    average = f"on average the effect is {format_number(effects.mean())} ({interval})"
    within = f"The effect of a specification is within {bound} of 0 in {count} of {size}"
    seen, test = f"{within}, with a median of {format_number(curve.median)}.", f"equivalence test p {format_p(p)}"
    if p < ALPHA:
        rest = " The effect is not 0, but smaller than the bound of the claim." if low > 0 or high < 0 else ""
        return f"The claim holds {_where(curve)}: {average}, within {bound} of 0 ({test}).{rest} {seen}"
    if low > claim.smallest or high < -claim.smallest:
        return f"The claim does not hold: {average}, beyond {bound}. {seen}"
    return f"It is unknown whether the claim holds, because {average}, which may be beyond {bound} ({test}). {seen}"


def _median(curve: Curve) -> str:
    return f"the median effect is {format_number(curve.median)}, and the effect is"


def depends(table: pd.DataFrame, together: Share) -> str:
    """Return on which settings a claim depends, and the share of all of them."""
    settings = count_phrase(len(table), "setting")
    if together.reason and together.reason != "all differences are equal":
        return unknown_sentence(
            f"on which of the {settings} that should not matter the effect depends", together.reason
        )
    span = f"{format_share(together.low)} to {format_share(together.high)}"
    share = f"{format_share(together.share)} ({span}) of the variance between single differences"
    significant = table[table["p_holm"] < ALPHA]
    if len(significant):
        significant_rows = significant.to_dict("records")
        named = join_phrases([f"{row['setting']} ({_means(row['means'])})" for row in significant_rows])
        unsure = [row["setting"] for row in significant_rows if not row.get("p_people", math.nan) < ALPHA]
        others = f" Whether {join_phrases(unsure)} matters for other people too is unknown." if unsure else ""
        where = "Among these people the effect" if unsure else "The effect"
        return f"{where} depends on {named}.{others} All {settings} that should not matter account for {share}."
    if together.reason:
        return f"The effect does not depend on the {settings} that should not matter: all differences are equal."
    if together.p < ALPHA:
        all_of_them = f"The effect depends on the {settings} that should not matter, which account for {share}"
        return f"{all_of_them}; on which of these settings the effect depends is unknown."
    return f"No dependence on the {settings} that should not matter was found: these settings account for {share}."


def _means(means: dict[str, float]) -> str:
    return ", ".join(f"{format_number(value)} with {level}" for level, value in means.items())


def format_share(value: float) -> str:
    """Return a share as whole percent."""
    return f"{100 * value:.0f}%"
