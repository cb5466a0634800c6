"""Gender: the same people as women and as men."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.card.conditions import Batch, gender
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, mean_estimate
from parley.analysis.card.labels import points
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import away
from parley.model.scenario import Scenario

SECTION = "gender"
ORDER = 13
TITLE = "The same agents as women and as men"
NOTE = (
    "Debates of a Republican and a Democrat, both as women and both as men. The personas are those of the card where five or "
    "more of each party are there as a man and as a woman, else those of the set `twins`, whose texts differ in that one word. "
    "The unit is a pair of personas who debate each other: the same two as women minus as men. The first row is of the answers "
    "before the debate. In a study of structured debates (UCL 2025, section 5.2) agents as women and as men differed in what "
    "they said, with three texts a party, which cannot tell gender from the texts."
)
NEEDS = (gender,)
QUANTITIES = {
    "gender_before": Quantity("rating before a debate, toward the Democrats' end: women minus men", "points"),
    "gender_moved": Quantity("moved toward the other party: women minus men", "points"),
}
WATCH = ()
PAIR = "pair"
"""The unit: a Republican and a Democrat who debate each other."""


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    women, men = (people(held, name) for name in ("women", "men"))
    columns = {"gender_before": "before", "gender_moved": "moved"}
    return [one for name, column in columns.items() for one in _difference(name, women[column], men[column])]


def people(held: ConditionRecords, condition: str) -> pd.DataFrame:
    """A row a pair (`block`: the two who sit together in a repetition), topic and party, means over debates.

    Where the agent stands before (0-10, up being the Democrats' end), and how far it moved toward the other party (NaN where the
    parties begin alike).
    """
    keys = ["block", "topic", "party"]
    rated = held.ratings(condition)
    rated = rated.assign(block=rated["block"].str.partition("/")[2])  # a listed cast: the same two in every batch
    wide = rated.groupby([*keys, "round"], sort=False)["level"].mean().unstack("round")
    told = pd.DataFrame({"before": wide.iloc[:, 0], "moved": wide.iloc[:, -1] - wide.iloc[:, 0]}).reset_index()
    toward = -np.sign(away(held, "men")).rename("toward")
    told = told.join(toward, on=["topic", "party"])
    high = told["topic"].map(lambda topic: load_topic(topic).high_party)
    turned = (10 - told["before"]).where(high == "republican")
    told["before"] = told["before"].where(high == "democrat", turned)
    return told.assign(moved=told["moved"] * told["toward"]).set_index(keys)[["before", "moved"]]


def _difference(name: str, women: pd.Series, men: pd.Series) -> Iterator[CardEstimate]:
    """Over all topics, then a topic each."""
    both = pd.concat({"women": women, "men": men}, axis=1).dropna()
    yield _paired(CardEstimate(SECTION, name, ALL, unit=PAIR), both)
    for topic, part in both.groupby(level="topic", sort=False):
        yield _paired(CardEstimate(SECTION, name, str(topic), unit=PAIR), part)


def _paired(begun: CardEstimate, both: pd.DataFrame) -> CardEstimate:
    by_pair = both.groupby(level="block", sort=False).mean()
    found = mean_estimate(begun, by_pair["women"] - by_pair["men"])
    return replace(found, null=float(by_pair["men"].mean())) if found.known else found


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    before, moved = (find_estimate(found, name) for name in QUANTITIES)
    if not (before and moved):
        return ""
    return f"As women minus as men: {points(before)} before a debate, and {points(moved)} of movement toward the other party."
