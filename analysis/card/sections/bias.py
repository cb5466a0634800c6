"""Where the model stands before anybody has said anything: the Default's answer, however it is asked, and the parties'."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from parley.agents.datafiles import read_toml
from parley.agents.topic import load_topic
from parley.analysis.bootstrap import nanmean
from parley.analysis.card.conditions import DEFAULT, PARTIES, Batch, asked
from parley.analysis.card.estimates import (
    ALL,
    RATING,
    WORDING,
    CardEstimate,
    agents,
    find_estimate,
    mean_estimate,
    proportion,
    simultaneous,
)
from parley.analysis.card.labels import DIFFERENCE
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.formatting import format_number, join_phrases
from parley.model.scenario import Scenario

SECTION = "bias"
ORDER = 0
TITLE = "Where the model stands before any debate"
NOTE = (
    "All agents are asked one by one, before any debate, at temperature 1, by every wording: on each scale, either way round, "
    "as a debate and as a conversation, with the answers listed upward, downward and shuffled. The interval of the Default is "
    "over wordings, those of the parties are over blocks, each with other agents. Last row: by how many percentage points "
    "more Democrats than Republicans call it a very big problem, of humans (Pew Research Center, June 2023). That is another "
    "scale: compare the sign alone."
)
NEEDS = (asked,)
QUANTITIES = {
    "default": Quantity("Default's answer", "points"),
    "republican_away": Quantity("Republicans minus Default", "points"),
    "democrat_away": Quantity("Democrats minus Default", "points"),
    "nearer_democrats": Quantity("how much nearer the Default is to the Democrats than to the Republicans", "points"),
    "party_gap": Quantity("Democrats minus Republicans, agents", "points"),
    "people_gap": Quantity("Democrats minus Republicans, humans", "share", DIFFERENCE),
    "unread": Quantity("answers that could not be read", "share"),
}
WATCH = ("party_gap",)
PEW = Path(__file__).parent.parent / "pew.toml"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    ratings = answers(held)
    each = [claim for topic in base.subject.topics for claim in _topic(ratings[ratings["topic"] == topic], topic)]
    unread = proportion(CardEstimate(SECTION, "unread", ALL, unit=RATING), ratings["level"].isna(), agents(ratings))
    return [*each, unread]


def answers(held: ConditionRecords) -> pd.DataFrame:
    """Every rating outside of a debate, with the `way` it was asked: the condition without its first word."""
    names = [name for name in held.records if name.partition(" ")[0] == "asked"]
    return pd.concat([held.ratings(name, further=True).assign(way=name) for name in names], ignore_index=True)


def _topic(ratings: pd.DataFrame, topic: str) -> Iterator[CardEstimate]:
    levels = ratings.groupby(["party", "block", "probe"], sort=False)["level"].mean()
    own = levels.get(DEFAULT, pd.Series(dtype=float)).groupby(level="probe", sort=False).mean()
    yield replace(mean_estimate(CardEstimate(SECTION, "default", topic, unit=WORDING), own), instrument=_spread(own))
    away = {party: levels[party].sub(own, level="probe").unstack("probe") for party in PARTIES if party in levels}
    if len(away) < len(PARTIES):
        return
    side = {party: float(np.sign(nanmean(away[party].to_numpy(dtype=float).ravel()))) for party in PARTIES}
    for party in PARTIES:
        yield _over_people(CardEstimate(SECTION, f"{party}_away", topic), away[party])
    red, blue = (side[party] * away[party] for party in PARTIES)
    yield _over_people(CardEstimate(SECTION, "nearer_democrats", topic), red - blue)
    yield _over_people(CardEstimate(SECTION, "party_gap", topic), away["democrat"] - away["republican"])
    yield _people_gap(topic)


def _over_people(begun: CardEstimate, values: pd.DataFrame) -> CardEstimate:
    """values: a row a block, a column a wording. The interval is over blocks; how wordings differ is the instrument's error."""
    return replace(mean_estimate(begun, values.mean(axis=1)), instrument=_spread(values.mean()))


def _spread(wordings: pd.Series) -> float:
    return float(wordings.std(ddof=1))


def _people_gap(topic: str) -> CardEstimate:
    known, root = read_toml(PEW), load_topic(topic).root
    claim = CardEstimate(
        SECTION, "people_gap", topic, n=known["people"], unit="person", reason="published shares, without an interval"
    )
    if root not in known:
        return replace(claim, n=0, reason="not among the published shares")
    return replace(claim, estimate=(known[root]["democrat"] - known[root]["republican"]) / 100)


def sentences(found: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For the first screen."""
    each = [one for topic in first.base.subject.topics if (one := find_estimate(found, "nearer_democrats", topic))]
    known = {one.topic: one for one in simultaneous(each)}
    kinds = {
        "nearer to its own Democrat role than to its Republican role on": [
            topic for topic, one in known.items() if one.low > 0
        ],
        "nearer to its own Republican role than to its Democrat role on": [
            topic for topic, one in known.items() if one.high < 0
        ],
        "not surely nearer to either role on": [topic for topic, one in known.items() if one.low <= 0 <= one.high],
        "too seldom to say to which role nearer on": [topic for topic, one in known.items() if math.isnan(one.low)],
    }
    told = [
        f"{where} {join_phrases([load_topic(one).title for one in topics])}"
        for where, topics in kinds.items()
        if topics
    ]
    if told:
        yield f"**Where it leans.** Asked without a party role, the model answers {'; '.join(told)}."


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    known = {topic: one for topic in first.base.subject.topics if (one := find_estimate(found, "default", topic))}
    told = [f"{format_number(one.estimate)} on {load_topic(topic).title}" for topic, one in known.items()]
    return f"Asked without a party role, the model answers {join_phrases(told)}." if told else ""
