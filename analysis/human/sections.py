"""Sections of the comparison with people: how alike each measure is, and who speaks when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import formatting
from parley.analysis.figures import ESTIMATE, new_figure
from parley.analysis.formatting import DASH, Column, estimate, number
from parley.analysis.human.fidelity import fidelity
from parley.analysis.human.kinds import PUBLISHED, compare_kinds, compare_published
from parley.analysis.human.readers import ALL, TRACES, Source, find
from parley.analysis.human.sequences import PARTS
from parley.analysis.report import Report

ABOUT = (
    "Each part compares one property of the run with people. `ceiling` is the distance between random halves of the "
    "people, and `null` the distance from people to samples without this property (docs/personas.md lists the "
    "samples). The score is 1 for a run as near to people as other people are, and 0 for a run as near as the null. "
    "The score can be above 1 or below 0. Brackets hold 95% intervals over rooms and groups of people. Scores of parts "
    "are never added up: one number would hide where a run is unlike people."
)
WHOLE = "The table pools all conditions of each source; the file `likeness.csv` has every condition."
FIGURE = "The figure shows the score of each part, with a 95% interval. A part without a dot has an unknown score."


def add_likeness(report: Report, parts: pd.DataFrame, caption: str) -> None:
    """Add the section, the table `likeness` and the figure. parts: the table of `compare_parts`."""
    report.data(likeness=parts)
    shown = whole_rows(parts)
    report.section("Parts of human-likeness", ABOUT, WHOLE)
    report.table(shown, COLUMNS)
    if shown["score"].notna().any():
        report.figure(draw_likeness(shown, caption), "likeness", "Scores of the parts of human-likeness")


def whole_rows(parts: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of all conditions of each source together, or of its only condition."""
    several = parts.groupby("people")["condition"].transform("nunique") > 1
    return parts[~several | (parts["condition"] == ALL)]


COLUMNS: Mapping[str, Column] = {
    "people": lambda row: f"{row['people']}: {row['condition']}", "part": "part", "groups": "groups",
    "rooms of different people": "rooms",
    "run": number("run_value"), "people's": number("people_value"), "distance to the run": number("run", 3),
    "ceiling": number("ceiling", 3), "null": number("null", 3), "score": estimate("score"), "verdict": "verdict",
}  # fmt: skip


def draw_likeness(shown: pd.DataFrame, caption: str) -> Figure:
    """Draw a panel for each source: a line per part, from the null (0) to the ceiling (1)."""
    sources = list(dict.fromkeys(shown["people"]))
    names = list(dict.fromkeys(shown["part"]))
    title = "Parts of human-likeness"
    with new_figure(7.2, 1.2 + 0.24 * len(names), caption, 8, title=title, about=FIGURE) as figure:
        panels = figure.subplots(1, len(sources), sharey=True, squeeze=False)[0]
        for axis, source in zip(panels, sources, strict=True):
            rows = shown[(shown["people"] == source) & shown["score"].notna()]
            at = [names.index(part_name) for part_name in rows["part"]]
            axis.hlines(at, rows["score_low"], rows["score_high"], color=ESTIMATE, linewidth=1.2)
            axis.plot(rows["score"], at, "o", color=ESTIMATE, markersize=4)
            for place, line in ((0, "--"), (1, "-")):
                axis.axvline(place, color="#555555", linewidth=0.8, linestyle=line, zorder=0)
            ends = [-0.5, 1.5, *rows["score_low"].dropna(), *rows["score_high"].dropna()]
            low, high = max(-3.0, float(np.min(ends))), min(3.0, float(np.max(ends)))
            axis.set(
                title=source, xlabel="Score (dashed line: null, solid line: ceiling)", xlim=(low - 0.1, high + 0.1)
            )
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


STEPS = (
    "A step is the change of an opinion from one turn to the next, toward the other side. Distance is the distance between the "
    "steps of the run and of the people (Wasserstein, 0-1). Compare this distance with the distance between random halves of "
    "the people, and with the distance of someone who never moves. The score is 1 for the people's own distribution, and 0 for "
    "a distribution no nearer to the people's distribution than never moving. Intervals of a distance are biased upward."
)
ORDER = (
    "These parts depend on the order of steps, so a sampler of shuffled human steps fails such parts. Each distance "
    "begins at random halves of the people and leads to the run, to the other half (the ceiling), to the other half "
    "with its steps shuffled, and to people who never move. The score is 1 for a run as near to people as other people "
    "are, and 0 for a run as near as the nearer of shuffled steps and never moving. The score can be above 1 or below "
    "0. The first two columns show the part itself, in the run and in people: the slope of the step on the belief "
    "before it, the two correlations, and the share. Brackets hold 95% intervals over talks and rooms. The parts are "
    "not added up: a run can be like people in one part and unlike people in another part. If the people themselves "
    "have no more order than shuffled steps (permutation test, p of 0.05 or more), the score is unknown."
)
KINDS = (
    "K-means (k = 2) divides people into those who stay and those who move, by how far people's opinions have moved at each "
    "stage of the talk. Each agent belongs to the kind whose centre is nearer. Brackets hold 95% intervals over talks and "
    "rooms. K-means always finds two kinds. The column `explained` is the share of spread that the two kinds explain. The "
    "column `shuffled` is the share in shuffled steps, and p says how often shuffled steps explain as much."
)
AS_PUBLISHED = (
    "The table shows the published clusters, recomputed from the traces (change toward the persuader, 0-1). In most of "
    "the talks, a persuader argues against the claim. In talks with such a persuader, the belief after the last turn "
    "does not agree with the belief right after the talk. Compare the change at the last turn with the change right "
    "after the talk before you read much into the kind that moves."
)
NO_TURNS = "The human data have no opinions after single turns, so the turns cannot be compared."


def add_turn_sections(
    report: Report, run: Source, people: Sequence[Source], order: pd.DataFrame, data: Path | None
) -> None:
    """Add the sections, and the tables sequences and kinds. order: `compare_sequences`; data: the folder with the human files."""
    steps = fidelity(run, people)
    if steps.empty:
        report.section("From turn to turn", STEPS, NO_TURNS)
        return
    kinds = compare_kinds(run, people, data)
    report.data(sequences=order, kinds=kinds)
    report.section("From turn to turn", STEPS, _step_table(steps))
    report.section("The order of steps", ORDER, _order_table(order))
    report.section("Two kinds of people", KINDS, _kind_table(kinds))
    summary, traces = (find(data, names) if data else None for names in (PUBLISHED, TRACES))
    if summary and traces and len(published := compare_published(summary, traces)):
        report.add(AS_PUBLISHED)
        report.add(formatting.frame_table(published, PUBLISHED_COLUMNS))


def _step_table(steps: pd.DataFrame) -> str:
    columns: Mapping[str, Column] = {
        "people": lambda row: f"{row['people']}: {row['condition']}", "talks": "talks", "steps": "steps",
        "rooms of different people": "rooms", "distance": estimate("distance", 3), "score": estimate("score", 3),
        "halves of the people": number("halves", 3), "never moving": number("still", 3),
        "reason if missing": lambda row: row["reason"] or DASH,
    }  # fmt: skip
    return formatting.frame_table(steps, columns)


def _order_table(order: pd.DataFrame) -> str:
    columns: Mapping[str, Column] = {
        "people": lambda row: f"{row['people']}: {row['condition']}", "part": lambda row: PARTS.get(row["part"], DASH),
        "run": number("run_value"), "people's": number("people_value"), "distance to the run": number("run", 3),
        "to other people": number("halves", 3), "to shuffled": number("shuffled", 3), "to never moving": number("still", 3),
        "p of no order": number("p", 3), "score": _score_cell,
    }  # fmt: skip
    return formatting.frame_table(order, columns)


def _score_cell(row: Mapping[str, Any]) -> str:
    return f"unknown: {row['reason']}" if row["reason"] else estimate("score")(row)


def _kind_table(kinds: pd.DataFrame) -> str:
    columns: Mapping[str, Column] = {
        "people": lambda row: f"{row['people']}: {row['condition']}", "talks": "talks", "rooms of different people": "rooms",
        "people who move": estimate("moving"), "agents who move": estimate("run_moving"), "explained": number("explained"),
        "shuffled": number("explained_shuffled"), "p": number("p", 3), "reason if missing": lambda row: row["reason"] or DASH,
    }  # fmt: skip
    return formatting.frame_table(kinds, columns)


PUBLISHED_COLUMNS: Mapping[str, Column] = {
    "kind": "kind", "talks, published": "published_n", "talks": "n", "first step, published": number("published_first", 3),
    "first step": number("first", 3), "last turn, published": number("published_end", 3), "last turn": number("end", 3),
    "right after the talk": number("after", 3),
}  # fmt: skip
