"""The report of `run.py study dissonance`: the slope, its null, and the probability to choose by relative dissonance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.laws.dissonance import choice_probability
from parley.analysis.figures import add_legend, draw_null, draw_points, new_figure
from parley.analysis.formatting import Column, count_phrase, estimate, format_number, format_span, number
from parley.analysis.report import Report
from parley.analysis.unknown import unknown_sentence
from parley.studies.dissonance.choices import Swapped, by_ratio, fit, pairs, swapped_slopes

READING = (
    "The relative dissonance of a pair A, B is d(A) / d(B): distances to the mean of the beliefs that the person took before. "
    "The fit is P(A) = 1 / (1 + r^slope). With slope 0 dissonance has no effect. Brackets are 95% intervals, clustered by person."
)
TICKS = (0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10)
FEWEST_SWAPS, CHANCE = 100, 0.05


def write_dissonance(choices: pd.DataFrame, vectors: pd.DataFrame, source: str, folder: Path) -> Path:
    """Write dissonance.md, its tables (slope, choices by relative dissonance) and a figure; return the path of the page.

    source: where the vectors come from, for the page.
    """
    rows = pairs(choices, vectors)
    fitted, bins, swapped = fit(rows), by_ratio(rows), swapped_slopes(choices, vectors)
    report = Report(folder, "dissonance", "Relative dissonance of beliefs")
    report.data(slope=pd.DataFrame([fitted]), by_ratio=bins)
    report.add(READING, f"{count_phrase(len(vectors), 'belief')} in {vectors.shape[1]} dimensions ({source}).")
    counted = f"{fitted['choices']:,} of {len(rows):,} choices, of {count_phrase(fitted['people'], 'person')}"
    rest = "a first choice has no earlier beliefs, or a belief has no vector or no distance"
    report.add(f"Used: {counted.replace('persons', 'people')}; left out: {fitted['left_out']:,} ({rest}).")
    report.in_short([sentence(fitted, swapped), null_sentence(swapped)])
    report.section(
        "Choices by relative dissonance",
        "A is the belief that comes first in the alphabet. Bins have equally many choices.",
    )
    if len(bins):
        report.figure(_figure(bins, fitted["slope"]), "dissonance", "Probability to choose by relative dissonance")
        report.table(bins, BINS)
    return report.write()


def swapped_p(swapped: Swapped) -> float:
    """Return how often a slope with the earlier beliefs of others is as steep as with one's own; NaN with too few slopes."""
    if len(swapped.others) < FEWEST_SWAPS or not np.isfinite(swapped.own):
        return np.nan
    return (1 + int((np.abs(swapped.others) >= abs(swapped.own) - 1e-12).sum())) / (len(swapped.others) + 1)


def sentence(fitted: Mapping[str, Any], swapped: Swapped) -> str:
    """Return what the slope says; unknown without an interval. A slope as with the beliefs of others is no preference."""
    p = swapped_p(swapped)
    if not np.isfinite(fitted["low"]) or np.isnan(p):
        return unknown_sentence("whether people take the nearer belief", fitted["reason"] or "too few slopes of others")
    size = f"slope {format_number(fitted['slope'])}, {format_span(fitted['low'], fitted['high'])}"
    nearer = f"{fitted['nearer']:.0%} of choices are for the nearer belief"
    if fitted["low"] <= 0 <= fitted["high"]:
        return f"Choices do not clearly depend on relative dissonance ({size}); {nearer}."
    if p >= CHANCE:
        return (
            f"The slope ({size}) is not clearly steeper than with the beliefs of other people, so popular beliefs can explain "
            "the slope."
        )
    side = "nearer to" if fitted["low"] > 0 else "further from"
    return f"People prefer the belief that is {side} their own ({size}); {nearer}."


def null_sentence(swapped: Swapped) -> str:
    """Return how the slope compares with slopes for the earlier beliefs of others."""
    p = swapped_p(swapped)
    if np.isnan(p):
        return "It is unknown how the slope compares with the earlier beliefs of others, because too few slopes can be fitted."
    span = format_span(*np.quantile(swapped.others, [0.025, 0.975]).tolist())
    return (
        f"With the earlier beliefs of other people, 95% of slopes are from {span}; with the person's own beliefs the slope is "
        f"{format_number(swapped.own)} (as steep: p {p:.3f}). Earlier beliefs leave out the two beliefs of a choice."
    )


def _figure(bins: pd.DataFrame, slope: float) -> Figure:
    note = "Points are shares of choices, bars are 95% intervals over people"
    with new_figure(4.6, 3.2, note, title="Which belief do people take?") as figure:
        axis = figure.subplots()
        draw_points(axis, bins["ratio"], bins, "share", upright=True, label="Choices")
        if np.isfinite(slope):
            ratio = np.geomspace(bins["ratio"].min(), bins["ratio"].max(), 100)
            axis.plot(ratio, choice_probability(ratio, np.ones(100), slope), color="#333333", linewidth=1, label="Fit")
        draw_null(axis, 0.5)
        axis.set(
            xscale="log", ylim=(-0.03, 1.03), xlabel="Relative dissonance d(A) / d(B)", ylabel="Share that takes A"
        )
        ticks = [tick for tick in TICKS if bins["ratio"].min() <= tick <= bins["ratio"].max()]
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        add_legend(figure, [axis], 2)
    return figure


BINS: Mapping[str, Column] = {
    "d(A) / d(B)": number("ratio"), "choices": "choices", "people": "people", "share that takes A": estimate("share"),
}  # fmt: skip
