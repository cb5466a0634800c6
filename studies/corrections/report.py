"""The report of replies to posts with false claims: qualities by condition, differences, quotations, retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.agents.evidence import FABRICATED, QUOTATION_KINDS
from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.figures import OTHERS, add_legend, draw_points, new_figure
from parley.analysis.formatting import DASH, Column, count_phrase, count_table, estimate, format_estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import POSITIVE, clustered_share_interval, share_interval, verdict
from parley.analysis.statistics.null import against_nulls, null_line
from parley.analysis.studies.paired_conditions import compare_conditions
from parley.studies.corrections.measures import (
    ALONE,
    CONDITIONS,
    EVIDENCE,
    MEASURES,
    OVERALL,
    QUALITIES,
    REPLACED,
    SHUFFLED,
    SWAPPED,
    WORDS,
    CorrectionStudy,
    by_post,
    retrieval,
)
from parley.studies.corrections.panel import add_panel

READING = (
    "A judge rates each quality of a reply from 1 to 5, with a separate question for each; `overall` is the mean of the four "
    "ratings. Samples of a post are averaged first. Brackets hold 95% intervals over posts, if there are five posts or more. "
    "Intervals are not corrected for the number of comparisons."
)
DIFFERENCES: Mapping[str, Column] = {
    "measure": "measure", "condition": "condition", "posts": "pairs", "difference": estimate("difference"),
}  # fmt: skip
FINDINGS = (
    *((quality, EVIDENCE, ALONE) for quality in QUALITIES),
    ("factuality", REPLACED, ALONE),
    ("politeness", REPLACED, ALONE),
    (OVERALL, EVIDENCE, SHUFFLED),
    (OVERALL, EVIDENCE, SWAPPED),
)
"""The comparisons that the report puts into words: measure, condition, and the condition that it is compared with."""
TABLED = (*MEASURES, WORDS)
QUALITY = (1.0, 5.0)
PREFERENCES = "preferences"
"""What a corrector is trained on."""
EXAMPLES = 2
"""Posts whose replies the report shows."""


def compare_measures(replies: pd.DataFrame) -> pd.DataFrame:
    """Return one row per measure (with `words`) and condition: the columns of `compare_conditions`, with `measure` first.

    Differences are from the first condition of the replies.
    """
    frames = by_post(replies)
    tables = {
        measure: compare_conditions(frames, measure, POSITIVE if measure == WORDS else QUALITY).set_index("condition")
        for measure in TABLED
    }
    return pd.concat(tables, names=["measure"]).reset_index()


def count_quotations(replies: pd.DataFrame) -> pd.DataFrame:
    """Return one row per condition: replies (with text), missing, quotations, and how many are of each kind."""
    written = replies.assign(replies=replies["text"].notna().astype(int), missing=replies["text"].isna().astype(int))
    columns = ["replies", "missing", "quotations", *QUOTATION_KINDS]
    counted = written[written["condition"] != SWAPPED].groupby("condition", sort=False)[columns].sum()
    return counted.reset_index()


def write_corrections(
    study: CorrectionStudy, replies: pd.DataFrame, folder: Path, compared_by: pd.DataFrame | None = None
) -> Path:
    """Write corrections.md, its tables (replies, qualities, quotations, retrieval) and the figure; return the page's path.

    compared_by: the comparisons of a panel, if there is one (panel.py).
    """
    compared, quoted, retrieved = compare_measures(replies), count_quotations(replies), retrieval(study)
    report = Report(folder, "corrections", "Replies to false claims")
    report.data(replies=replies, qualities=compared, quotations=quoted, retrieval=retrieved)
    report.add(
        f"{study.llm} answered {count_phrase(study.size, 'post')}, and {study.judge} judged the replies. {READING}",
        "\n".join(f"- **{name}**: {meaning}" for name, meaning in CONDITIONS.items()),
        "\n".join(f"- **{name}**: {meaning}" for name, meaning in QUALITIES.items()),
    )
    report.disclaim_models(study.llm, study.judge)
    missing_replies(report, replies)
    report.in_short(findings(replies))
    caption = f"{disclaimers.spec_label(study.llm)}; judge: {disclaimers.spec_label(study.judge)}"
    report.figure(figure(compared, list(CONDITIONS), caption), "corrections", "Qualities of replies by condition")
    report.section("Qualities")
    report.table(quality_rows(compared), ["condition", "posts rated", *TABLED])
    report.section(
        "Differences from replies with evidence",
        "Differences are within posts. A negative difference is a lower rating than with evidence.",
    )
    shown = compared[compared["condition"] != EVIDENCE]
    report.table(shown, DIFFERENCES)
    if compared_by is not None:
        add_panel(report, compared_by, study.size, study.llm)
    report.section("Quotations", "A program compares each quotation with the passages, word for word.")
    report.lines(f"- {kind}: {meaning}" for kind, meaning in QUOTATION_KINDS.items())
    report.table(quoted, {name: name for name in quoted.columns})
    report.section("Retrieval", retrieval_line(retrieved, study.passages))
    _show_examples(report, replies)
    report.add("The file `replies.csv` has every reply with its sources, quotations and verdicts.")
    return report.write()


def missing_replies(report: Report, replies: pd.DataFrame) -> None:
    """Add how many replies and verdicts are missing, and why. A swapped reply was written, and counted, for another post."""
    written, judged = replies[replies["condition"] != SWAPPED], replies[replies["text"].notna()]
    lost, unjudged = written[written["text"].isna()], judged[judged[OVERALL].isna()]
    report.missing(len(lost), len(written), "replies are missing", count_table(lost["reason"]))
    report.missing(
        len(unjudged), len(judged), "judged replies lack a verdict on some quality", count_table(unjudged["unjudged"])
    )


def quality_rows(compared: pd.DataFrame) -> list[list[str]]:
    """Return one row per condition: its posts with an overall rating, and each measure with its interval."""
    rows = []
    for condition, condition_rows in compared.groupby("condition", sort=False):
        wide = condition_rows.set_index("measure")[["value", "low", "high"]]
        shown = [format_estimate(*wide.loc[measure].astype(float)) for measure in TABLED]
        rows.append(
            [str(condition), str(condition_rows.loc[condition_rows["measure"] == OVERALL, "rooms"].sum()), *shown]
        )
    return rows


def findings(replies: pd.DataFrame) -> list[str]:
    """Return the comparisons of FINDINGS as sentences, and how many quotations were invented."""
    frames = by_post(replies)
    lines = []
    for measure, condition, other in FINDINGS:
        if {condition, other} <= frames.keys():
            compared = compare_conditions({other: frames[other], condition: frames[condition]}, measure, QUALITY)
            lines.append(finding(compared.iloc[1], measure, condition, other))
    counts = replies[replies["condition"] == EVIDENCE].groupby("post")[[FABRICATED, "quotations"]].sum()
    made, of = (counts[name].to_numpy(dtype=float) for name in counts)
    share = format_estimate(made.sum() / of.sum(), *clustered_share_interval(made, of)) if of.sum() else DASH
    lines.append(
        f"Of quotations in replies with passages, {made.sum():.0f} of {of.sum():.0f} are invented, a share of {share}."
    )
    return lines


def finding(row: pd.Series, measure: str, condition: str, other: str) -> str:
    """Return a comparison as a sentence. row: of `compare_conditions`, with the difference of `condition` from `other`."""
    start = f"{measure}, {'with passages' if condition == EVIDENCE else condition} compared with {other}"
    low, high = row["difference_low"], row["difference_high"]
    if not row["pairs"]:
        return f"{start}: no post has rated replies of both kinds."
    size = amount((row["difference"], low, high), HIGHER, of=count_phrase(row["pairs"], "post"))
    if pd.isna(low):
        return f"{start}: {size} (no verdict, because there is no interval)."
    return f"{start}: {verdict(low, high, '', '', 'no clear difference, ')}{size}."


def retrieval_line(retrieved: pd.DataFrame, shown: int) -> str:
    """Return how often a passage that answers the claim is among those shown, and among passages drawn at random."""
    if retrieved.empty:
        return "The file of posts does not say which passages answer the claims, so retrieval is not checked."
    hits, posts = int(retrieved["found"].sum()), len(retrieved)
    share = format_estimate(hits / posts, *share_interval(hits, posts))
    return (
        f"A passage that answers the claim is among the first {shown} for {hits} of {count_phrase(posts, 'post')} ({share}); "
        f"among {shown} random passages the expected share is {retrieved['chance'].mean():.2f}."
    )


def figure(compared: pd.DataFrame, conditions: Sequence[str], caption: str) -> Figure:
    """Draw each measure by condition, with bars for 95% intervals over posts."""
    with new_figure(4.6, 3.2, f"{caption}. Bars: 95% intervals over posts") as drawn:
        axis = drawn.subplots()
        for number, condition in enumerate(conditions):
            rows = compared[compared["condition"] == condition].set_index("measure").reindex(MEASURES).reset_index()
            look = OTHERS[number % len(OTHERS)]
            places = [
                place + 0.7 / len(conditions) * (number - (len(conditions) - 1) / 2) for place in range(len(MEASURES))
            ]
            drawn_as: Any = {"fmt": look["markers"][0], "color": look["color"], "elinewidth": 0.8, "label": condition}
            draw_points(axis, places, rows, "value", upright=True, **drawn_as)
        axis.set(ylim=(0.8, 5.2), ylabel="Rating by the judge (1–5)")
        axis.set_xticks(range(len(MEASURES)), MEASURES, fontsize=7)
        axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        add_legend(drawn, [axis], 3)
    return drawn


def _show_examples(report: Report, replies: pd.DataFrame) -> None:
    """Add the first replies to the first posts, as plain text."""
    report.section("Examples")
    for _, post_replies in replies[(replies["post"] <= EXAMPLES) & (replies["sample"] == 1)].groupby("post"):
        report.plain(f"Post {post_replies['post'].iloc[0]}: {post_replies['claim'].iloc[0]}")
        for row in post_replies[post_replies["condition"] != SWAPPED].itertuples():
            report.plain(f"{row.condition}: {row.text if isinstance(row.text, str) else f'(missing: {row.reason})'}")


def write_training(
    study: CorrectionStudy, rated: Mapping[str, pd.DataFrame], facts: Sequence[str], folder: Path
) -> Path:
    """Write trained.md, its tables and its figure; return the page's path.

    rated: `samples` and `held_out` (a row per reply), `compared` (differences from before the training). facts: lines about the
    training.
    """
    compared, replies = rated["compared"], rated["held_out"]
    conditions = list(dict.fromkeys(compared["condition"]))
    report = Report(folder, "trained", "A corrector before and after training")
    report.data(samples=rated["samples"], held_out=replies, trained=compared)
    report.add(
        f"{study.llm} was trained by DPO on its own replies, as {study.judge} rated them. {READING}",
        "All posts of this report were held out of the training. The null is a training on shuffled preferences, in which a "
        "random half of the pairs is reversed. Intervals over posts hold for these adapters only. The column `words` shows "
        "whether replies became shorter.",
    )
    report.disclaim_models(study.llm, study.judge)
    report.lines(f"- {fact}" for fact in facts)
    missing_replies(report, replies)
    report.in_short(training_findings(compared))
    caption = f"{disclaimers.spec_label(study.llm)}; judge: {disclaimers.spec_label(study.judge)}"
    report.figure(
        figure(compared, conditions, caption), "trained", "Qualities of held-out replies before and after training"
    )
    report.section("Qualities")
    report.table(quality_rows(compared), ["condition", "posts rated", *TABLED])
    report.section("Differences from before the training")
    shown = compared[compared["condition"] != conditions[0]]
    report.table(shown, DIFFERENCES)
    report.section("Quotations")
    quoted = count_quotations(replies)
    report.table(quoted, {name: name for name in quoted.columns})
    return report.write()


def training_findings(compared: pd.DataFrame) -> list[str]:
    """Return what the training changed in the overall rating of held-out replies, and whether the preferences did it."""
    first, trained, *others = (row for _, row in compared[compared["measure"] == OVERALL].iterrows())
    nulls = pd.Series([row["difference"] for row in others], dtype=float)
    null_result = against_nulls(float(trained["difference"]), nulls, PREFERENCES)
    return [
        finding(trained, OVERALL, str(trained["condition"]), str(first["condition"])),
        null_line("change of the rating", null_result, nulls.tolist(), PREFERENCES, "corrector", percent=False),
    ]
