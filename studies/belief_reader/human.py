"""How beliefs of people move from turn to turn of a talk (PersuasionTrace), compared with a reader of planted weights.

The table has beliefs, counts of messages and words, and no texts, so no line can be tagged. What can be compared is the shape of
a course: how large steps are by turn, how many go back, and what a talk about another claim does. The unit is the talk.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import Column, estimate, format_estimate
from parley.analysis.human.readers import TRACES, Source, find, persuasiontrace
from parley.analysis.report import Report
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError

from .reader import Weights, belief_of, log_odds

CONTROL = "control"
CLUSTERS = "persuasiontrace_human_clusters_k2_summary.csv"
PERCENT = 100
TURNS = 4
"""Turns that the page shows: later ones have few talks."""
PEOPLE = "people"
KINDS: Mapping[str, float] = {"reader, a new reason each turn": 1.0, "reader, the same reason each turn": 0.5}
"""Readers by what is left of a weight at the next turn."""
SLIDE = 5.0
"""Points (0-100) that a slider moves by itself."""
NOT_COMPARED = (
    "The reader cannot show which reasons and appeals move people, because the table has no texts. Beliefs of people are means "
    "of sliders, and may differ from what people think. Talks against the claim are mirrored in the table, and control talks "
    "are about another claim, so beliefs after turns of these talks are not compared."
)


class Traces(NamedTuple):
    """source: the talks of the table. clusters: the published summary of two clusters; None if its file is not there."""

    source: Source
    clusters: pd.DataFrame | None


def read_traces(folder: Path) -> Traces:
    """Return the talks of people under a folder. Errors: UserError without the file."""
    if (path := find(folder, TRACES)) is None:
        raise UserError(f"{folder} does not have the file {TRACES[0]} (docs/personas.md): give the folder that has it")
    clusters = find(folder, (CLUSTERS,))
    columns = ("mean_first_delta", "mean_end_delta", "share", "n")
    return Traces(
        persuasiontrace(path), read_table(clusters, columns, "docs/personas.md", numbers=columns) if clusters else None
    )


def turn_steps(source: Source) -> pd.DataFrame:
    """Return a row per talk and turn with beliefs before and after: talk, turn, before, step.

    before: 0-1, for the persuader's side. step: points of 100 toward the persuader.
    """
    rows = []
    for row in source.people[source.people["condition"] != CONTROL].itertuples():
        course = [row.before, *row.turns]
        toward = [value if row.side > 0 else 1 - value for value in course]
        for turn, (first, second) in enumerate(pairwise(toward), 1):
            if np.isfinite(first) and np.isfinite(second):
                rows.append((str(row.group), turn, first, PERCENT * (second - first)))
    return pd.DataFrame(rows, columns=["talk", "turn", "before", "step"])


def reader_steps(steps: pd.DataFrame, weight: float, repeat: float) -> pd.DataFrame:
    """Return the steps of a reader that begins where each person began and hears one line for the persuader each turn.

    >>> people = pd.DataFrame({"talk": ["a", "a"], "turn": [1, 2], "before": [0.5, 0.9], "step": [0.0, 0.0]})
    >>> reader_steps(people, 1.0, 0.5)["step"].round(1).tolist()
    [23.1, 8.7]
    """
    odds: dict[str, float] = {}
    moved = []
    for talk, turn, before in zip(steps["talk"], steps["turn"], steps["before"], strict=True):
        first = odds.get(talk, log_odds(before))
        odds[talk] = first + weight * repeat ** (turn - 1)
        moved.append(PERCENT * (belief_of(odds[talk]) - belief_of(first)))
    return steps.assign(step=moved)


def by_turn(steps: pd.DataFrame, who: str) -> pd.DataFrame:
    """Return a row per turn: who, turn, people (one a talk), toward, size and back, with intervals over talks.

    toward: the mean step, size: the mean of its absolute value, in points of 100. back: the share of steps that go away
    from the persuader by more than SLIDE.
    """
    rows = []
    for turn, turn_rows in steps[steps["turn"] <= TURNS].groupby("turn"):
        means = {
            "toward": turn_rows["step"],
            "size": turn_rows["step"].abs(),
            "back": (turn_rows["step"] < -SLIDE).astype(float),
        }
        row = {"who": who, "turn": int(str(turn)), "people": len(turn_rows)}
        for name, values in means.items():
            mean = clustered_mean(values, turn_rows["talk"], bounds=(0, 1) if name == "back" else None)
            row |= {name: mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}
        rows.append(row)
    return pd.DataFrame(rows)


def change_of(source: Source, control: bool) -> ClusteredMean:
    """Return the mean change over whole talks toward the persuader, points of 100: of control talks, or of the others."""
    people = source.people[(source.people["condition"] == CONTROL) == control]
    return clustered_mean(PERCENT * people["side"] * (people["after"] - people["before"]), people["group"])


def write_traces(traces: Traces, folder: Path, out: Path) -> Path:
    """Write belief-traces.md, its table and figure; return the path of the page."""
    steps, weight = turn_steps(traces.source), Weights().usual
    tables = [by_turn(steps, PEOPLE), *(by_turn(reader_steps(steps, weight, kept), who) for who, kept in KINDS.items())]
    table = pd.concat(tables, ignore_index=True)
    report = Report(out, "belief-traces", "Beliefs of people and of a reader from turn to turn")
    report.add(f"{traces.source.name}: {traces.source.origin}.", *traces.source.notes)
    report.in_short([*turn_sentences(table), control_sentence(traces.source)])
    about = (
        "The table has steps toward the persuader in points of 100, with 95% intervals over talks. A step back is a step of "
        f"more than {SLIDE:g} points away from the persuader. A reader begins with the belief of a person, and reads a "
        f"message of weight {weight:g} in each turn. This weight is planted, not fitted."
    )
    report.section("Steps by turn", about)
    report.data(turns=table)
    columns: Mapping[str, Column] = {
        "who": "who", "turn": "turn", "people": "people", "step toward the persuader": estimate("toward", 1),
        "size of a step": estimate("size", 1),
        "steps back, %": estimate("back", 0, PERCENT),
    }  # fmt: skip
    report.table(table, columns)
    report.figure(_figure(table), "turns", "Mean step toward the persuader by turn, of people and readers")
    if traces.clusters is not None:
        report.section("The two published clusters of courses", *cluster_sentences(traces.clusters))
    report.section("What cannot be compared", NOT_COMPARED)
    return report.write()


def turn_sentences(table: pd.DataFrame) -> list[str]:
    """Return how first and second steps compare, and how many steps of people go back."""
    people = table[table["who"] == PEOPLE].set_index("turn")
    if not {1, 2} <= set(people.index):
        return ["The table has no second step of people, so courses cannot be compared."]
    first, second = (_shown(people.loc[turn], "toward", 1, 1) for turn in (1, 2))
    back = _shown(people.loc[2], "back", PERCENT, 0)
    lines = [f"People moved {first} points toward the persuader in the first turn and {second} in the second turn."]
    for who in KINDS:
        reader = table[table["who"] == who].set_index("turn")["toward"]
        lines.append(f"The {who}, moved {reader[1]:.1f} points in the first turn and {reader[2]:.1f} in the second.")
    return [
        *lines,
        f"{back}% of second steps of people went back; no reader goes back if all messages are for one side.",
    ]


def _shown(row: pd.Series, name: str, factor: float, digits: int) -> str:
    """Return a number of a row with its interval."""
    return format_estimate(factor * row[name], factor * row[f"{name}_low"], factor * row[f"{name}_high"], digits)


def control_sentence(source: Source) -> str:
    """Return what whole talks did, and talks about another claim."""
    treated, control = change_of(source, False), change_of(source, True)
    shown = [format_estimate(mean.value, mean.low, mean.high, 1) for mean in (treated, control)]
    return (
        f"Over whole talks people moved {shown[0]} points toward the persuader ({treated.n} talks), in control talks "
        f"{shown[1]} ({control.n}). A reader moves 0 in a control talk, because no message is about the claim."
    )


def cluster_sentences(clusters: pd.DataFrame) -> list[str]:
    """Return what a reader can say of the published clusters."""
    lines = []
    for row in clusters.itertuples():
        first, end = PERCENT * float(str(row.mean_first_delta)), PERCENT * float(str(row.mean_end_delta))
        lines.append(
            f"{PERCENT * float(str(row.share)):.0f}% of people ({float(str(row.n)):.0f}) moved {first:.0f} points in the "
            f"first turn and {end:.0f} points over all turns."
        )
    return [*lines, "A reader moves further with each message for one side, so no reader has a first step that is larger than "
                    "the whole change. Two clusters need readers with different weights."]  # fmt: skip


def _figure(table: pd.DataFrame) -> Figure:
    caption = "Readers have planted weights. Bars: 95% intervals over talks"
    with new_figure(4.6, 3.0, caption) as figure:
        axis = figure.subplots()
        for number, (who, rows) in enumerate(table.groupby("who", sort=False)):
            look = {"color": "#0072b2", "markers": "o", "linestyle": "-"} if number == 0 else OTHERS[number - 1]
            plot_line(axis, rows, "turn", "toward", str(who), look)
        axis.axhline(0, color="#999999", linewidth=0.8)
        axis.set(xlabel="turn", ylabel="step toward the persuader (points of 100)")
        add_legend(figure, [axis])
    return figure
