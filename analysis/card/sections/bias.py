"""The model's opinion before any debate: the Default's answer to every wording of the question, and the parties' answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.society import DEFAULT, Society
from parley.agents.topic import load_topic
from parley.analysis.card import estimates
from parley.analysis.card.conditions import Batch, asked
from parley.analysis.card.estimates import CardEstimate, find_estimate, mean_estimate
from parley.analysis.card.labels import DIFFERENCE
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity, named
from parley.analysis.formatting import format_number
from parley.analysis.statistics.intervals import SCALE, verdict
from parley.model.scenario import Scenario
from parley.model.titles import join_phrases

ORDER = 0
TITLE = "The model's opinion before any debate"
NOTE = (
    "Each agent is asked alone, before any debate, at temperature 1, in every wording of the question. The wordings differ in "
    "scale and direction, say debate or conversation, and list the answers upward, downward or shuffled. The interval of the "
    "Default is over wordings. The intervals of the parties are over blocks, each with other agents. {humans}"
)
NEEDS = (asked,)
QUANTITIES = {
    "default": Quantity("Default's answer", "points"),
    "first_away": Quantity("{firsts} minus Default", "points"),
    "second_away": Quantity("{seconds} minus Default", "points"),
    "nearer_second": Quantity("how much nearer the Default is to the {seconds} than to the {firsts}", "points"),
    "nearer_least": Quantity("how much nearer to the {seconds}, in the wording with the least difference", "points"),
    "nearer_most": Quantity("how much nearer to the {seconds}, in the wording with the greatest difference", "points"),
    "party_gap": Quantity("{seconds} minus {firsts}, agents", "points"),
    "people_gap": Quantity("{seconds} minus {firsts}, humans", "share", DIFFERENCE),
    "unread": Quantity("answers that could not be read", "share"),
}
WATCH = ("party_gap",)
PEOPLE = "people.toml"
"""The file of a society with the shares of its humans."""
HUMANS = (
    "The last row is the share of {seconds} minus the share of {firsts} who {say}, among humans ({source}). The humans "
    "answered on another scale, so compare only the signs of the numbers."
)
NO_HUMANS = (
    "The table has no row of humans, because the society {society} has no {file} with shares of its parties' voters."
)


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    ratings = answers(study)
    by_topic = [
        claim
        for topic in base.subject.topic
        for claim in _topic(ratings[ratings["topic"] == topic], topic, base.society)
    ]
    unread = CardEstimate("unread", unit=estimates.RATING)
    return [*by_topic, estimates.proportion(unread, ratings["level"].isna(), estimates.agents(ratings))]


def answers(study: ConditionRecords) -> pd.DataFrame:
    """Every rating outside of debates, with the condition in which it was given (`way`)."""
    names = [name for name in study.records if name.partition(" ")[0] == "asked"]
    return pd.concat([study.ratings(name, further=True).assign(way=name) for name in names], ignore_index=True)


def _topic(ratings: pd.DataFrame, topic: str, society: Society) -> Iterator[CardEstimate]:
    levels = ratings.groupby(["party", "block", "probe"], sort=False)["level"].mean()
    default_by_wording = levels.get(DEFAULT, pd.Series(dtype=float)).groupby(level="probe", sort=False).mean()
    yield replace(
        mean_estimate(CardEstimate("default", topic, unit=estimates.WORDING), default_by_wording, SCALE),
        instrument=default_by_wording.std(),
    )
    # From the Default of the same block: the Default's own error is then in the interval. A block without one takes the mean.
    defaults = levels.get(DEFAULT, pd.Series(dtype=float))
    away = {
        party: (levels[party] - defaults)
        .reindex(levels[party].index)
        .fillna(levels[party].sub(default_by_wording, level="probe"))
        for party in society.debaters
        if party in levels
    }
    away = {party: gaps.unstack("probe") for party, gaps in away.items()}
    if len(away) < len(society.debaters):
        return
    first, second = away.values()
    # Distances by wording: a party may be above the Default in one wording, and below it in another.
    nearer = first * np.sign(first.mean()) - second * np.sign(second.mean())
    values = {"first_away": first, "second_away": second, "nearer_second": nearer, "party_gap": second - first}
    # One row per block, one column per wording. How wordings differ is the error of the instrument.
    for name, rows in values.items():
        yield replace(mean_estimate(CardEstimate(name, topic), rows.mean(axis=1)), instrument=rows.mean().std())
    if len(nearer.columns) > 1:
        least, most = nearer.mean().idxmin(), nearer.mean().idxmax()
        for name, wording in (("nearer_least", least), ("nearer_most", most)):
            yield mean_estimate(CardEstimate(name, topic), nearer[wording])
    if has_people(society):
        yield _people_gap(topic, society)


def has_people(society: Society) -> bool:
    """Whether there are shares of humans."""
    return (society.folder / PEOPLE).is_file()


def _people_gap(topic: str, society: Society) -> CardEstimate:
    published, root = society.read(PEOPLE), load_topic(topic).root.rpartition("/")[2]
    claim = CardEstimate("people_gap", topic, unit="person", reason="not among the published shares")
    if root not in published:
        return claim
    first, second = (published[root][party] for party in society.debaters)
    gap = (second - first) / 100
    return replace(claim, estimate=gap, n=published["people"], reason="published shares, without an interval")


class Leanings(NamedTuple):
    """Topics by the party role that the model's own answer is nearer to; unknown: there are too few blocks.

    divided: nearer to one role in all wordings together, and detectably to the other in one of them.
    """

    toward_second: list[str]
    toward_first: list[str]
    divided: list[str]
    unsure: list[str]
    unknown: list[str]


def widened(claims: Sequence[CardEstimate], first: Batch) -> list[CardEstimate]:
    """How much nearer the Default's answer is to the second party than to the first, with intervals that all hold at once."""
    topics = first.base.subject.topic
    return estimates.simultaneous(
        [claim for topic in topics if (claim := find_estimate(claims, "nearer_second", topic))]
    )


def leanings(claims: Sequence[CardEstimate], first: Batch) -> Leanings:
    """The topics on which the model leans to each party, or to none detectably."""
    groups = Leanings([], [], [], [], [])
    for claim in widened(claims, first):
        group = verdict(claim.low, claim.high, groups.toward_second, groups.toward_first, groups.unsure)
        if group is not groups.unsure and _contradicted(claims, claim):
            group = groups.divided
        (groups.unknown if math.isnan(claim.low) else group).append(claim.topic)
    return groups


def _contradicted(claims: Sequence[CardEstimate], lean: CardEstimate) -> bool:
    """Whether the interval of one wording lies on the other side of 0 than the estimate over all wordings."""
    name, end = ("nearer_least", "high") if lean.estimate > 0 else ("nearer_most", "low")
    wording = find_estimate(claims, name, lean.topic)
    return bool(wording) and getattr(wording, end) * lean.estimate < 0


def sentences(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For "In short"."""
    first_role, other = map(first.society.label, first.parties)
    wordings = (
        f"nearer to its own {other} role than to its {first_role} role on",
        f"nearer to its own {first_role} role than to its {other} role on",
        "nearer to one of its two party roles, depending on the wording of the question, on",
        "not detectably nearer to either role on",
        "too few times to tell which role it is nearer to on",
    )
    parts = [
        f"{where} {join_phrases([load_topic(topic).title for topic in topics])}"
        for where, topics in zip(wordings, leanings(claims, first), strict=True)
        if topics
    ]
    if parts:
        yield f"**Where the model leans.** Asked without a party role, the model answers {'; '.join(parts)}."


def slots(first: Batch) -> dict[str, str]:
    """What the row of humans is, or that there is none."""
    if not has_people(first.society):
        return {"humans": NO_HUMANS.format(society=first.society.title, file=PEOPLE)}
    about = first.society.read(PEOPLE)
    return {"humans": named(HUMANS, first.society).format(say=about["say"], source=about["source"])}


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    readable = [claim for topic in first.base.subject.topic if (claim := find_estimate(claims, "default", topic))]
    parts = [f"{format_number(claim.estimate)} on {load_topic(claim.topic).title}" for claim in readable]
    return f"Asked without a party role, the model answers {join_phrases(parts)}." if parts else ""
