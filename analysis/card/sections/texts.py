"""What agents say beside how they rate: the lines of `three` before a judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from analysis.card.claims import ALL, Claim, averaged, find, shared
from analysis.card.conditions import Batch, three
from analysis.card.held import Held
from analysis.card.outside import UNJUDGED, VERDICTS
from analysis.card.sections import Quantity
from analysis.card.sections.nulls import directions
from analysis.card.words import judge, percent
from analysis.judge.quality import against_themselves, on_axis
from model.scenario import Scenario

SECTION = "texts"
ORDER = 6
TITLE = "What agents say compared with how they rate"
NOTE = (
    "A judge reads every line of the debates of three, told neither name nor party, and says how strongly it agrees with the "
    "topic's claim. It is compared with the speaker's own rating in the survey before; who speaks late in a round has heard "
    "others since. Lines and ratings exactly in the middle are on no side and left out of the first row."
)
NEEDS = (three,)
OUTSIDE = (VERDICTS,)
QUANTITIES = {
    "contradicts": Quantity("lines on the other side of the middle (5) than the speaker's own rating", "share"),
    "text_apart": Quantity("distance of a line from the speaker's own rating", "points"),
    "text_toward": Quantity("line minus the speaker's own rating, toward the Default", "points"),
    "agreement": Quantity("rank correlation of lines with the rating after the round", "correlation"),
    "unscored": Quantity("lines without a score of the judge", "share"),
}
WATCH = ()
MIDDLE = 5.0


def claims(held: Held, base: Scenario) -> list[Claim]:
    verdicts = held.heard(VERDICTS)
    if verdicts is None:
        return [Claim(SECTION, name, ALL, reason=UNJUDGED) for name in QUANTITIES]
    said = verdicts[verdicts["text"].fillna("") != ""]
    missing = shared(Claim(SECTION, "unscored", ALL, unit="line"), int(said["score"].isna().sum()), len(said))
    found = lines(said, held.ratings("three"))
    toward = found.join(np.sign(directions(held)).rename("side"), on=["topic", "party"], how="inner")
    toward = toward.assign(value=toward["side"] * (toward["text"] - toward["rating"]))
    return [
        *_over_blocks("contradicts", contradicting(found), base),
        *_over_blocks("text_apart", found.assign(value=(found["text"] - found["rating"]).abs()), base),
        *_over_blocks("text_toward", toward, base),
        *_agreement(said, held),
        missing,
    ]


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


def _over_blocks(name: str, found: pd.DataFrame, base: Scenario) -> Iterator[Claim]:
    """Over all topics, and a topic each; the mean of a block."""
    yield averaged(Claim(SECTION, name, ALL), _means(found))
    for topic in base.topics:
        yield averaged(Claim(SECTION, name, topic), _means(found[found["topic"] == topic]))


def _means(found: pd.DataFrame) -> pd.Series:
    return found.groupby("block", sort=False)["value"].mean()


def _agreement(said: pd.DataFrame, held: Held) -> Iterator[Claim]:
    own = held.ratings("three").assign(attitude=held.ratings("three")["level"])
    for row in against_themselves(said, own).to_dict("records"):
        begun = Claim(SECTION, "agreement", row["topic"], n=row["rooms"], unit="room")
        known = dict(zip(("estimate", "low", "high"), (row["r"], row["r_low"], row["r_high"]), strict=True))
        reason = "" if np.isfinite(row["r"]) else "too few lines, or all alike"
        yield Claim(**{**begun.__dict__, **known, "reason": reason})


def result(found: Sequence[Claim], first: Batch) -> str:
    """With which the section opens."""
    against = find(found, "contradicts")
    if against is None:
        return ""
    return (
        f"{percent(against)} of the lines, read by {judge(first)}, are on the other side of the question than the speaker's own "
        "rating before."
    )
