"""Which number of a rating estimates use. The one place that decides it.

A model at temperature 0 answers with its likeliest point. One whose answers average 8.4 then always answers 8, and a little noise
looks like a move of .4 although nothing moved. Where a record has the distribution of answers, estimates use its mean
(`expected`). The rating itself stays the column `attitude` of the tables, and is what figures of the paper draw.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parley.analysis.tables import Tables

EXPECTED, RATING = "expected", "rating"
BY = ["probe", "topic", "party"]


def rating_value(tables: Tables) -> Tables:
    """Return the tables with estimates in place of ratings: `attitude` is what to estimate with, `measure` says what it is.

    `expected` (mean of the answer distribution, 0-10) for a party on a topic whose every rating has one, else `rating`: a change
    from the one to the other within a line would be a change of measure.
    """
    ratings = tables.attitudes
    lacking = ratings["attitude"].notna() & ratings["expected"].isna()
    sure = ~lacking.groupby([ratings[name] for name in BY]).transform("any").astype(bool)
    values = ratings["attitude"].mask(sure & ratings["attitude"].notna(), ratings["expected"])
    return replace(tables, attitudes=ratings.assign(attitude=values, measure=np.where(sure, EXPECTED, RATING)))


def rating_value_note(tables: Tables) -> str:
    """Return one sentence on which number estimates use, for a report; empty where there are no ratings."""
    kinds = set(rating_value(tables).attitudes["measure"])
    if not kinds:
        return ""
    if kinds == {EXPECTED}:
        return (
            "Estimates use the mean of the distribution of answers, not the answer itself, which is rounded to a point."
        )
    if kinds == {RATING}:
        return "The distribution of answers is not known: estimates use the answers, which are rounded to a point."
    return "Estimates use the mean of the distribution of answers where it is known (column `measure` of the tables)."
