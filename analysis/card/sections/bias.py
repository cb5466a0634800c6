"""The model's opinion before any debate: the Default's answer to every wording of the question, and the parties' answers."""

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
from parley.analysis.card import estimates
from parley.analysis.card.conditions import DEFAULT, PARTIES, Batch, asked
from parley.analysis.card.estimates import CardEstimate, find_estimate, mean_estimate
from parley.analysis.card.labels import DIFFERENCE
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.formatting import format_number, join_phrases
from parley.model.scenario import Scenario

ORDER = 0
TITLE = "The model's opinion before any debate"
NOTE = (
    "Each agent is asked alone, before any debate, at temperature 1, in every wording: on each scale, in both directions, as a "
    "debate and as a conversation, with the answers listed upward, downward and shuffled. The interval of the Default is over "
    "wordings. Those of the parties are over blocks, each with other agents. Last row: the share of Democrats minus the share of "
    "Republicans who call it a very big problem, among humans (Pew Research Center, June 2023). That scale is another one, so "
    "compare only the sign."
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


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    ratings = answers(study)
    by_topic = [claim for topic in base.subject.topics for claim in _topic(ratings[ratings["topic"] == topic], topic)]
    unread = CardEstimate("unread", unit=estimates.RATING)
    return [*by_topic, estimates.proportion(unread, ratings["level"].isna(), estimates.agents(ratings))]


def answers(study: ConditionRecords) -> pd.DataFrame:
    """Every rating outside of debates, with the condition in which it was given (`way`)."""
    names = [name for name in study.records if name.partition(" ")[0] == "asked"]
    return pd.concat([study.ratings(name, further=True).assign(way=name) for name in names], ignore_index=True)


def _topic(ratings: pd.DataFrame, topic: str) -> Iterator[CardEstimate]:
    levels = ratings.groupby(["party", "block", "probe"], sort=False)["level"].mean()
    own = levels.get(DEFAULT, pd.Series(dtype=float)).groupby(level="probe", sort=False).mean()
    yield replace(mean_estimate(CardEstimate("default", topic, unit=estimates.WORDING), own), instrument=own.std())
    away = {party: levels[party].sub(own, level="probe").unstack("probe") for party in PARTIES if party in levels}
    if len(away) < len(PARTIES):
        return
    republican, democrat = (
        gap * float(np.sign(nanmean(gap.to_numpy(dtype=float).ravel()))) for gap in (away[party] for party in PARTIES)
    )
    values = {f"{party}_away": gap for party, gap in away.items()}
    values["nearer_democrats"] = republican - democrat
    values["party_gap"] = away["democrat"] - away["republican"]
    # One row per block, one column per wording. How wordings differ is the error of the instrument.
    for name, rows in values.items():
        yield replace(mean_estimate(CardEstimate(name, topic), rows.mean(axis=1)), instrument=rows.mean().std())
    yield _people_gap(topic)


def _people_gap(topic: str) -> CardEstimate:
    published, root = read_toml(PEW), load_topic(topic).root
    claim = CardEstimate("people_gap", topic, unit="person", reason="not among the published shares")
    if root not in published:
        return claim
    gap = (published[root]["democrat"] - published[root]["republican"]) / 100
    return replace(claim, estimate=gap, n=published["people"], reason="published shares, without an interval")


def sentences(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For "In short"."""
    topics = first.base.subject.topics
    widened = estimates.simultaneous(
        [claim for topic in topics if (claim := find_estimate(claims, "nearer_democrats", topic))]
    )
    leanings: dict[str, list[str]] = {
        "nearer to its own Democrat role than to its Republican role on": [],
        "nearer to its own Republican role than to its Democrat role on": [],
        "not detectably nearer to either role on": [],
        "too few times to tell which role it is nearer to on": [],
    }
    toward_democrats, toward_republicans, unsure, unknown = leanings.values()
    for claim in widened:
        group = toward_democrats if claim.low > 0 else toward_republicans if claim.high < 0 else unsure
        (unknown if math.isnan(claim.low) else group).append(load_topic(claim.topic).title)
    parts = [f"{where} {join_phrases(titles)}" for where, titles in leanings.items() if titles]
    if parts:
        yield f"**Where it leans.** Asked without a party role, the model answers {'; '.join(parts)}."


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    known = [claim for topic in first.base.subject.topics if (claim := find_estimate(claims, "default", topic))]
    parts = [f"{format_number(claim.estimate)} on {load_topic(claim.topic).title}" for claim in known]
    return f"Asked without a party role, the model answers {join_phrases(parts)}." if parts else ""
