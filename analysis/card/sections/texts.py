"""What agents say compared with how they rate: a judge scores the lines of `three`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis import judge_quality
from parley.analysis.card.conditions import Batch, three
from parley.analysis.card.estimates import CardEstimate, find_estimate, is_possible, mean_estimate, proportion
from parley.analysis.card.interviews import UNJUDGED, VERDICTS
from parley.analysis.card.labels import judge, percent
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import toward
from parley.analysis.card.sections.null_conditions import directions
from parley.analysis.formatting import format_number
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.intervals import FEWEST, NO_VARIATION, too_few
from parley.model.scenario import Scenario

ORDER = 6
TITLE = "What agents say compared with how they rate"
NOTE = (
    "A judge reads every reply of the debates of three, without the speaker's name and party, and scores how strongly "
    "the reply agrees with the topic's claim. If the survey asks for agreement with the claim, a reply is compared in "
    "points with the speaker's own rating in the survey before. If the survey asks for something else, such as the "
    "severity of a problem, only ranks are compared. An agent that speaks late in a round has heard other agents since "
    "the survey before. A value exactly in the middle is on neither side. Only sentences of Parley's own speakers have "
    "a known true score. A judge's scores on a topic are left out if their rank correlation with known true scores is "
    "below 0.7. A judge's scores are also left out if their mean is off by half a point of 1-7 or more."
)
NEEDS = (three,)
OUTSIDE = (VERDICTS,)
QUANTITIES = {
    "contradicts": Quantity("replies on the other side of the middle (5) than the speaker's own rating", "share"),
    "text_apart": Quantity("distance of a reply from the speaker's own rating", "points"),
    "text_toward": Quantity("reply minus the speaker's own rating, toward the Default", "points"),
    "agreement": Quantity("rank correlation of replies with the rating after the round", "correlation"),
    "judge_rank": Quantity("the judge's rank correlation with known true scores", "correlation"),
    "judge_bias": Quantity("the judge's score minus the known true score (points of 1-7)", "points"),
    "unscored": Quantity("replies without a score of the judge", "share"),
}
WATCH = ()
MIDDLE = 5.0
MISREAD = "the judge misreads replies with a known true score"
OTHER = "the survey does not ask for agreement with the claim that the judge scores, so only ranks can be compared"
UNKNOWN = "no reply has a known true score: the judge is unchecked"


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    if (verdicts := study.answers_to(VERDICTS)) is None:
        return [CardEstimate(name, reason=UNJUDGED) for name in QUANTITIES]
    spoken = verdicts[verdicts["text"].fillna("") != ""]
    checked = judge_quality.against_truth(spoken)
    faults = judge_quality.faults(checked)
    trusted = spoken[~spoken["topic"].isin(list(faults))]
    ratings = study.ratings("three").assign(attitude=study.ratings("three")["level"])
    agreement = judge_quality.against_themselves(trusted, ratings)
    return [
        *_in_points(trusted, study, base, faults),
        *(_from_row("agreement", row, "r") for row in agreement.to_dict("records")),
        *(CardEstimate("agreement", topic, reason=f"{MISREAD}: {fault}") for topic, fault in faults.items()),
        *_quality(checked),
        proportion(CardEstimate("unscored", unit="line"), spoken["score"].isna(), spoken["block"] + spoken["party"]),
    ]


def _in_points(
    spoken: pd.DataFrame, study: ConditionRecords, base: Scenario, faults: Mapping[str, str]
) -> Iterator[CardEstimate]:
    """Lines compared with ratings, on topics whose survey asks what the judge scores; over all topics if that holds for all."""
    scored_topics = [topic for topic in base.subject.topic if judge_quality.comparable(topic, base.surveys.probe)]
    topics = [topic for topic in scored_topics if topic not in faults]
    rows = lines(spoken[spoken["topic"].isin(topics)], study.ratings("three"))
    apart = rows.assign(value=rows["text"] - rows["rating"])
    values = {
        "contradicts": contradicting(rows),
        "text_apart": apart.assign(value=apart["value"].abs()),
        "text_toward": toward(apart, directions(study), "value"),
    }
    reason = OTHER if len(scored_topics) < len(base.subject.topic) else MISREAD
    for name, quantity_lines in values.items():
        complete = len(topics) == len(base.subject.topic)
        yield _mean(CardEstimate(name), quantity_lines) if complete else CardEstimate(name, reason=reason)
        for topic in topics:
            yield _mean(CardEstimate(name, topic), quantity_lines[quantity_lines["topic"] == topic])


def _quality(checked: pd.DataFrame) -> Iterator[CardEstimate]:
    """How well the judge reads lines whose grade is known, by topic."""
    if checked.empty:
        yield from (CardEstimate(name, reason=UNKNOWN) for name in ("judge_rank", "judge_bias"))
    for row in checked.to_dict("records"):
        yield _from_row("judge_rank", row, "r")
        yield _from_row("judge_bias", row, "bias")


def _from_row(name: str, row: dict[str, Any], column: str) -> CardEstimate:
    """The claim of a row of `against_truth`: the column and the ends of its interval."""
    value, low, high = (float(row[f"{column}{end}"]) for end in ("", "_low", "_high"))
    reason = str(row["reason"])
    if np.isfinite(value):
        reason = "" if np.isfinite(low) else too_few("room") if row["rooms"] < FEWEST else NO_VARIATION
    return CardEstimate(name, row["topic"], value, low, high, n=row["rooms"], unit="room", reason=reason)


def lines(verdicts: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """One row per scored line whose speaker was rated in the survey before: block, topic, party, text and rating (0-10)."""
    scored = verdicts.assign(text=judge_quality.on_axis(verdicts["score"], verdicts["topic"]))
    before = ratings[["room", "agent", "round", "level"]].assign(round=ratings["round"] + 1)
    both = scored.merge(before.rename(columns={"level": "rating"}), on=["room", "agent", "round"])
    return both[["block", "topic", "party", "text", "rating"]].dropna()


def contradicting(rows: pd.DataFrame) -> pd.DataFrame:
    """The lines that are on a side, of a speaker on a side; value: 1 if these are opposite sides, else 0."""
    sides = np.sign(rows[["text", "rating"]] - MIDDLE)
    on_sides = (sides != 0).all(axis=1)
    return rows[on_sides].assign(value=(sides["text"] != sides["rating"])[on_sides].astype(float))


def _mean(claim: CardEstimate, rows: pd.DataFrame) -> CardEstimate:
    """The mean over blocks."""
    mean = mean_estimate(claim, rows.groupby("block", sort=False)["value"].mean())
    return is_possible(mean) if QUANTITIES[claim.quantity].measure == "share" else mean


def warnings(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For the top of the page: what is wrong with the judge."""
    bad = [claim for claim in claims if claim.quantity == "agreement" and claim.reason.startswith(MISREAD)]
    if bad:
        faults = (f"on {load_topic(claim.topic).title} {claim.reason.removeprefix(f'{MISREAD}: ')}" for claim in bad)
        yield (
            f"**Do not use what {judge(first)} says**: {'; '.join(faults)}. Results from the judge's scores on these "
            "topics are left out; the judge's verdicts on interviews could not be checked."
        )


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentences of the section: what was found, and whether the judge may be used."""
    return " ".join(sentence for sentence in (_found(claims, first), judge_gate(claims, judge(first))) if sentence)


def judge_gate(claims: Sequence[CardEstimate], name: str) -> str:
    """Return whether a judge may be used: on the topic where the lower end of its rank correlation is lowest.

    Nothing is returned if the judge is unchecked, or not to be used on a topic: other sentences say so.
    """
    if any(claim.reason.startswith(MISREAD) for claim in claims):
        return ""
    ranks = [claim for claim in claims if claim.quantity == "judge_rank" and np.isfinite(claim.estimate)]
    if not ranks:
        return ""
    least = min(ranks, key=lambda claim: claim.low if np.isfinite(claim.low) else -np.inf)
    where = f" (on {load_topic(least.topic).title}, the least sure topic)" if len(ranks) > 1 else ""
    figure = f"the judge's rank correlation with known true scores{where}"
    return gate_sentence(f"what {name} says", figure, least.estimate, least.low, least.high, least.reason)


def _found(claims: Sequence[CardEstimate], first: Batch) -> str:
    if (against := find_estimate(claims, "contradicts")) is not None:
        return (
            f"{percent(against)} of the replies, read by {judge(first)}, are on the other side of the question than "
            "the speaker's own rating before."
        )
    ranks = [claim.estimate for claim in claims if claim.quantity == "agreement" and claim.known]
    if not ranks:
        return ""
    least, most = format_number(min(ranks)), format_number(max(ranks))
    span = least if least == most else f"{least} to {most}, by topic"
    return f"Replies, read by {judge(first)}, agree with the speakers' ratings: rank correlation {span}."
