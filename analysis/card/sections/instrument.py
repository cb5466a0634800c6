"""How far off the reading itself may be: the same question in other words, in another order, and once more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd
from scipy import stats

from analysis.card.claims import ALL, RATING, WORDING, Claim, averaged, find
from analysis.card.conditions import DEFAULT, PARTIES, asked
from analysis.card.held import Held
from analysis.card.sections import Quantity
from analysis.card.sections.bias import answers
from model.scenario import Scenario

SECTION = "instrument"
ORDER = 3
TITLE = "How far off the instrument may be"
NOTE = (
    "All from the answers outside of debates, in points of 0-10. A wording is a probe on its scale. The order effects are the "
    "difference within a person to the answers listed upward; retest is the spread of what the same Default answers to the "
    "very same question, asked again (by the answers themselves, not their distribution). Between people: where a party is one "
    "voice, it is near 0."
)
NEEDS = (asked,)
QUANTITIES = {
    "wording": Quantity("spread of the Default's answer over wordings (SD)", "points"),
    "reversed": Quantity("answers listed downward less upward", "points"),
    "shuffled": Quantity("answers shuffled less upward", "points"),
    "conversation": Quantity("called a conversation less called a debate", "points"),
    "retest": Quantity("the same question asked again (SD)", "points"),
    "republican_people": Quantity("spread between Republicans (SD)", "points"),
    "democrat_people": Quantity("spread between Democrats (SD)", "points"),
}
WATCH = ("reversed",)
PLAIN = "asked"


def claims(held: Held, base: Scenario) -> list[Claim]:
    ratings = answers(held)
    return [*_spreads(ratings, base), *_orders(ratings)]


def _spreads(ratings: pd.DataFrame, base: Scenario) -> Iterator[Claim]:
    own = ratings[ratings["party"] == DEFAULT]
    by_probe = own.groupby(["topic", "probe"], sort=False)["level"].mean()
    yield deviation(Claim(SECTION, "wording", ALL, unit=WORDING), by_probe, ["topic"])
    again = own.set_index(["topic", "probe", "way"])["attitude"]
    yield deviation(Claim(SECTION, "retest", ALL, unit=RATING), again, ["topic", "probe", "way"])
    for party in PARTIES:
        people = ratings[ratings["party"] == party].groupby(["topic", "block"], sort=False)["level"].mean()
        yield deviation(Claim(SECTION, f"{party}_people", ALL, unit="person"), people, ["topic"])


def deviation(begun: Claim, values: pd.Series, within: list[str]) -> Claim:
    """The claim with the pooled standard deviation within cells, its interval from chi-square (of normal values)."""
    known = values.dropna()
    cells = known.groupby(level=within, sort=False)
    spare = len(known) - cells.ngroups
    if spare < 1:
        return replace(begun, n=len(known), reason="no cell has two values")
    squares = float((cells.var(ddof=1) * (cells.size() - 1)).sum())
    low, high = (math.sqrt(squares / float(stats.chi2.ppf(share, spare))) for share in (0.975, 0.025))
    return replace(begun, estimate=math.sqrt(squares / spare), low=low, high=high, n=len(known))


def _orders(ratings: pd.DataFrame) -> Iterator[Claim]:
    people = ratings[ratings["party"] != DEFAULT]
    wide = people.groupby(["way", "block", "party", "topic", "probe"], sort=False)["level"].mean().unstack("way")
    for name in ("reversed", "shuffled", "conversation"):
        claim, way = Claim(SECTION, name, ALL), f"{PLAIN} {name}"
        if way in wide:
            yield averaged(claim, (wide[way] - wide[PLAIN]).groupby(level="block", sort=False).mean())


def sentences(found: Sequence[Claim], base: Scenario) -> Iterator[str]:
    """For the first screen."""
    worded, again = (find(found, name) for name in ("wording", "retest"))
    if worded and again:
        yield (
            "**How sure.** Beside the brackets, the questions are a coarse instrument: the same opinion in other words differs "
            f"by {worded.estimate:.1f} points (SD), and the very same question asked again by {again.estimate:.1f}."
        )
