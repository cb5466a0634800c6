"""The section of human.md about the parts of human-likeness, and its figure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.figures import ESTIMATE, new_figure
from parley.analysis.formatting import Column, estimate, number
from parley.analysis.human.readers import ALL
from parley.analysis.report import Report

ABOUT = (
    "Each part compares one property of the run with people. `ceiling` is the distance between random halves of the people, and "
    "`null` the distance from people to samples without this property (docs/human.md lists them). The score is 1 for a run as "
    "near as other people, and 0 for one as near as the null; it can be above 1 or below 0. Brackets hold 95% intervals over "
    "rooms and groups of people. Parts are never added up: one number would hide where a run is unlike people."
)
WHOLE = "The table has all conditions of each source together; `likeness.csv` has every condition."
FIGURE = "The score of each part, with a 95% interval; no dot: the score is unknown."


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
            at = [names.index(part) for part in rows["part"]]
            axis.hlines(at, rows["score_low"], rows["score_high"], color=ESTIMATE, linewidth=1.2)
            axis.plot(rows["score"], at, "o", color=ESTIMATE, markersize=4)
            for place, line in ((0, "--"), (1, "-")):
                axis.axvline(place, color="#555555", linewidth=0.8, linestyle=line, zorder=0)
            ends = [-0.5, 1.5, *rows["score_low"].dropna(), *rows["score_high"].dropna()]
            low, high = max(-3.0, float(np.min(ends))), min(3.0, float(np.max(ends)))
            axis.set(title=source, xlabel="Score (dashed: null, solid: ceiling)", xlim=(low - 0.1, high + 0.1))
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure
