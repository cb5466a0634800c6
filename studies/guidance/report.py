"""An official account guides public opinion: no statement, an empty one, one with facts, one with empathy.

The same people use the same medium, with the same links and random streams, once under each condition. All conditions are the
same word for word before the first statement (checked), so an effect is a difference within a room: condition minus condition.
A judge scores how negative or positive posts are; attitudes are the ratings of the last survey.

The empathy paradox (POSIM 2025) is that empathy makes posts more negative. It is claimed only where posts are more negative than
without a statement, and than with an empty one: any statement interrupts, whatever it says.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.contrasts import HIGHER, Sides, amount, movement
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import Column, count_phrase, estimate
from parley.analysis.judging import load_rubric
from parley.analysis.rubric_report import by_round, rounds_of_rooms
from parley.analysis.statistics.intervals import FEWEST, verdict, why_no_interval
from parley.analysis.studies.intervention import check_past
from parley.analysis.studies.paired_conditions import PAIR, conditions_report, mean_row, unit_means
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.interventions.base import Intervention
from parley.model.scenario import Scenario

from .statement import EMPATHIC, EMPTY, FACTUAL, STYLES, Guidance, Style

RUBRIC = load_rubric("sentiment")
NONE = "none"
CONDITIONS = (NONE, EMPTY, FACTUAL, EMPATHIC)
CONTRASTS = ((EMPATHIC, NONE), (EMPATHIC, EMPTY), (FACTUAL, NONE), (FACTUAL, EMPTY), (EMPATHIC, FACTUAL), (EMPTY, NONE))
MEASURES = {
    "sentiment": "sentiment of posts (0-10)",
    "attitude": "attitude at the end (0-10)",
    "posts": "posts in a room",
}
CAPTION = (
    "Effects are differences between two conditions in a room with equal people, links and random streams, and equal words "
    "before round {}, the round of the first statement (checked). Sentiment is the mean score of a room's posts after the first "
    "statement, by {}; 0 is very negative, 10 very positive. Attitude is the mean rating in the last survey. Brackets are 95% "
    "intervals over rooms, not corrected for the number of rows. The null is the difference between `empty` and `none`, which "
    "is the effect of an interruption without content. Replies after the first statement are sampled again in each condition, "
    "so rooms also differ by chance, which the intervals include."
)
EFFECTS: Mapping[str, Column] = {
    "measure": "measure", "contrast": "contrast", "pairs": "pairs", "left out": "missing", "effect": estimate("effect"),
    "reason without interval": "reason",
}  # fmt: skip


def conditions(base: Scenario) -> dict[str, Scenario]:
    """Return the scenario of each condition: all other interventions stay. Errors: UserError without guidance or a survey."""
    if not any(isinstance(intervention, Guidance) for intervention in base.interventions):
        raise UserError(
            f"the scenario {base.name} has no guidance whose styles could be compared: add --intervene "
            '"guidance round=4 style=factual"'
        )
    if base.surveys.survey == "never":
        raise UserError(
            "attitudes cannot be compared, because the scenario has no survey: set survey=rounds or survey=ends"
        )
    others = tuple([intervention for intervention in base.interventions if not isinstance(intervention, Guidance)])
    guided: dict[str, tuple[Intervention, ...]] = {
        style: tuple([_in_style(intervention, style) for intervention in base.interventions]) for style in STYLES
    }
    return {name: base.with_settings({"interventions": guided.get(name, others)}) for name in CONDITIONS}


def _in_style(intervention: Intervention, style: Style) -> Intervention:
    return replace(intervention, style=style) if isinstance(intervention, Guidance) else intervention


def guidance(base: Scenario) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yield the scenario of each condition, and receive its tables. Errors: UserError where they differ before the first one."""
    runs: dict[str, Tables] = {}
    for name, scenario in conditions(base).items():
        runs[name] = yield scenario
        check_past(runs[NONE], runs[name], first_round(base))
    return runs


def first_round(base: Scenario) -> int:
    """Return the round of the first statement."""
    return min(intervention.round for intervention in base.interventions if isinstance(intervention, Guidance))


def rooms(tables: Tables, verdicts: pd.DataFrame, first: int) -> pd.DataFrame:
    """Return one row per room: PAIR and MEASURES, of posts from the round `first` on (NaN: no score, no rating)."""
    after = verdicts[(verdicts["round"] >= first) & verdicts["text"].notna()].groupby("room")["sentiment"]
    ratings = tables.attitudes
    is_main_rating = ratings["group"].isin(tables.groups) & (ratings["probe"] == tables.header.scenario["probe"])
    last = ratings[is_main_rating & (ratings["round"] == ratings["round"].max())]
    seats = tables.agents[tables.agents["group"].isin(tables.groups)]
    table = seats.drop_duplicates("room")[[*PAIR, "group", "room"]].set_index("room")
    table["sentiment"], table["attitude"] = after.mean(), last.groupby("room")["attitude"].mean()
    table["posts"] = after.size().reindex(table.index, fill_value=0).astype(float)
    return table.reset_index(drop=True)


def effects(by_room: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per measure and contrast: pairs of rooms, missing (pairs left out), effect with its interval over
    repetitions, reason.

    by_room: that of `rooms`, by condition. reason: why there is no interval.
    """
    keyed = {name: frame.set_index([*PAIR, "group"]) for name, frame in by_room.items()}
    rows = []
    for measure in MEASURES:
        for treated, control in CONTRASTS:
            differences = keyed[treated][measure] - keyed[control][measure]
            means, pairs = unit_means(differences), int(differences.count())
            row = {"measure": measure, "contrast": f"{treated} - {control}", "pairs": pairs}
            row |= {"missing": len(differences) - pairs, **mean_row(means, "effect", "effect_")}
            rows.append(row | {"reason": why_no_interval(means, "repetition")})
    return pd.DataFrame(rows)


MOOD = Sides("more positive", "more negative")


def sentences(table: pd.DataFrame) -> list[str]:
    """Return what the effects say: one sentence per style, and whether there is an empathy paradox."""
    by_contrast = {(row["measure"], row["contrast"]): row for row in table.to_dict("records")}
    lines = [
        paradox(by_contrast["sentiment", f"{EMPATHIC} - {NONE}"], by_contrast["sentiment", f"{EMPATHIC} - {EMPTY}"])
    ]
    named = {EMPATHIC: "empathy", FACTUAL: "facts", EMPTY: "an empty statement"}
    for style, name in named.items():
        for measure, words in (("sentiment", MOOD), ("attitude", HIGHER)):
            lines.append(_difference(by_contrast[measure, f"{style} - {NONE}"], measure, name, words))
    return lines


def paradox(whole: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Return the sentence on the empathy paradox. whole, content: effects on sentiment, against none and against empty."""
    sides = [verdict(row["effect_low"], row["effect_high"], 1, -1, 0) for row in (whole, content)]
    sizes = " and by ".join(
        f"{abs(row['effect']):.2f} {than}"
        for row, than in ((whole, "points compared with no statement"), (content, "compared with an empty statement"))
    )
    if np.isnan([whole["effect_low"], content["effect_low"]]).any():
        return (
            f"It is unknown whether there is an empathy paradox, because a verdict needs posts with a score in {FEWEST} "
            "repetitions, and effects that differ between repetitions."
        )
    if sides == [-1, -1]:
        return f"Empathy paradox: empathy made posts more negative, by {sizes}."
    if sides == [1, 1]:
        return f"No empathy paradox: empathy eased the mood, by {sizes}."
    clear = [
        f"{movement(row['effect'], MOOD)} compared {than}"
        for row, side, than in zip((whole, content), sides, ("with no statement", "with an empty one"), strict=True)
        if side
    ]
    if not clear:
        return "No empathy paradox was found: posts under empathy cannot be distinguished from posts without empathy."
    return (
        f"No empathy paradox was found: under empathy, posts are {' and '.join(clear)}. A paradox needs posts more negative "
        "than with no statement, and more negative than with an empty statement."
    )


def _difference(row: Mapping[str, Any], measure: str, name: str, words: Sides) -> str:
    subject = {"sentiment": "posts were", "attitude": "attitudes ended"}[measure]
    if np.isnan(row["effect_low"]):
        return f"With {name}, the effect on {measure} is unknown ({row['reason']})."
    size = amount((row["effect"], row["effect_low"], row["effect_high"]), words)
    if row["effect_low"] <= 0 <= row["effect_high"]:
        return f"With {name}, {measure} cannot be distinguished from {measure} without a statement: {size}."
    return f"With {name}, compared with no statement, {subject} {size}."


def write(
    runs: Mapping[str, Tables], verdicts: Mapping[str, pd.DataFrame], first: int, judge: str, folder: Path
) -> Path:
    """Write guidance.md, its tables (effects, conditions by round, verdicts) and its figure; return the path of the page."""
    table = effects({name: rooms(tables, verdicts[name], first) for name, tables in runs.items()})
    scores, bounds = RUBRIC.columns, RUBRIC.bounds
    points = {name: by_round(rounds_of_rooms(verdicts[name], runs[name], scores), scores, bounds) for name in runs}
    curves = pd.concat(points, names=["condition"]).reset_index("condition")
    header = runs[NONE].header
    tables = {
        "effects": table,
        "rounds": curves,
        "verdicts": pd.concat(verdicts, names=["condition"]).reset_index("condition"),
    }
    report = conditions_report(
        folder, "guidance", "Guidance with empathy and with facts", CAPTION.format(first, judge), header, **tables
    )
    report.add(runs[NONE].opinion_note)
    figure = _figure(curves, first, disclaimers.model_label(header))
    report.figure(figure, "guidance", "Sentiment and posts by condition")
    report.in_short(sentences(table))
    report.section("Effects")
    report.table(table.assign(measure=table["measure"].map(MEASURES)), EFFECTS)
    scores = tables["verdicts"].loc[tables["verdicts"]["text"].notna(), "sentiment"]
    report.add(f"{count_phrase(int(scores.isna().sum()), 'post')} of {len(scores):,} had no readable score.")
    report.add(
        "The file `rounds.csv` has sentiment and posts by round and condition. Each condition is a complete run in its own "
        "folder."
    )
    return report.write()


def _figure(curves: pd.DataFrame, first: int, caption: str) -> Figure:
    """Draw sentiment above the number of posts, by round: one line per condition, a line where the first statement comes."""
    with new_figure(5.2, 4.6, f"{caption}. Bars are 95% intervals over rooms, of each condition alone") as figure:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.6, 1])
        mean = curves.groupby(["condition", "round"], sort=False).mean(numeric_only=True).reset_index()
        several = curves[["topic", "group"]].drop_duplicates().shape[0] > 1
        lines = (mean if several else curves).groupby("condition", sort=False)
        for (name, line), look in zip(lines, OTHERS, strict=False):
            for axis, measure in ((above, "sentiment"), (below, "texts")):
                plot_line(axis, line, "round", measure, str(name), look)
        for axis in (above, below):
            axis.axvline(first - 0.5, color="#555555", linewidth=0.6)
            axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        above.set(ylim=(-0.3, 10.3), ylabel="Sentiment (0–10)")
        below.set(ylim=(0, None), ylabel="Posts in a room", xlabel="Round")
        add_legend(figure, [above], 4)
    return figure
