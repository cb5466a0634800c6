"""What goes with the sentence on a claim: what is missing, what was there before, and for what else it holds."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.formatting import count_phrase, format_number, format_span
from parley.analysis.statistics.intervals import mean_interval
from parley.analysis.unknown import unknown_sentence
from parley.model.titles import join_phrases
from parley.studies.claims.claim import Claim
from parley.studies.claims.curve import FEWEST_TOPICS, Curve, topic_effects
from parley.studies.claims.variance import ALPHA, RESIDUAL
from parley.studies.claims.verdict import format_share


def unevenly_missing(lost: pd.DataFrame) -> str:
    """Return at which settings differences are missing more often at one level than at another; "" without such settings.

    lost: `dependence_table` of whether a difference is missing.
    """
    uneven = lost[lost["p_holm"] < ALPHA]
    if uneven.empty:
        return ""
    listed = [
        f"{row['setting']} ({', '.join(f'{format_share(share)} with {level}' for level, share in row['means'].items())})"
        for row in uneven.to_dict("records")
    ]
    return (
        f"Differences are missing more often for some values of a setting: {join_phrases(listed)}. Results for these settings "
        "are uncertain. To leave a setting out, give the setting one value in the file of the claim."
    )


def about_bound(claim: Claim, differences: pd.DataFrame) -> Iterator[str]:
    """Yield what the bound of a claim of equivalence lets pass: single differences, and the movement of the debate."""
    if claim.expected != "equivalent":
        return
    measured, bound = differences.dropna(subset="difference"), format_number(claim.smallest)
    beyond = int((measured["difference"].abs() > claim.smallest).sum())
    yield f"Of single differences, {beyond:,} of {len(measured):,} are beyond {bound}; the claim is about their average."
    both = measured.dropna(subset=["start_first", "start_second"])
    moved = [abs(float((both[arm] - both[f"start_{arm}"]).mean())) for arm in ("first", "second")] if len(both) else []
    if moved and max(moved) < claim.smallest:
        yield (
            f"The bound of the claim is wide: on average the debate itself moved the outcome by {format_number(max(moved))} or "
            "less, so a condition in which opinions do not change could pass as well."
        )


def noise_left(parts: pd.DataFrame, curve: Curve) -> str:
    """Return how much of the variance no source explains, and how far effects of specifications lie apart; "" without them."""
    rest = parts[parts["source"] == RESIDUAL].to_dict("records")
    if not rest or curve.effects.empty:
        return ""
    (left,) = rest
    span = f"{format_share(left['posterior'])} ({format_share(left['low'])} to {format_share(left['high'])})"
    effects = curve.effects["effect"]
    return (
        f"Chance in single debates makes up {span} of the variance between differences. The effects of specifications go from "
        f"{format_number(effects.min())} to {format_number(effects.max())}."
    )


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
    moved = (
        f"On average the outcome went from {first} at the first survey to {end_first} in the first condition, and from "
        f"{second} to {end_second} in the second condition. So the conditions differed by {format_number(start)} before the "
        f"debate, and by {format_number(end)} after the debate"
    )
    if math.isnan(low):
        return f"{moved}. Whether the debate changed this difference is unknown."
    change = amount((end - start, low, high), HIGHER, "", of="over groups of people")
    if low <= 0 <= high:
        return f"{moved}. It is not shown that the debate changed this difference, which is {change}."
    return f"{moved}. After the debate this difference is {change}."


def generality(claim: Claim, differences: pd.DataFrame) -> Iterator[str]:
    """Yield what can be said beyond the topics and models of the audit."""
    topics = topic_effects(differences)
    if len(topics) < FEWEST_TOPICS:
        few = f"there are {count_phrase(len(topics), 'topic')}, and {FEWEST_TOPICS} are needed"
        yield unknown_sentence("whether the claim holds for other topics", few)
    else:
        values = topics["effect"].to_numpy(dtype=float)
        low, high = mean_interval(values)
        if math.isnan(low):
            yield unknown_sentence(
                "whether the claim holds for other topics", "the effect is the same for all topics of the audit"
            )
        elif claim.favours(low) and claim.favours(high):
            mean = format_number(float(values.mean()))
            yield (
                f"For similar topics the claim holds on average: the effect is {mean} ({format_span(low, high)}, over topics)."
            )
        else:
            yield (
                "It is unknown whether the claim holds on average for similar topics, because the 95% interval over topics is "
                f"{format_span(low, high)}."
            )
    models = count_phrase(len(claim.population.models), "model")
    yield (f"It is unknown whether the claim holds for other models, because the claim was tested on {models} only.")
