"""The report of a run in which people choose one after another: summary, tables, figure and transcript."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.figures import OTHERS, add_legend, error_bars, new_figure, plot_line
from parley.analysis.formatting import count_phrase, escape_markdown, strip_controls
from parley.analysis.own_reports import RunReport
from parley.analysis.statistics.intervals import SHARE, mean_interval
from parley.analysis.tables import Tables

from . import wrong_cascades
from .periods import rules

READING = (
    "The unit of analysis is the room: periods of a room are averaged first, or taken as one cluster. Brackets hold 95% "
    "intervals over rooms. A Bayesian reads the choices of others by Bayes' rule, as choices of Bayesians; "
)
TIES = {"coin": "an undecided Bayesian tosses a coin.", "own": "an undecided Bayesian follows its own signal."}


def reading(tables: Tables) -> str:
    """Return how to read the numbers of a run."""
    return f"{READING}{TIES[rules(tables).ties]} {_setting(tables)}"


def _setting(tables: Tables) -> str:
    """Return the options of the environment as a sentence."""
    setting = rules(tables)
    planner = {
        "none": "No planner changes the precision.",
        "optimum": "A planner sets the precision of each signal to the value that is best with Bayesians.",
        "model": "A planner that is a model sets the precision of each signal.",
    }[setting.planner]
    aim = "the right option" if setting.aim == "right" else setting.aim
    wants = (
        ""
        if setting.planner == "none"
        else f" The planner wants people to choose {aim}; one unit of precision costs {setting.cost:g}."
    )
    return f"A is right with probability {setting.prior:g}, and a private signal with {setting.precision:g}. {planner}{wants}"


def silent_planners(tables: Tables) -> str:
    """Return how often the planner of a run could not be read, and why; "" where it always could."""
    unread = tables.decisions["planner_reason"].dropna()
    if unread.empty:
        return ""
    reasons = ", ".join(f"{reason} {count}" for reason, count in unread.value_counts().items())
    often = f"{count_phrase(len(unread), 'time')} of {len(tables.decisions):,} ({escape_markdown(reasons)})"
    return f"The planner's reply could not be read {often}; without a reply, signals kept the precision that is free."


def by_position(tables: Tables) -> pd.DataFrame:
    """Return a row per place in the order: position, rooms, right and signal (shares right, means of rooms) with intervals."""
    chosen = tables.decisions[tables.decisions["act"].notna()]
    hits = chosen.assign(right=chosen["act"] == chosen["state"], signal=chosen["signal"] == chosen["state"])
    rows = []
    for position, position_rows in hits.groupby("position"):
        means = position_rows.groupby("room")[["right", "signal"]].mean()
        row: dict[str, Any] = {"position": position, "rooms": len(means)}
        for name in means:
            values = means[name].to_numpy(dtype=float)
            ends = mean_interval(values, bounds=SHARE)
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), (values.mean(), *ends), strict=True))
        rows.append(row)
    columns = ["position", "rooms", *(name + end for name in ("right", "signal") for end in ("", "_low", "_high"))]
    return pd.DataFrame(rows, columns=columns)


FIGURE = "Do people who choose one after another make the right choice?"
ENDS = (
    "The left panel shows the share of right choices by place in the order, and the share of right private signals. The right "
    "panel shows how the periods ended. In a cascade everyone follows earlier choices, whatever the own signal says."
)


def figure(tables: Tables) -> Figure:
    """Draw the share of right choices by place in the order, and how periods ended."""
    scenario, rooms = tables.header.scenario, tables.decisions["room"].nunique()
    unfinished = "" if tables.finished else " (unfinished)"
    about = f"{scenario['name']}{unfinished} on {disclaimers.model_label(tables.header)}, seed {scenario['seed']}"
    note = f"Points are means over {count_phrase(rooms, 'room')}, bars are 95% intervals over rooms. {about}"
    with new_figure(6.4, 2.9, strip_controls(note), title=FIGURE, about=ENDS) as drawn:
        left, right = drawn.subplots(1, 2, width_ratios=(3, 2))
        points = by_position(tables)
        if len(points):
            plot_line(left, points, "position", "right", "Choices", OTHERS[1])
            plot_line(left, points, "position", "signal", "Private signals", OTHERS[0])
        left.set(ylim=(0, 1.03), xlabel="Place in the order of choosing", ylabel="Share right")
        _draw_ends(right, wrong_cascades.compute(tables))
        add_legend(drawn, [left], 2)
    return drawn


def _draw_ends(axis: Axes, table: pd.DataFrame) -> None:
    """Draw the share of each end of a period; a cross is what Bayesians would have."""
    names = {"right": "right\ncascade", "wrong": "wrong\ncascade", "left": "cascade\nleft", "none": "no\ncascade"}
    rows = pd.DataFrame(
        [
            {"at": place, **{key: table.iloc[0][f"{end}{key}"] for key in ("", "_low", "_high")}}
            for place, end in enumerate(names)
        ]
    ).rename(columns={"": "value", "_low": "value_low", "_high": "value_high"})
    axis.errorbar(
        rows["at"], rows["value"], yerr=error_bars(rows, "value"), fmt="o", color="#333333", markersize=4, capsize=2
    )
    if np.isfinite(table.iloc[0]["wrong_bayes"]):
        axis.plot([1], [table.iloc[0]["wrong_bayes"]], "x", color="#cb7e00", markersize=6)
        axis.annotate(
            "Bayesians", (1, table.iloc[0]["wrong_bayes"]), xytext=(6, 3), textcoords="offset points", fontsize=6
        )
    axis.set(ylim=(-0.03, 1.03), ylabel="Share of periods")
    axis.set_xticks(range(len(names)), names.values(), fontsize=6)
    axis.yaxis.set_major_locator(MaxNLocator(5))


def _transcript(tables: Tables) -> Iterator[str]:
    yield f"# {escape_markdown(tables.header.scenario['name'])}: choices\n"
    yield (
        f"Model: {escape_markdown(disclaimers.model_label(tables.header))}. Signals are private, and all people see all "
        "choices.\n"
    )
    for room, rows in tables.decisions.groupby("room", sort=False):
        yield f"\n## Room {escape_markdown(str(room))}"
        for round_, period in rows.groupby("round", sort=False):
            yield f"\n### Period {round_}: {period['state'].iloc[0]} is right\n"
            for row in period.sort_values("position").to_dict("records"):
                yield _line(row)
    yield ""


def _line(row: dict[str, Any]) -> str:
    act = row["act"] if isinstance(row["act"], str) else f"*(missing: {escape_markdown(str(row['reason']))})*"
    chance = "" if np.isnan(row["probability"]) else f", P(A) {row['probability']:.2f}"
    check = f"own check {row['signal']}, right {100 * row['precision']:.0f} times in 100"
    return f"{row['position']}. **{escape_markdown(row['name'])}:** {act} ({check}{chance})"


REPORT = RunReport(
    table="decisions",
    name="herding",
    figure=figure,
    caption="Right choices by place in the order, and how periods ended",
    metrics=("herding_time", "wrong_cascades", "welfare", "signal_weights"),
    reading=reading,
    transcript=_transcript,
    files="`transcript.md` shows every choice. The table `decisions` has a row per person and period "
    "(studies/herding/README.md).",
    note=silent_planners,
)
