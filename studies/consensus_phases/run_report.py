"""The report of a run with two answers: summary, tables, figure and transcript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import count_phrase, escape_markdown, strip_controls
from parley.analysis.own_reports import RunReport
from parley.analysis.statistics.intervals import SHARE, mean_interval
from parley.analysis.tables import Tables

from .environment import FOR
from .group_consensus import rules

FIGURE = "How many people answer for the claim, round by round"
ABOUT = "All people of a room answer at the same time, after they have read the last answers of the others."


def reading(tables: Tables) -> str:
    """Return how to read the numbers of a run."""
    setting = rules(tables)
    seen = {
        "group": "Before each answer, people saw how many of the others in their room had answered for the claim and against it.",
        "curve": "The numbers that people saw were made up, to measure the response to each number.",
    }[setting.told]
    begins = {
        "alone": "In the first round people saw no answer of others.",
        "for": "In the first round all others were said to agree with the claim.",
        "against": "In the first round all others were said to disagree with the claim.",
    }[setting.begins]
    unit = "The unit of analysis is the room. Brackets hold 95% intervals over rooms."
    return " ".join([unit, seen, *([begins] if setting.told == "group" else [])])


def by_round(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and round: topic, round, rooms, share (for the claim, mean of rooms) with its interval."""
    topics = tables.agents.drop_duplicates("room").set_index("room")["topic"]
    read = tables.sides[tables.sides["side"].notna()]
    shares = (read["side"] == FOR).groupby([read["room"].map(topics), read["round"], read["room"]]).mean()
    rows: list[dict[str, Any]] = []
    for (topic, round_), values in shares.groupby(level=[0, 1]):
        low, high = mean_interval(values.to_numpy(dtype=float), bounds=SHARE)
        rows.append(
            {"topic": topic, "round": round_, "rooms": len(values), "share": values.mean(), "low": low, "high": high}
        )
    return pd.DataFrame(rows, columns=["topic", "round", "rooms", "share", "low", "high"])


def figure(tables: Tables) -> Figure:
    """Draw the share of answers for the claim by round."""
    points, scenario = by_round(tables), tables.header.scenario
    unfinished = "" if tables.finished else " (unfinished)"
    rooms = count_phrase(tables.sides["room"].nunique(), "room")
    about = f"{scenario['name']}{unfinished} on {disclaimers.model_label(tables.header)}, seed {scenario['seed']}"
    note = f"Points are means over {rooms}, bars are 95% intervals over rooms. {about}"
    with new_figure(4.6, 2.9, strip_controls(note), title=FIGURE, about=ABOUT) as drawn:
        axis = drawn.subplots()
        for (topic, rows), look in zip(points.groupby("topic", sort=False), OTHERS, strict=False):
            plot_line(axis, rows, "round", "share", tables.title(str(topic)), look)
        axis.set(ylim=(-0.03, 1.03), xlabel="Round", ylabel="Share for the claim")
        add_legend(drawn, [axis], 2)
    return drawn


def _transcript(tables: Tables) -> Iterator[str]:
    yield f"# {escape_markdown(tables.header.scenario['name'])}: answers\n"
    yield f"Model: {escape_markdown(disclaimers.model_label(tables.header))}.\n"
    names = tables.agents.set_index(["room", "agent"])["name"]
    for room, rows in tables.sides.groupby("room", sort=False):
        yield f"\n## Room {escape_markdown(str(room))}"
        for round_, answers in rows.groupby("round", sort=False):
            yield f"\n### Round {round_}\n"
            for row in answers.to_dict("records"):
                yield _line(row, str(names[room, row["agent"]]))
    yield ""


def _line(row: dict[str, Any], name: str) -> str:
    side = f"{row['side']}" if isinstance(row["side"], str) else f"*(missing: {escape_markdown(str(row['reason']))})*"
    chance = "" if np.isnan(row["probability"]) else f", P(for) {row['probability']:.2f}"
    told = f"told that {row['agree']} of {row['others']} others agree" if row["others"] else "saw no answer of others"
    return f"- **{escape_markdown(name)}:** {side} ({told}{chance})"


REPORT = RunReport(
    table="sides",
    name="sides",
    figure=figure,
    caption="Share of answers for the claim, round by round",
    metrics=("group_consensus",),
    reading=reading,
    transcript=_transcript,
    files="`transcript.md` shows every answer. The table `sides` has a row per person and round "
    "(studies/consensus_phases/README.md).",
)
