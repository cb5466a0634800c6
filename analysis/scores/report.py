"""A report on scores: comparisons by either procedure, reversion, gradients, echo chambers, and the figure of the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.plots import OTHERS, STYLES, save, style
from analysis.scores.gradients import echo_chambers, gradients
from analysis.scores.reversion import STATISTICS, ratios
from analysis.scores.table import HIGH, LOW, Line, lines
from analysis.scores.ucl import DIFFER, compare, smoothed
from analysis.wording import counted, estimate, markdown_table, number, span

PARTIES = {"Sam": "default", "Alex": "republican", "Riley": "republican", "Morgan": "republican",
           "Taylor": "democrat", "Quinn": "democrat", "Drew": "democrat"}  # fmt: skip
"""The names of the study; other agents are told apart, but are of no party."""


def write(scores: pd.DataFrame, folder: Path, published: bool, what: str, parties: Mapping[str, str] = PARTIES) -> Path:
    """Write report.md, figure and tables; the path of the first. `published`: smoothed scores and statement units first."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = smoothed(scores) if published else scores
    found = {
        "comparisons": pd.concat([compare(scores, way) for way in (published, not published)], ignore_index=True),
        "reversion": ratios(shown, zero=published),
        "gradients": gradients(shown),
        "echo_chambers": echo_chambers(shown, {name: party for name, party in parties.items() if party != "default"}),
    }
    for name, frame in found.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    caption = f"{what}: means over runs, bars from the first to the third quartile" + (
        ", smoothed" if published else ""
    )
    save(figure(shown, caption, parties), folder / "scores")
    path = folder / "report.md"
    path.write_text("\n\n".join(_parts(scores, found, published, what)) + "\n", encoding="utf-8")
    return path


def figure(scores: pd.DataFrame, caption: str, parties: Mapping[str, str] = PARTIES) -> Figure:
    """A row a condition, a column a topic; a line an agent."""
    known = {(line.topic, line.condition, line.agent): line for line in lines(scores)}
    topics, conditions = (list(scores[name].unique()) for name in ("topic", "condition"))
    agents = list(scores["agent"].unique())
    with style():
        drawn = Figure(figsize=(max(2.1 * len(topics) + 0.6, 3.5), 1.7 * len(conditions) + 0.8), layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(len(conditions), len(topics), sharex=True, sharey=True, squeeze=False)
        for axes, condition in zip(grid, conditions, strict=True):
            for axis, topic in zip(axes, topics, strict=True):
                for place, agent in enumerate(agents):
                    if line := known.get((topic, condition, agent)):
                        _line(axis, line, _look(agent, place, agents, parties), (place - (len(agents) - 1) / 2) * 0.12)
                axis.set(ylim=(LOW - 0.2, HIGH + 0.2), yticks=range(LOW, HIGH + 1))
                axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
            axes[0].set_ylabel(f"{condition}\nscore (1-7)")
        for axis, topic in zip(grid[0], topics, strict=True):
            axis.set_title(str(topic))
        for axis in grid[-1]:
            axis.set_xlabel("statement")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        handles, labels = next(axis.get_legend_handles_labels() for axis in grid.flat if axis.has_data())
        drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=7)
        drawn.suptitle(caption, fontsize=7)
    return drawn


def _line(axis: Axes, line: Line, look: dict[str, object], aside: float) -> None:
    means = np.nanmean(line.scores, axis=0)
    low, high = np.nanquantile(line.scores, [0.25, 0.75], axis=0)
    at = np.arange(1, len(means) + 1)
    axis.vlines(at + aside, low, high, color=look["color"], linewidth=0.8, alpha=0.7)
    axis.plot(at + aside, means, label=line.agent, linewidth=1.0, markersize=3, **look)  # type: ignore[arg-type]


def _look(agent: str, place: int, agents: list[str], parties: Mapping[str, str]) -> dict[str, object]:
    """Colour and line of the party, a marker of its own for each of a party's agents."""
    party = parties.get(agent)
    found = STYLES[party] if party in STYLES else OTHERS[place % len(OTHERS)]
    alike = [other for other in agents if parties.get(other) == party]
    return {
        "color": found["color"],
        "linestyle": found["linestyle"],
        "marker": found["markers"][alike.index(agent) % 4],
    }


def _parts(scores: pd.DataFrame, found: Mapping[str, pd.DataFrame], published: bool, what: str) -> Iterator[str]:
    missing = int(scores["score"].isna().sum())
    runs = scores.groupby(["topic", "condition"])["run"].nunique()
    held = f"{counted(len(scores), 'score')}, {missing} missing, {span(runs)} runs a topic and condition"
    yield f"# Scores of statements\n\n{what}: {held}."
    yield "![Scores by statement](scores.png)"
    comparisons = found["comparisons"]
    if len(comparisons):
        yield f"## Do conditions differ?\n\n{DIFFER} Brackets: 95% intervals; p is corrected (Holm) within a topic and procedure."
        yield markdown_table(_COMPARED, [_compared(row) for row in comparisons.to_dict("records")])
    rule = "undefined ratios count as 0, as in the paper" if published else "undefined ratios are left out"
    yield f"## Reversion\n\nR is 1 when the last statement is back at the first, negative when it went on; over topics, {rule}."
    rows = [
        [str(row["condition"]), str(row["agent"]), str(row["topics"]), str(row["undefined"]),
         *[estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in STATISTICS]]
        for row in found["reversion"].to_dict("records")
    ]  # fmt: skip
    yield markdown_table(["condition", "agent", "topics", "undefined", "mean R", "median R", "pooled R"], rows)
    yield "## Slopes\n\nPoints a statement, over the means of runs; the interval is over runs."
    rows = [
        [str(row["topic"]), str(row["condition"]), str(row["agent"]), number(row["mean"]), number(row["change"]),
         number(row["iqr"]), estimate(row["slope"], row["slope_low"], row["slope_high"], 3)]
        for row in found["gradients"].to_dict("records")
    ]  # fmt: skip
    yield markdown_table(["topic", "condition", "agent", "mean", "last - first", "mean IQR", "slope"], rows)
    if len(found["echo_chambers"]):
        yield "## Echo chambers\n\nFormed when all agents of a party have slopes away from the middle, on their side of it."
        rows = [[str(value) for value in row.values()] for row in found["echo_chambers"].to_dict("records")]
        yield markdown_table(["topic", "condition", "party", "agents", "outward", "formed"], rows)


_COMPARED = ("topic", "procedure", "conditions", "test", "unit", "n", "estimate", "p", "p corrected")


def _compared(row: Mapping[str, object]) -> list[str]:
    if row["reason"]:
        told = [str(row["reason"]), "–", "–"]
    else:
        size = estimate(row["estimate"], row["low"], row["high"])  # type: ignore[arg-type]
        told = [f"{row['measure']} {size}", _p(row["p"]), _p(row["p_holm"])]
    return [*[str(row[name]) for name in ("topic", "procedure", "effect", "test", "unit", "n")], *told]


def _p(value: object) -> str:
    """`0.0123`, `3.5e-08`."""
    return number(value, 4) if not isinstance(value, float) or not value < 0.0001 else f"{value:.1e}"
