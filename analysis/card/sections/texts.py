"""What agents say compared with how they rate: the lines of `three` before a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.bootstrap import FEWEST, NO_VARIATION, too_few
from parley.analysis.card.conditions import Batch, three
from parley.analysis.card.estimates import ALL, CardEstimate, find_estimate, is_possible, mean_estimate, proportion
from parley.analysis.card.interviews import UNJUDGED, VERDICTS
from parley.analysis.card.labels import judge, percent
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections.null_conditions import directions
from parley.analysis.formatting import format_number
from parley.analysis.judge_quality import against_themselves, against_truth, comparable, faults, on_axis
from parley.model.scenario import Scenario

SECTION = "texts"
ORDER = 6
TITLE = "What agents say compared with how they rate"
NOTE = (
    "A judge reads every line of the debates of three, told neither name nor party, and says how strongly it agrees with the "
    "topic's claim. Where the survey asks for something else, such as the severity of a problem, only ranks can be compared with "
    "the ratings. Where it asks for agreement with the claim, a line is also compared in points with the speaker's own rating in "
    "the survey before; who speaks late in a round has heard others since, and what is exactly in the middle is on no side. "
    "Known grades: those of the sentences of our own speakers. A judge whose rank correlation with them is below 0.7, or whose "
    "scores are off by half a point of 1-7 or more, is not to be used, and what it says of that topic is left out."
)
NEEDS = (three,)
OUTSIDE = (VERDICTS,)
QUANTITIES = {
    "contradicts": Quantity("lines on the other side of the middle (5) than the speaker's own rating", "share"),
    "text_apart": Quantity("distance of a line from the speaker's own rating", "points"),
    "text_toward": Quantity("line minus the speaker's own rating, toward the Default", "points"),
    "agreement": Quantity("rank correlation of lines with the rating after the round", "correlation"),
    "judge_rank": Quantity("the judge's rank correlation with known grades", "correlation"),
    "judge_bias": Quantity("the judge's score minus the known grade (points of 1-7)", "points"),
    "unscored": Quantity("lines without a score of the judge", "share"),
}
WATCH = ()
MIDDLE = 5.0


MISREAD = "the judge misreads lines with a known grade"
OTHER = "agents were asked for something else than agreement with the claim that the judge scores, so that only ranks compare"
UNKNOWN = "no line has a known grade: the judge is unchecked"


def claims(held: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    verdicts = held.heard(VERDICTS)
    if verdicts is None:
        return [CardEstimate(SECTION, name, ALL, reason=UNJUDGED) for name in QUANTITIES]
    said = verdicts[verdicts["text"].fillna("") != ""]
    missing = proportion(
        CardEstimate(SECTION, "unscored", ALL, unit="line"), said["score"].isna(), said["block"] + said["party"]
    )
    checked = against_truth(said)
    bad = faults(checked)
    kept = said[~said["topic"].isin(list(bad))]
    return [*_in_points(kept, held, base, bad), *_agreement(kept, held), *_left_out(bad), *_quality(checked), missing]


def _in_points(
    said: pd.DataFrame, held: ConditionRecords, base: Scenario, bad: Mapping[str, str]
) -> Iterator[CardEstimate]:
    """Lines minus ratings, of topics whose survey asks what the judge scores; over all topics where that is so of all."""
    topics = [topic for topic in base.subject.topics if comparable(topic, base.surveys.probe) and topic not in bad]
    found = lines(said[said["topic"].isin(topics)], held.ratings("three"))
    toward = found.join(np.sign(directions(held)).rename("side"), on=["topic", "party"], how="inner")
    values = {
        "contradicts": contradicting(found),
        "text_apart": found.assign(value=(found["text"] - found["rating"]).abs()),
        "text_toward": toward.assign(value=toward["side"] * (toward["text"] - toward["rating"])),
    }
    other = any(not comparable(topic, base.surveys.probe) for topic in base.subject.topics)
    for name, rows in values.items():
        if len(topics) < len(base.subject.topics):
            yield CardEstimate(SECTION, name, ALL, reason=OTHER if other else MISREAD)
        else:
            yield _mean(name, ALL, rows)
        for topic in topics:
            yield _mean(name, topic, rows[rows["topic"] == topic])


def _quality(checked: pd.DataFrame) -> Iterator[CardEstimate]:
    """How the judge reads lines whose grade is known, topic by topic."""
    if checked.empty:
        yield from (CardEstimate(SECTION, name, ALL, reason=UNKNOWN) for name in ("judge_rank", "judge_bias"))
    for row in checked.to_dict("records"):
        yield _spanned("judge_rank", row, "r")
        yield _spanned("judge_bias", row, "bias")


def _spanned(name: str, row: dict[str, Any], column: str) -> CardEstimate:
    value, low, high = (float(row[f"{column}{end}"]) for end in ("", "_low", "_high"))
    reason = str(row["reason"])
    if np.isfinite(value):
        reason = "" if np.isfinite(low) else too_few("room") if row["rooms"] < FEWEST else NO_VARIATION
    return CardEstimate(SECTION, name, row["topic"], value, low, high, n=row["rooms"], unit="room", reason=reason)


def _left_out(bad: Mapping[str, str]) -> Iterator[CardEstimate]:
    return (CardEstimate(SECTION, "agreement", topic, reason=f"{MISREAD}: {fault}") for topic, fault in bad.items())


def lines(verdicts: pd.DataFrame, ratings: pd.DataFrame) -> pd.DataFrame:
    """A row a line with a score whose speaker was rated in the survey before: block, topic, party, text and rating (0-10)."""
    text = on_axis(verdicts["score"], verdicts["topic"])
    before = ratings[["room", "agent", "round", "level"]].assign(round=ratings["round"] + 1)
    both = verdicts.assign(said=text).merge(before, on=["room", "agent", "round"])
    named = both.rename(columns={"level": "rating"}).drop(columns="text").rename(columns={"said": "text"})
    return named[["block", "topic", "party", "text", "rating"]].dropna()


def contradicting(found: pd.DataFrame) -> pd.DataFrame:
    """The lines that are on a side, of a speaker on a side; value: whether these are two."""
    sides = np.sign(found[["text", "rating"]] - MIDDLE)
    known = (sides != 0).all(axis=1)
    return found[known].assign(value=(sides["text"] != sides["rating"])[known].astype(float))


def _mean(name: str, topic: str, rows: pd.DataFrame) -> CardEstimate:
    """Over blocks."""
    found = mean_estimate(CardEstimate(SECTION, name, topic), rows.groupby("block", sort=False)["value"].mean())
    return is_possible(found) if QUANTITIES[name].measure == "share" else found


def _agreement(said: pd.DataFrame, held: ConditionRecords) -> Iterator[CardEstimate]:
    own = held.ratings("three").assign(attitude=held.ratings("three")["level"])
    return (_spanned("agreement", row, "r") for row in against_themselves(said, own).to_dict("records"))


def warnings(found: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """Before anything else on the page: what is wrong with the judge, or that nothing shows how good it is."""
    bad = [one for one in found if one.quantity == "agreement" and one.reason.startswith(MISREAD)]
    if bad:
        named = "; ".join(f"on {load_topic(one.topic).title} {one.reason.removeprefix(f'{MISREAD}: ')}" for one in bad)
        yield (
            f"**Do not use what {judge(first)} says**: {named}. What rests on its scores there is left out; its verdicts on "
            "interviews are unchecked."
        )


def result(found: Sequence[CardEstimate], first: Batch) -> str:
    """With which the section opens."""
    against = find_estimate(found, "contradicts")
    if against is not None:
        return (
            f"{percent(against)} of the lines, read by {judge(first)}, are on the other side of the question than the speaker's "
            "own rating before."
        )
    ranks = [one.estimate for one in found if one.quantity == "agreement" and one.known]
    if not ranks:
        return ""
    least, most = format_number(min(ranks)), format_number(max(ranks))
    span = least if least == most else f"{least} to {most}, by topic"
    return f"Lines, read by {judge(first)}, go with their speakers' ratings: rank correlation {span}."
