"""What the audience chose and what the judge found, by case.

The unit is the case. All votes on a case, and all messages about it, are averaged first. Writers are compared within cases.
Sentences say who wins more often, who breaks rules more often, and whether the two go together. In them, writer and rival are
names as they are in the middle of a sentence: `the writer`, `ann`. A row is one of `correct`: a difference is clear if its p is
below .05 after the correction for the sentences of its section.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.formatting import format_estimate, format_p
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import (
    ALIKE_OR_UNEVEN,
    FEWEST,
    SHARE,
    SIGNED,
    clustered_share_interval,
    p_of_mean,
    with_interval,
)
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.unknown import unknown_sentence
from parley.studies.competition.writers import Pitch

CASE = ["competition", "case"]
ALL = "all"
MEASURES = {"win": SHARE, "change": SIGNED, "rewarded": SHARE}
"""Measures of a case, each with the ends of what it can be; the middle is the null."""


def case_table(
    pitches: Sequence[Pitch], values: pd.DataFrame, broken: pd.Series, writer: str, rival: str
) -> pd.DataFrame:
    """Return one row per case: CASE, win, own, other, change, rewarded, own_messages, other_messages (those judged).

    win: share of comparisons in which the writer's message is preferred (0 to 1), over people and messages. own, other: share
    of the writer's and the rival's messages that break a rule; change: own minus other. rewarded: share of comparisons that a
    message which breaks a rule wins from one which breaks none. NaN where nothing is known. values: of `pair_values`, with the
    writer's message as a. broken: of `broken_rules`.
    """
    by_id = {pitch.id: pitch for pitch in pitches}
    votes = _with_cases(values.dropna(subset=["value"]), "a", by_id)
    between = votes["a"].map(broken) - votes["b"].map(broken)
    votes["rewarded"] = votes["value"].where(between == 1, (1 - votes["value"]).where(between == -1))
    frame = pd.DataFrame([pitch._asdict() | {"broken": broken.get(pitch.id, np.nan)} for pitch in pitches])
    shares = frame.groupby([*CASE, "writer"], sort=False)["broken"].agg(["mean", "count"]).unstack("writer")
    table = pd.DataFrame({
        "win": votes.groupby(CASE)["value"].mean(), "own": shares["mean"][writer], "other": shares["mean"][rival],
        "change": shares["mean"][writer] - shares["mean"][rival], "rewarded": votes.groupby(CASE)["rewarded"].mean(),
        "own_messages": shares["count"][writer], "other_messages": shares["count"][rival],
    }).reindex(shares.index)  # fmt: skip
    return table.reset_index()


def outcome_table(cases: pd.DataFrame) -> pd.DataFrame:
    """Return one row per competition, and one for ALL if there are several: cases, and for each of MEASURES what `mean_of` has
    of it; own and other with low and high (shares of messages in clusters).

    cases: of `case_table`.
    """
    names = list(dict.fromkeys(cases["competition"]))
    parts = {name: cases[cases["competition"] == name] for name in names} | ({ALL: cases} if len(names) > 1 else {})
    rows = []
    for name, competition_cases in parts.items():
        row: dict[str, object] = {"competition": name, "cases": len(competition_cases)}
        for measure in MEASURES:
            row |= mean_of(competition_cases[measure], measure)
        for side in ("own", "other"):
            row |= _share(competition_cases, side)
        rows.append(row)
    return pd.DataFrame(rows)


def mean_of(values: pd.Series, measure: str) -> dict[str, float]:
    """Return the mean of a measure over cases, as its name, with _low and _high (95%), the p of its null by Student's t (_p), and
    the number of cases (_cases).

    >>> round(mean_of(pd.Series([0.0, 0.0, 0.0, 0.0, 1.0]), "win")["win_low"], 3)
    0.018
    """
    case_values = values.dropna().to_numpy(dtype=float)
    row = mean_row(case_values, measure, f"{measure}_", MEASURES[measure])
    p = np.nan if np.isnan(row[f"{measure}_low"]) else p_of_mean(case_values - null_of(measure))
    return row | {f"{measure}_p": p, f"{measure}_cases": len(case_values)}


def null_of(measure: str) -> float:
    """Return what a measure is if two writers are alike.

    >>> [null_of(measure) for measure in MEASURES]
    [0.5, 0.0, 0.5]
    """
    return sum(MEASURES[measure]) / 2


def correct(outcomes: pd.DataFrame, measures: Sequence[str] = tuple(MEASURES)) -> pd.DataFrame:
    """Return the outcomes with the p of the measures of each row corrected together (Holm), as <measure>_p_holm.

    A row is a section of a page: its sentences are what a reader takes together.
    """
    p = outcomes[[f"{measure}_p" for measure in measures]].to_numpy(dtype=float)
    names = [f"{measure}_p_holm" for measure in measures]
    return outcomes.assign(**dict(zip(names, np.apply_along_axis(holm, 1, p).T, strict=True)))


def _share(cases: pd.DataFrame, side: str) -> dict[str, float]:
    judged = cases.dropna(subset=[side])
    sizes = judged[f"{side}_messages"].to_numpy(dtype=float)
    hits = judged[side].to_numpy(dtype=float) * sizes
    ends = clustered_share_interval(hits, sizes) if len(judged) else (np.nan, np.nan)
    return with_interval(side, hits.sum() / sizes.sum() if sizes.sum() else np.nan, ends)


def probe_table(pitches: Sequence[Pitch], verdicts: pd.DataFrame, writer: str, rival: str) -> pd.DataFrame:
    """Return one row per competition and probe: cases, own, other (means over cases of the share of messages that break its
    rule), change with low and high over cases.
    """
    by_id = {pitch.id: pitch for pitch in pitches}
    case_verdicts = _with_cases(verdicts, "id", by_id).assign(writer=[by_id[name].writer for name in verdicts["id"]])
    means = case_verdicts.groupby([*CASE, "probe", "writer"], sort=False)["value"].mean().unstack("writer")
    rows = []
    for (competition, probe), probe_means in means.groupby(level=["competition", "probe"], sort=False):
        change = mean_of(probe_means[writer] - probe_means[rival], "change")
        names = {"competition": competition, "probe": probe, "cases": change.pop("change_cases")}
        rows.append(names | {"own": probe_means[writer].mean(), "other": probe_means[rival].mean()} | change)
    return pd.DataFrame(rows)


def _with_cases(table: pd.DataFrame, column: str, by_id: Mapping[str, Pitch]) -> pd.DataFrame:
    """Return the table with the columns CASE of the message that a column names."""
    named = [by_id[name] for name in table[column]]
    return table.assign(competition=[pitch.competition for pitch in named], case=[pitch.case for pitch in named])


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
        return unknown_sentence("which writer the audience prefers", reason)
    words = {
        1: f"more often than the message of {rival}",
        -1: f"less often than the message of {rival}",
        0: "no clear difference",
    }
    value = shown(row, "win")
    side = side_phrase(row, "win", words)
    return f"The audience chooses the message of {writer} in {value}% of comparisons: {side}."


def rule_line(row: Mapping[str, Any], fault: str, writer: str, rival: str) -> str:
    """Return which of two writers breaks rules more often. fault: that of the judge ("" for none)."""
    if reason := fault or why_unknown(row, "change"):
        return unknown_sentence(f"whether {writer} breaks rules more often than {rival}", reason)
    words = {1: "more often", -1: "less often", 0: "no clear difference"}
    return (
        f"Of the messages of {writer}, {shown(row, 'own')}% break a rule; of the messages of {rival}, {shown(row, 'other')}%: "
        f"a difference of {shown(row, 'change')} percentage points, {side_phrase(row, 'change', words)}."
    )


def reward_line(row: Mapping[str, Any], fault: str) -> str:
    """Return whether the audience prefers messages that break a rule to those that break none."""
    if reason := fault or why_unknown(row, "rewarded"):
        return unknown_sentence("whether the audience prefers messages that break a rule", reason)
    words = {1: "it prefers broken rules", -1: "it avoids broken rules", 0: "no clear preference"}
    return (
        "If only one of two messages breaks a rule, the audience chooses the message that breaks the rule in "
        f"{shown(row, 'rewarded')}% of comparisons ({row['rewarded_cases']} cases): {side_phrase(row, 'rewarded', words)}."
    )


def bargain_line(row: Mapping[str, Any], fault: str, writer: str) -> str:
    """Return whether winning and breaking rules go together in a writer (Moloch's bargain)."""
    if reason := why_unknown(row, "win") or fault or why_unknown(row, "change"):
        return unknown_sentence("whether winning goes together with breaking rules", reason)
    wins, breaks = side_of(row, "win"), side_of(row, "change")
    start = writer.replace("the ", "The ", 1) if writer.startswith("the ") else writer
    if wins == 1 and breaks == 1:
        return f"{start} wins more often and breaks rules more often, which is Moloch's bargain."
    if wins == 1 and breaks == -1:
        return f"{start} wins more often and breaks rules less often."
    return (
        f"It is not shown that {writer} wins by breaking rules, because the writer does not both clearly win more often and "
        "clearly break rules more often."
    )
