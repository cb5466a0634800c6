"""Correlations with a judge's scores, without the judge's measurement error.

A judge that reads one text several times scores it differently; this error makes every correlation with its scores smaller. The
spread of the readings of a text says how large it is. A mistake that the judge repeats in every reading is no part of it.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.statistics.attenuation import Corrected, correct_correlation, correction_sentence
from parley.analysis.statistics.intervals import Floats
from parley.analysis.unknown import unknown_sentence

ONE_READING = "the judge read each text once (a judge that gives answer probabilities is asked once)"
ABOUT = (
    "A judge that reads a text twice may give two different scores. These reading errors make a correlation of scores smaller. "
    "So this table corrects each correlation (Pearson's r) for reading errors, by the spread of several readings of a text. The "
    "correction assumes that true scores and ratings have no error. Brackets are 95% intervals over rooms. An error that the "
    "judge makes in every reading of a text is not corrected."
)


def readings_of(verdicts: pd.DataFrame) -> Floats:
    """Return every reading of each text, (texts, readings), NaN where there is none."""
    columns = [name for name in verdicts.columns if str(name).startswith("score_")]
    readings: Floats = verdicts[columns or ["score"]].to_numpy(dtype=float)
    return readings


def correct_for_judge(verdicts: pd.DataFrame, other: str) -> Corrected:
    """Return the correlation of a judge's scores with another column, without the judge's error, over rooms."""
    measured = verdicts[[other]].to_numpy(dtype=float)
    return correct_correlation(readings_of(verdicts), measured, verdicts["room"].tolist())


def corrected_rows(verdicts: pd.DataFrame, other: str, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a row and a sentence for each topic. other: the column to compare with; name: as "known true scores"."""
    rows, lines = [], []
    for topic, topic_verdicts in verdicts.dropna(subset=[other]).groupby("topic", sort=False):
        title = load_topic(str(topic)).title
        if readings_of(topic_verdicts).shape[1] == 1:
            rows.append({"topic": topic, "with": name, "texts": len(topic_verdicts), "reason": ONE_READING})
            lines.append(
                unknown_sentence(
                    f"the correlation of scores and {name} on {title} without measurement error", ONE_READING
                )
            )
            continue
        correction = correct_for_judge(topic_verdicts, other)
        rows.append(
            {
                "topic": topic,
                "with": name,
                "texts": correction.units,
                **_values(correction),
                "reason": correction.reason,
            }
        )
        lines.append(correction_sentence(f"scores and {name} on {title}", ("scores", name), correction))
    return rows, lines


def _values(correction: Corrected) -> dict[str, float]:
    reliability = correction.reliabilities[0]
    named = {"r": (correction.observed, correction.observed_ends), "reliability": (reliability.value, reliability.ends),
             "corrected": (correction.value, correction.ends)}  # fmt: skip
    return {
        name + end: number
        for name, (value, (low, high)) in named.items()
        for end, number in (("", value), ("_low", low), ("_high", high))
    }
