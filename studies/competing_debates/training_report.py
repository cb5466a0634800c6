"""The report of a debater before and after training on verdicts, with shuffled verdicts as null.

The unit is the repetition, with the speeches of all its debaters: the same people debate every topic of it. An interval over
repetitions says what other people would do on these topics; one over topics needs five held-out topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.figures import draw_points, name_rows, new_figure
from parley.analysis.formatting import Column, count_table, number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, SHARE, why_no_interval
from parley.analysis.statistics.null import against_nulls, null_line
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.unknown import unknown_sentence

from .speeches import PERCENT, percent, preference, quality_table, rival_lines

EVEN = 0.5
ABOUT = (
    "Debaters of held-out topics speak twice, before and after the training, with the same person, side and seed. Personas who "
    "gave no verdict in the training compare the two first statements, in both orders. The row `trained` is the debater after "
    "training on the verdicts. The row `shuffled` is the debater after a training on shuffled verdicts. Without an effect the "
    "share is 50%. Brackets are 95% intervals over repetitions, because people debate every topic of a repetition."
)
SHARES: Mapping[str, Column] = {
    "debater": "kind", "pairs": "pairs", "repetitions": "units", "topics": "topics",
    "preferred to untrained (%)": percent, "words": number("words", 1),
    "words untrained": number("untrained_words", 1),
}  # fmt: skip


def share_table(values: pd.DataFrame) -> pd.DataFrame:
    """Return one row per trained debater: kind, pairs, units, topics, share with low and high over units, and mean words.

    values: a row per pair: kind (the debater), protocol, topic, repetition, words, untrained_words, value (share that prefers the
    speech to the untrained one; NaN: missing).
    """
    words = values.groupby("kind", sort=False)[["words", "untrained_words"]].mean()
    topics = values[values["value"].notna()].groupby("kind")["topic"].nunique().rename("topics")
    table = quality_table(values).drop(columns="protocol").join(words, on="kind").join(topics, on="kind")
    return table.assign(topics=table["topics"].fillna(0).astype(int))


def training_lines(table: pd.DataFrame, values: pd.DataFrame) -> list[str]:
    """Return what the training did. table: of `share_table`, the trained debater first, then those of shuffled verdicts.

    That verdicts make speeches better needs both: an interval over units above one half, and a share above what one more training
    on shuffled verdicts would give. The unit of the latter is the training: five are needed.
    """
    trained, nulls = table.iloc[0], table["share"].iloc[1:]
    null_result = against_nulls(float(trained["share"]), nulls, "verdicts")
    reason = _why_unknown(trained) or null_result[1]
    lines = [
        _share_line(trained),
        null_line("share", null_result, nulls.tolist(), "verdicts", "debater"),
        _topic_line(values),
    ]
    start = "training on verdicts makes speeches that readers prefer"
    if reason:
        return [*lines, unknown_sentence(f"whether {start}", reason)]
    if null_result[0] == 1 and trained["low"] > EVEN:
        return [*lines, f"On held-out topics, {start}: more than by chance or after training on shuffled verdicts."]
    return [*lines, f"It is not shown that {start}: the share must be above 50% and that of shuffled verdicts."]


def _why_unknown(row: pd.Series) -> str:
    if row["units"] < FEWEST:
        return f"fewer than {FEWEST} repetitions have a compared pair"
    return "the shares do not vary" if np.isnan(row["low"]) else ""


def _share_line(row: pd.Series) -> str:
    if reason := _why_unknown(row):
        return unknown_sentence("whether readers prefer the trained or the untrained debater's speech", reason)
    phrase = preference(row["low"], row["high"])
    return f"The trained debater's speech {phrase} than the untrained debater's: in {percent(row)}% of comparisons."


def _topic_line(values: pd.DataFrame) -> str:
    """Return what the share is over topics, for the trained debater."""
    trained_values = values[values["kind"] == values["kind"].iloc[0]] if len(values) else values
    means = trained_values.groupby("topic")["value"].mean().dropna().to_numpy(dtype=float)
    if reason := why_no_interval(means, "held-out topic"):
        return unknown_sentence("the share on other topics", reason)
    return f"Over {len(means)} held-out topics the share is {percent(mean_row(means, 'share', bounds=SHARE))}%."


def draw_shares(table: pd.DataFrame, caption: str) -> Figure:
    """Draw the share of comparisons won against the untrained debater, a row for each trained one."""
    with new_figure(4.2, 0.32 * len(table) + 1.3, f"{caption}. Bars: 95% intervals over repetitions") as figure:
        axis = figure.subplots()
        places = name_rows(axis, list(table["kind"]), PERCENT * EVEN)
        draw_points(axis, places, PERCENT * table[["share", "low", "high"]].astype(float), "share")
        axis.set_xlabel("Preferred to the untrained debater (%)")
    return figure


def write_training(
    values: pd.DataFrame,
    comparisons: pd.DataFrame,
    texts: Mapping[str, str],
    scored: pd.DataFrame,
    facts: Sequence[str],
    specs: tuple[str, str],
    folder: Path,
) -> Path:
    """Write trained.md, its tables and its figure; return the path of the page.

    values: as for `share_table`. comparisons, texts: all comparisons on held-out topics, and the speeches by id. scored: training
    speeches with their scores. facts: lines about the training. specs: the model that was trained, and that of the readers.
    """
    report, table = Report(folder, "trained", "A debater before and after training on verdicts"), share_table(values)
    speeches = pd.DataFrame(list(texts.items()), columns=["id", "text"])
    report.data(training=scored, speeches=speeches, comparisons=comparisons, speech_pairs=values, trained=table)
    report.add(ABOUT)
    report.disclaim_models(*dict.fromkeys(specs))
    report.lines(f"- {fact}" for fact in facts)
    lost = scored[scored["text"].isna()]
    report.missing(len(lost), len(scored), "training speeches are missing", count_table(lost["reason"]))
    report.missing(int(values["value"].isna().sum()), len(values), "held-out pairs are not compared", "")
    lost = comparisons["reason"][comparisons["share"].isna()]
    report.missing(len(lost), len(comparisons), "answers are missing", count_table(lost))
    trained = set(values["id"][values["kind"] == table["kind"].iloc[0]])
    rivals = rival_lines(
        comparisons[comparisons["first"].isin(trained) | comparisons["second"].isin(trained)], speeches
    )
    lines = [*training_lines(table, values), *rivals]
    report.in_short(lines)
    report.figure(draw_shares(table, f"{specs[0]}, read by {specs[1]}"), "trained", "Comparisons won, by training")
    report.table(table, SHARES)
    return report.write()
