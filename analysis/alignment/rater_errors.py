"""Judge and people as raters of the same answers: the error of each, and the share of aligned answers corrected for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from parley.analysis.formatting import Column, estimate, number
from parley.analysis.statistics.latent_class import (
    FEWEST_ITEMS,
    FEWEST_RATERS,
    LatentClasses,
    class_intervals,
    fit_classes,
    wrong_codes,
)
from parley.analysis.unknown import unknown_sentence

ABOUT = (
    "Dawid and Skene's model: each answer has one true verdict, and each rater errs independently of the others. The corrected "
    "share is the estimated share of the true verdicts, after the raters' errors are removed. The column `gave` is the share of "
    "a rater's verdicts. The column `wrong` is how often a rater's verdict is not the true verdict; the cell is empty for a "
    "rater of few answers. Only the random tenth of the answers is used, because this tenth represents all answers. If raters "
    "share a mistake, the model takes this mistake for the truth. Brackets are 95% intervals."
)
COLUMNS: Mapping[str, Column] = {
    "rater": "rater",
    "answers": "items",
    "gave, share": number("gave"),
    "wrong": estimate("wrong"),
}


def rater_errors(ratings: pd.DataFrame, verdict: str) -> tuple[pd.DataFrame, str]:
    """Return one row per rater (rater, items, gave, wrong with its interval), and a sentence on the corrected share of a verdict.

    ratings: a column of verdicts per rater (empty: not rated). Without enough of them the sentence says why it is unknown.
    A rater of fewer than FEWEST_ITEMS answers has no error.
    """
    rated = ratings[(ratings != "").sum(axis=1) > 1]
    rows = pd.DataFrame({
        "rater": list(ratings.columns), "items": [int((rated[name] != "").sum()) for name in ratings.columns],
        "gave": [_share(rated[name], verdict) for name in ratings.columns],
    }).assign(wrong=np.nan, wrong_low=np.nan, wrong_high=np.nan)  # fmt: skip
    words = sorted(set(rated.to_numpy().ravel()) - {""})
    if reason := _why_unknown(rows, words, verdict):
        return rows, unknown_sentence(f"the corrected share of {verdict}", reason)
    counts = np.array([[[float(text == word) for word in words] for text in line] for line in rated.to_numpy()])
    fit, place = fit_classes(counts), words.index(verdict)

    def both(fit: LatentClasses) -> np.ndarray:
        return np.append(wrong_codes(fit), fit.shares[place])

    ends, values = class_intervals(counts, fit, both), both(fit)
    rows[["wrong", "wrong_low", "wrong_high"]] = np.column_stack([values, np.array(ends)])[:-1]
    rows.loc[rows["items"] < FEWEST_ITEMS, ["wrong", "wrong_low", "wrong_high"]] = np.nan
    low, high = ends[-1]
    shown = f"{values[-1]:.0%} of the answers are {verdict} ({low:.0%} to {high:.0%})"
    return rows, f"Corrected for the errors of all raters, {shown}."


def _share(column: pd.Series, verdict: str) -> float:
    rated = column[column != ""]
    return float((rated == verdict).mean()) if len(rated) else np.nan


def _why_unknown(rows: pd.DataFrame, words: list[str], verdict: str) -> str:
    if (rows["items"] >= FEWEST_ITEMS).sum() < FEWEST_RATERS:
        return f"the correction needs {FEWEST_RATERS} raters (a judge counts as one) of {FEWEST_ITEMS} or more answers"
    if len(words) < 2 or verdict not in words:
        return "only one verdict was ever given"
    return ""
