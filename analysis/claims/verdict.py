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

SIGNS = {"greater": "above 0", "less": "below 0"}


def verdict(claim: Claim, curve: Curve, table: pd.DataFrame, together: Share) -> str:
    """Return the sentence. table: `dependence_table`. together: the share of all settings that mean the same."""
    return f"{whether(claim, curve)} {depends(table, together)}"


def unknown_reason(claim: Claim, curve: Curve) -> str:
    """Return why nothing can be said of a claim; empty if something can."""
    measured = int(curve.effects["debates"].sum()) if len(curve.effects) else 0
    if len(curve.units) < FEWEST_UNITS:
        return few_people(len(curve.units))
    if curve.missing > MOST_MISSING * (measured + curve.missing):
        return f"{curve.missing} of {measured + curve.missing} differences are missing"
    if np.ptp(curve.effects["effect"]) == 0 and curve.median == 0:
        return "both arms are equal in every specification"
    return ""


def few_people(groups: int) -> str:
    """Return that there are too few groups of people, and what to do."""
    more = "give more --repetitions, or name more or larger sets of personas if the same people sit again"
    return f"{count_phrase(groups, 'different group')} of people, and {FEWEST_UNITS} are needed: {more}"


def whether(claim: Claim, curve: Curve) -> str:
    """Return whether a claim holds, with the numbers for it."""
    if why := unknown_reason(claim, curve):
        return f"Whether the claim holds is unknown: {why}."
    count, size = round(curve.share * len(curve.effects)), len(curve.effects)
    if claim.expected == "equivalent":
        return _whether_equivalent(claim, curve, count, size)
    numbers = f"{_median(curve)} {SIGNS[claim.expected]} in {count} of {size} specifications"
    sizeable = int(_at_least(claim, curve.effects["effect"].to_numpy(dtype=float)).sum())
    bound, side = (-claim.smallest, "less") if claim.expected == "less" else (claim.smallest, "more")
    enough = f"in {sizeable} it is {format_number(bound)} or {side}, the smallest effect of interest"
    found = f"{numbers} (p {format_p(curve.p)}, swapped arms); {enough}."
    if curve.p < ALPHA and (average := smaller(claim, curve)):
        return (
            "The direction of the claim holds here, but the effect is smaller than the smallest effect of interest "
            f"({average}): {found}"
        )
    if curve.p < ALPHA:
        return f"The claim holds here: {found}"
    if curve.p_other < ALPHA:
        return (
            f"The claim does not hold: {numbers} (the other direction has p {format_p(curve.p_other)}, swapped arms)."
        )
    return f"Whether the claim holds is unknown: {numbers}, which swapped arms also give (p {format_p(curve.p)})."


def smaller(claim: Claim, curve: Curve) -> str:
    """Return the interval of the average effect over groups of people if it is below the smallest effect of interest; else ""."""
    low, high = mean_interval(curve.units["effect"].to_numpy(dtype=float))
    return f"on average {format_span(low, high)} over groups of people" if claim.too_small(low, high) else ""


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


def _at_least(claim: Claim, effects: np.ndarray) -> np.ndarray:
    side = -1.0 if claim.expected == "less" else 1.0
    return np.asarray(side * effects >= claim.smallest)


def depends(table: pd.DataFrame, together: Share) -> str:
    """Return on which settings a claim depends, and the share of all of them."""
    settings = count_phrase(len(table), "setting")
    if together.reason and together.reason != "all differences are equal":
        return f"On which of the {settings} that mean the same the effect depends is unknown: {together.reason}."
    span = f"{_percent(together.low)} to {_percent(together.high)}"
    share = f"{_percent(together.share)} ({span}) of the variance between single differences"
    found = table[table["p_holm"] < ALPHA]
    if len(found):
        named = join_phrases([f"{row['setting']} ({_means(row['means'])})" for row in found.to_dict("records")])
        return f"The effect depends on {named}; all {settings} that mean the same account for {share}."
    if together.reason:
        return f"The effect does not depend on the {settings} that mean the same: all differences are equal."
    if together.p < ALPHA:
        return f"The effect depends on the {settings} that mean the same, which account for {share}; on which of them is unknown."
    return f"No dependence on the {settings} that mean the same was found: they account for {share}."


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
