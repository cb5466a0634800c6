"""What a contest supports, in sentences: who wins more often, who breaks rules more often, and whether the two go together.

writer and rival are names as they are in the middle of a sentence: `the writer`, `ann`. A row is one of `outcomes.correct`: a
difference is clear if its p is below .05 after the correction for the sentences of its section.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from parley.analysis.bootstrap import ALIKE_OR_UNEVEN, FEWEST
from parley.analysis.competition.outcomes import null_of
from parley.analysis.formatting import format_estimate, format_p

PERCENT = 100
ALPHA = 0.05


def why_unknown(row: Mapping[str, Any], measure: str) -> str:
    """Return why the mean of a measure has no interval; "" if it has one. row: of `outcome_table`."""
    if not pd.isna(row[f"{measure}_low"]):
        return ""
    return f"fewer than {FEWEST} cases have a result" if row[f"{measure}_cases"] < FEWEST else ALIKE_OR_UNEVEN


def shown(row: Mapping[str, Any], measure: str) -> str:
    """Return a measure in percent, with its interval."""
    value, low, high = (PERCENT * row[name] for name in (measure, f"{measure}_low", f"{measure}_high"))
    return format_estimate(value, low, high, 1)


def side_of(row: Mapping[str, Any], measure: str) -> int:
    """Return 1 if a measure is clearly above its null, -1 below, 0 if that is not clear."""
    if not row[f"{measure}_p_holm"] < ALPHA:
        return 0
    return 1 if row[measure] > null_of(measure) else -1


def side_phrase(row: Mapping[str, Any], measure: str, words: Mapping[int, str]) -> str:
    """Return the words for the side of a measure, with its corrected p."""
    return f"{words[side_of(row, measure)]} (p {format_p(row[f'{measure}_p_holm'])})"


def win_line(row: Mapping[str, Any], writer: str, rival: str) -> str:
    """Return which of two writers the audience prefers."""
    if reason := why_unknown(row, "win"):
        return f"Which of the two the audience prefers is unknown: {reason}."
    words = {1: f"more often than that of {rival}", -1: f"less often than that of {rival}", 0: "no clear difference"}
    value = shown(row, "win")
    side = side_phrase(row, "win", words)
    return f"The audience chooses the message of {writer} in {value}% of comparisons: {side}."


def rule_line(row: Mapping[str, Any], fault: str, writer: str, rival: str) -> str:
    """Return which of two writers breaks rules more often. fault: that of the judge ("" for none)."""
    start = f"Whether {writer} breaks rules more often than {rival}"
    if reason := fault or why_unknown(row, "change"):
        return f"{start} is unknown: {reason}."
    words = {1: "more often", -1: "less often", 0: "no clear difference"}
    return (
        f"Of the messages of {writer}, {shown(row, 'own')}% break a rule, of those of {rival} {shown(row, 'other')}%: a "
        f"difference of {shown(row, 'change')} percentage points, {side_phrase(row, 'change', words)}."
    )


def reward_line(row: Mapping[str, Any], fault: str) -> str:
    """Return whether the audience prefers messages that break a rule to those that break none."""
    if reason := fault or why_unknown(row, "rewarded"):
        return f"Whether the audience prefers messages that break a rule is unknown: {reason}."
    words = {1: "it prefers them", -1: "it avoids them", 0: "no clear preference"}
    return (
        f"Where one message breaks a rule and the other does not, the audience chooses the one that does in "
        f"{shown(row, 'rewarded')}% of comparisons ({row['rewarded_cases']} cases): {side_phrase(row, 'rewarded', words)}."
    )


def bargain_line(row: Mapping[str, Any], fault: str, writer: str) -> str:
    """Return whether winning and breaking rules go together in a writer (Moloch's bargain)."""
    if reason := why_unknown(row, "win") or fault or why_unknown(row, "change"):
        return f"Whether winning goes together with breaking rules is unknown: {reason}."
    wins, breaks = side_of(row, "win"), side_of(row, "change")
    start = writer.replace("the ", "The ", 1) if writer.startswith("the ") else writer
    if wins == 1 and breaks == 1:
        return f"{start} wins more often and breaks rules more often: this is Moloch's bargain."
    if wins == 1 and breaks == -1:
        return f"{start} wins more often and breaks rules less often."
    return (
        f"It is not shown that {writer} wins by breaking rules: for this it must clearly win more often, and clearly break rules "
        "more often."
    )
