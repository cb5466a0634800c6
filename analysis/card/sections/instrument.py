"""How far off a reading may be: the same question in other words, in another order, and once more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from parley.agents.society import DEFAULT, SEATS
from parley.analysis.card.conditions import Batch, asked
from parley.analysis.card.estimates import RATING, WORDING, CardEstimate, find_estimate, mean_estimate
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import positive, spread
from parley.analysis.card.sections.bias import answers
from parley.analysis.formatting import format_number
from parley.analysis.statistics.intervals import ALIKE, NO_VARIATION, too_few
from parley.analysis.statistics.power import deviation_interval
from parley.model.scenario import Scenario

ORDER = 3
TITLE = "Measurement error of the questions"
NOTE = (
    "All numbers are from the answers before debates. A wording is a question with its answer scale. Effects of the "
    "order of answers are differences within an agent. *Asked again* is the spread of answers to the very same "
    "question. *Spread between agents* is near 0 if all agents of a party give one answer."
)
NEEDS = (asked,)
QUANTITIES = {
    "wording": Quantity("Default's answer: spread over wordings (SD)", "points"),
    "reversed": Quantity("answers listed downward minus upward", "points"),
    "shuffled": Quantity("answers listed shuffled minus upward", "points"),
    "conversation": Quantity("called a conversation minus called a debate", "points"),
    "retest": Quantity("Default's answer: spread when the same question is asked again (SD)", "points"),
    "first_people": Quantity("spread between {first} agents (SD)", "points"),
    "second_people": Quantity("spread between {second} agents (SD)", "points"),
}
WATCH = ("reversed",)


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    ratings = answers(study)
    default = ratings[ratings["party"] == DEFAULT]
    by_probe = default.groupby(["topic", "probe"], sort=False)["level"].mean()
    estimates = [
        positive(CardEstimate("wording", unit=WORDING), spread(by_probe.unstack("topic"))),
        deviation(CardEstimate("retest", unit=RATING), default.set_index(["topic", "probe", "way"])["attitude"]),
    ]
    for seat, party in zip(SEATS, base.society.debaters, strict=True):
        means = ratings[ratings["party"] == party].groupby(["topic", "block"], sort=False)["level"].mean()
        estimates.append(positive(CardEstimate(f"{seat}_people", unit="person"), spread(means.unstack("topic"))))
    people = ratings[ratings["party"] != DEFAULT]
    wide = people.groupby(["way", "block", "party", "topic", "probe"], sort=False)["level"].mean().unstack("way")
    for name in ("reversed", "shuffled", "conversation"):
        if (way := f"asked {name}") in wide:
            means = (wide[way] - wide["asked"]).groupby(level="block", sort=False).mean()
            estimates.append(mean_estimate(CardEstimate(name), means))
    return estimates


def deviation(claim: CardEstimate, values: pd.Series) -> CardEstimate:
    """The pooled standard deviation of values with the same index, with its interval (`deviation_interval`)."""
    present = values.dropna()
    cells = present.groupby(level=list(present.index.names), sort=False)
    freedom = len(present) - cells.ngroups
    if freedom < 1:
        return replace(claim, n=len(present), reason="no question has two answers of the same agent")
    residuals = (present - cells.transform("mean")).to_numpy(dtype=float)
    low, high = deviation_interval(residuals, freedom)
    estimate = math.sqrt(float((residuals**2).sum()) / freedom)
    reason = "" if low == low else NO_VARIATION if estimate <= ALIKE else too_few(claim.unit)
    return replace(claim, estimate=estimate, low=low, high=high, n=len(present), reason=reason)


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    wording, again = (find_estimate(claims, name) for name in ("wording", "retest"))
    if not (wording and again):
        return ""
    return (
        f"Between wordings of the question the Default's answer differs by {format_number(wording.estimate)} points (SD); "
        f"between answers to the very same question the Default's answer differs by {format_number(again.estimate)}."
    )
