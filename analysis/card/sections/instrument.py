"""How far off the reading itself may be: the same question in other words, in another order, and once more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd
from scipy import stats

from parley.analysis.card.conditions import DEFAULT, PARTIES, Batch, asked
from parley.analysis.card.estimates import ALL, RATING, WORDING, CardEstimate, find_estimate, mean_estimate
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import positive, spread
from parley.analysis.card.sections.bias import answers
from parley.analysis.formatting import format_number
from parley.model.scenario import Scenario

SECTION = "instrument"
ORDER = 3
TITLE = "Measurement error of the questions"
NOTE = (
    "All from the answers before debates. A wording is a question on its scale. Effects of the listing are differences within "
    "an agent. Asked again: the spread of answers to the very same question. Between agents: where all agents of a party "
    "answer with one voice it is near 0."
)
NEEDS = (asked,)
QUANTITIES = {
    "wording": Quantity("Default's answer: spread over wordings (SD)", "points"),
    "reversed": Quantity("answers listed downward minus upward", "points"),
    "shuffled": Quantity("answers listed shuffled minus upward", "points"),
    "conversation": Quantity("called a conversation minus called a debate", "points"),
    "retest": Quantity("Default's answer: spread when the same question is asked again (SD)", "points"),
    "republican_people": Quantity("spread between Republican agents (SD)", "points"),
    "democrat_people": Quantity("spread between Democrat agents (SD)", "points"),
}
WATCH = ("reversed",)
PLAIN = "asked"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    ratings = answers(held)
    return [*_spreads(ratings, base), *_orders(ratings)]


def _spreads(ratings: pd.DataFrame, base: Scenario) -> Iterator[CardEstimate]:
    own = ratings[ratings["party"] == DEFAULT]
    by_probe = own.groupby(["topic", "probe"], sort=False)["level"].mean()
    yield positive(CardEstimate(SECTION, "wording", ALL, unit=WORDING), spread(by_probe.unstack("topic")))
    again = own.set_index(["topic", "probe", "way"])["attitude"]
    yield deviation(CardEstimate(SECTION, "retest", ALL, unit=RATING), again)
    for party in PARTIES:
        people = ratings[ratings["party"] == party].groupby(["topic", "block"], sort=False)["level"].mean()
        yield positive(CardEstimate(SECTION, f"{party}_people", ALL, unit="person"), spread(people.unstack("topic")))


def deviation(begun: CardEstimate, values: pd.Series) -> CardEstimate:
    """The claim with the pooled standard deviation of values under the same index, its interval from chi-square (of independent
    normal values).
    """
    known = values.dropna()
    cells = known.groupby(level=list(known.index.names), sort=False)
    spare = len(known) - cells.ngroups
    if spare < 1:
        return replace(begun, n=len(known), reason="no cell has two values")
    squares = float((cells.var(ddof=1) * (cells.size() - 1)).sum())
    low, high = (math.sqrt(squares / float(stats.chi2.ppf(share, spare))) for share in (0.975, 0.025))
    return replace(begun, estimate=math.sqrt(squares / spare), low=low, high=high, n=len(known))


def _orders(ratings: pd.DataFrame) -> Iterator[CardEstimate]:
    people = ratings[ratings["party"] != DEFAULT]
    wide = people.groupby(["way", "block", "party", "topic", "probe"], sort=False)["level"].mean().unstack("way")
    for name in ("reversed", "shuffled", "conversation"):
        claim, way = CardEstimate(SECTION, name, ALL), f"{PLAIN} {name}"
        if way in wide:
            yield mean_estimate(claim, (wide[way] - wide[PLAIN]).groupby(level="block", sort=False).mean())


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    worded, again = (find_estimate(found, name) for name in ("wording", "retest"))
    if not (worded and again):
        return ""
    return (
        f"Between wordings of the question the Default's answer differs by {format_number(worded.estimate)} points (SD), between "
        f"answers to the very same question by {format_number(again.estimate)}."
    )
