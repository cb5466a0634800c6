"""Decides which number of a rating the estimates use.

A model at temperature 0 answers with its likeliest point. If
its answers average 8.4, it always answers 8, and a little noise looks like a move of .4 although nothing moved. When a record
has the distribution of answers, estimates use its mean (`expected`). The rating itself stays in the column `attitude` of the
tables, and is what the paper's figures show.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parley.analysis.tables import Tables

EXPECTED, RATING = "expected", "rating"
BY = ["probe", "topic", "party"]
MEASURE_NOTES = {
    frozenset(
        {EXPECTED}
    ): "Estimates use the mean of the distribution of answers, not the answer itself, which is rounded to a point.",
    frozenset(
        {RATING}
    ): "The distribution of answers is not known: estimates use the answers, which are rounded to a point.",
    frozenset(
        {EXPECTED, RATING}
    ): "Estimates use the mean of the distribution of answers where it is known (column `measure` of the tables).",
}


def rating_value(tables: Tables) -> Tables:
    """Return the tables with estimates in place of ratings: `attitude` is what to estimate with, `measure` says what it is.

    It is `expected` (mean of the answer distribution, 0-10) for a party on a topic if every rating there has one, else `rating`,
    so that the measure does not change within a line.
    """
    ratings = tables.attitudes
    without = ratings["attitude"].notna() & ratings["expected"].isna()
    known = ~without.groupby([ratings[name] for name in BY]).transform("any").astype(bool)
    values = ratings["attitude"].mask(known & ratings["attitude"].notna(), ratings["expected"])
    return replace(tables, attitudes=ratings.assign(attitude=values, measure=np.where(known, EXPECTED, RATING)))


def rating_value_note(tables: Tables) -> str:
    """Return one sentence on the number that estimates use, for a report; empty without ratings."""
    kinds = frozenset(rating_value(tables).attitudes["measure"])
    return MEASURE_NOTES[kinds] if kinds else ""
