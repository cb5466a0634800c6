"""What an audit says of a claim in one sentence: whether it holds, in how many specifications, and on what it depends."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import mean_interval
from parley.analysis.claims.claim import Claim
from parley.analysis.claims.curve import (
    ALPHA,
    FEWEST_TOPICS,
    FEWEST_UNITS,
    MOST_MISSING,
    Curve,
    equivalence_p,
    topic_effects,
)
from parley.analysis.claims.variance import Share
from parley.analysis.formatting import count_phrase, format_number, format_p, format_span, join_phrases

EXPECTED = {"greater": "above 0", "less": "below 0", "equivalent": "near 0"}
"""Where the effect should be, by what a claim expects."""


def verdict(claim: Claim, curve: Curve, table: pd.DataFrame, together: Share) -> str:
    """Return the sentence. table: `dependence_table`. together: the share of all settings that should not matter."""
    return f"{whether(claim, curve)} {depends(table, together)}"


def unevenly_missing(lost: pd.DataFrame) -> str:
    """Return at which settings differences are missing more often at one level than at another; "" without such settings.

    lost: `dependence_table` of whether a difference is missing.
    """
    found = lost[lost["p_holm"] < ALPHA]
    if found.empty:
        return ""
    listed = [
        f"{row['setting']} ({', '.join(f'{_percent(share)} with {level}' for level, share in row['means'].items())})"
        for row in found.to_dict("records")
    ]
    return (
        f"Differences are missing at some levels more often than at others: {join_phrases(listed)}. The units that are left "
        "there may be others, so what is said of these settings is unsure; to leave a setting out, set one level of it in "
        "the claim."
    )


def unknown_reason(claim: Claim, curve: Curve) -> str:
    """Return why nothing can be said of a claim; empty if something can."""
    if curve.missing > MOST_MISSING * (curve.measured + curve.missing):
        return f"{curve.missing:,} of {curve.measured + curve.missing:,} differences are missing"
    if len(curve.units) < FEWEST_UNITS:
        return few_people(len(curve.units))
    if np.ptp(curve.effects["effect"]) == 0 and curve.median == 0:
        return "both arms are equal in every specification, so what differs between them may not reach the model"
    return ""


def few_people(groups: int) -> str:
    """Return that there are too few groups of people, and what to do."""
    more = "give more --repetitions, or name a larger set of personas if groups share people"
    return f"{count_phrase(groups, 'separate group')} of people, and {FEWEST_UNITS} are needed: {more}"


def whether(claim: Claim, curve: Curve) -> str:
    """Return whether a claim holds, with the numbers for it."""
    if why := unknown_reason(claim, curve):
        return f"Whether the claim holds is unknown: {why}."
    count, size = round(curve.share * len(curve.effects)), len(curve.effects)
    if claim.expected == "equivalent":
        return _whether_equivalent(claim, curve, count, size)
    numbers = f"{_median(curve)} {EXPECTED[claim.expected]} in {count} of {size} specifications"
    if curve.p < ALPHA:
        return (
            f"{_size(claim, curve)} {numbers[0].upper()}{numbers[1:]} (one-sided p {format_p(curve.p)}, swapped arms)."
        )
    if curve.p_other < ALPHA:
        return (
            f"The claim does not hold: {numbers} (the other direction has p {format_p(curve.p_other)}, swapped arms)."
        )
    return f"Whether the claim holds is unknown: {numbers}, which swapped arms also give (p {format_p(curve.p)})."


def _size(claim: Claim, curve: Curve) -> str:
    """Return whether a claim whose direction is shown holds, by the average effect and the smallest effect of interest."""
    low, high = mean_interval(curve.units["effect"].to_numpy(dtype=float))
    bound = format_number(-claim.smallest if claim.expected == "less" else claim.smallest)
    average = f"on average {format_span(low, high)}, 95% interval over groups of people"
    reached = f"the effect {{}} {bound}, the smallest of interest ({average})."
    if claim.too_small(low, high):
        return f"The direction of the claim holds here, but {reached.format('does not reach')}"
    if claim.large_enough(low, high):
        return f"The claim holds here: {reached.format('reaches')}"
    return f"The direction of the claim holds here; it is unknown whether {reached.format('reaches')}"


def _whether_equivalent(claim: Claim, curve: Curve, count: int, size: int) -> str:
    p, bound = equivalence_p(claim, curve), format_number(claim.smallest)
    numbers = f"{_median(curve)} within {bound} of 0 in {count} of {size} specifications"
    low, high = mean_interval(curve.units["effect"].to_numpy(dtype=float))
    if p < ALPHA:
        return f"The claim holds here: {numbers} (p {format_p(p)}, equivalence test over groups of people)."
    if low > claim.smallest or high < -claim.smallest:
        return f"The claim does not hold: {numbers}, and the average effect is {format_span(low, high)}."
    return f"Whether the claim holds is unknown: {numbers}, and the average effect may be beyond {bound} (p {format_p(p)})."


def _median(curve: Curve) -> str:
    return f"the median effect is {format_number(curve.median)}, and the effect is"


def depends(table: pd.DataFrame, together: Share) -> str:
    """Return on which settings a claim depends, and the share of all of them."""
    settings = count_phrase(len(table), "setting")
    if together.reason and together.reason != "all differences are equal":
        return f"On which of the {settings} that should not matter the effect depends is unknown: {together.reason}."
    span = f"{_percent(together.low)} to {_percent(together.high)}"
    share = f"{_percent(together.share)} ({span}) of the variance between single differences"
    found = table[table["p_holm"] < ALPHA]
    if len(found):
        named = join_phrases([f"{row['setting']} ({_means(row['means'])})" for row in found.to_dict("records")])
        return f"The effect depends on {named}; all {settings} that should not matter account for {share}."
    if together.reason:
        return f"The effect does not depend on the {settings} that should not matter: all differences are equal."
    if together.p < ALPHA:
        all_of_them = f"The effect depends on the {settings} that should not matter, which account for {share}"
        return f"{all_of_them}; on which of them is unknown."
    return f"No dependence on the {settings} that should not matter was found: they account for {share}."


def at_the_start(differences: pd.DataFrame, low: float, high: float) -> str:
    """Return how large the effect was at the first survey already; "" where the outcome has no first survey.

    low, high: the 95% interval of the mean difference of the two (`start_gap`).
    """
    both = differences.dropna(subset=["difference", "start_first", "start_second"])
    if both.empty:
        return ""
    means = {name: float(both[name].mean()) for name in ("start_first", "first", "start_second", "second")}
    first, end_first, second, end_second = map(format_number, means.values())
    start, end = means["start_first"] - means["start_second"], means["first"] - means["second"]
    told = (
        f"The outcome went from {first} at the first survey to {end_first} in the first arm, and from {second} to "
        f"{end_second} in the second. So the difference was {format_number(start)} before the debate, and is "
        f"{format_number(end)} after it"
    )
    if math.isnan(low):
        return f"{told}. Whether the debate changed it is unknown."
    change = f"{format_number(end - start)} ({format_span(low, high)}, 95% interval over groups of people)"
    if low <= 0 <= high:
        return f"{told}. It is not shown that the debate changed it: {change}."
    return f"{told}. The debate changed it by {change}."


def generality(claim: Claim, differences: pd.DataFrame) -> Iterator[str]:
    """Yield what can be said beyond the topics and models of the audit."""
    topics = topic_effects(differences)
    if len(topics) < FEWEST_TOPICS:
        few = f"{count_phrase(len(topics), 'topic')}, and {FEWEST_TOPICS} are needed"
        yield f"Whether it holds for other topics is unknown: {few}."
    else:
        values = topics["effect"].to_numpy(dtype=float)
        low, high = mean_interval(values)
        if math.isnan(low):
            yield "Whether it holds for other topics is unknown: the effect is the same for all of these topics."
        elif claim.favours(low) and claim.favours(high):
            mean = format_number(float(values.mean()))
            yield f"For topics like these it holds on average: {mean} ({format_span(low, high)}, over topics)."
        else:
            yield f"Whether it holds for topics like these on average is unknown: {format_span(low, high)} over topics."
    models = len(claim.population.models)
    if models < FEWEST_TOPICS:
        yield f"Whether it holds for other models is unknown: {count_phrase(models, 'model')}, and {FEWEST_TOPICS} are needed."


def _means(means: dict[str, float]) -> str:
    return ", ".join(f"{format_number(value)} with {level}" for level, value in means.items())


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"
