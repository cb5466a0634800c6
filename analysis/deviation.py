"""How far each utterance of a run is from a piece of news, 0-10, by a judge's word. It is not told who speaks, or when.

deviation.md: how far what is said is from the news, by role and step, as a table and a figure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.bootstrap import mean_interval
from parley.analysis.figures import OTHERS, STYLES, add_legend, new_figure, plot_line
from parley.analysis.formatting import count_phrase, count_table, escape_markdown, format_estimate
from parley.analysis.judging import WHO, Item, Judge, load_rubric, one_line, open_judge
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar
from parley.llm.errors import UserError

RUBRIC = load_rubric("deviation")
NO_ROLE = "no role"


def source_of(tables: Tables, run: str) -> str:
    """The first thing that was said from outside. Errors: UserError where nothing was."""
    said = tables.interventions["text"].dropna()
    if said.empty:
        raise UserError(f"{run} has no news that came from outside: give the text with --source")
    return str(said.iloc[0])


def judge_deviation(
    tables: Tables, source: str, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT
) -> pd.DataFrame:
    """The table of `verdicts`, journaled in the folder and written to verdicts.csv. Errors: as `open_judge`."""
    with open_judge(RUBRIC, spec, folder, bar, {"seed": seed, "source": source}, budget) as judge:
        found = verdicts(tables, source, judge, seed)
        found.to_csv(folder / "verdicts.csv", index=False)
    return found


def verdicts(tables: Tables, source: str, judge: Judge, seed: int) -> pd.DataFrame:
    """A row an utterance: WHO, role, text, deviation (0-10, or NaN), reason."""

    def item(row: Any) -> Item:
        slots = {"source": one_line(source), "statement": one_line(str(row.text))}
        return Item((f"{row.room} {row.iteration}",), slots)

    found = judge.judge_utterances(RUBRIC, tables, seed, {"deviation": item})
    roles = tables.characters.set_index("agent")["role"].to_dict()
    found.insert(len(WHO), "role", [roles.get(agent) or NO_ROLE for agent in found["agent"]])
    return found.drop(columns="readings").rename(columns={"reasons": "reason"})


WHAT = (
    "**This is the distance of opinions, not the evolution of a story.** The news is one line, told to some at the start; all "
    "others speak from what they think. The distance does not begin at 0 and does not show how news changes from one telling to "
    "the next, which is what FUSE (Liu et al. 2024) measures."
)
LOOKS = (*OTHERS, *STYLES.values())
EVERYBODY = "everybody"


def by_role(found: pd.DataFrame) -> pd.DataFrame:
    """One row a role (and everybody) and round: rooms, utterances, missing, deviation (mean of room means, 0-10), low, high."""
    parts = [(EVERYBODY, found), *((str(role), part) for role, part in found.groupby("role"))]
    rows = [_row(role, int(str(round_)), part) for role, whole in parts for round_, part in whole.groupby("round")]
    return pd.DataFrame(rows)


def _row(role: str, round_: int, part: pd.DataFrame) -> dict[str, object]:
    rooms = part.groupby("room", sort=False)["deviation"].mean().dropna().to_numpy(dtype=float)
    low, high = mean_interval(rooms)
    told = {"rooms": len(rooms), "utterances": len(part), "missing": int(part["deviation"].isna().sum())}
    mean = float(rooms.mean()) if len(rooms) else np.nan
    return {"role": role, "round": round_, **told, "deviation": mean, "low": low, "high": high}


def figure(points: pd.DataFrame, caption: str) -> Figure:
    """A line for each role, by step; bars are 95% intervals over rooms."""
    with new_figure(3.8, 3.0, caption) as drawn:
        axis = drawn.subplots()
        roles = [role for role in points["role"].unique() if role != EVERYBODY]
        for number, role in enumerate(roles):
            plot_line(axis, points[points["role"] == role], "round", "deviation", role, LOOKS[number % len(LOOKS)])
        axis.set(ylim=(-0.3, 10.3), xlabel="Step", ylabel="Distance from the news (0–10)")
        axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        add_legend(drawn, [axis], 3)
    return drawn


def write(found: pd.DataFrame, tables: Tables, source: str, folder: Path, spec: str) -> Path:
    """Write deviation.md, its table and the figure; the path of the first."""
    points, name = by_role(found), tables.header.scenario["name"]
    report = Report(folder, "deviation", "How far what is said is from the news")
    report.data(deviation=points)
    report.note(WHAT)
    report.add(
        f"The news: {escape_markdown(source)}",
        f"{count_phrase(len(found), 'utterance')}, each compared with it by {spec}: 0 says the same, 10 has nothing of it left. "
        "Means of room means; brackets hold 95% intervals over rooms. Roles are drawn by lot; whom one hears is not.",
    )
    report.disclaim(tables.header)
    unread = found.loc[found["deviation"].isna(), "reason"]
    report.missing(len(unread), len(found), "lack a verdict", count_table(unread))
    drawn = figure(points, f"{name} on {disclaimers.model_label(tables.header)}")
    report.figure(drawn, "deviation", "Distance by role and step")
    report.table(*_first_and_last(points))
    report.add("Every step is in `deviation.csv`, every verdict in `verdicts.csv`.")
    return report.write()


def _first_and_last(points: pd.DataFrame) -> tuple[list[list[str]], list[str]]:
    """Rows and headings of the table: a row a role."""
    rounds = sorted(points["round"].unique())
    rows = []
    for role, part in points.groupby("role", sort=False):
        line = part.set_index("round")[["deviation", "low", "high"]].reindex([rounds[0], rounds[-1]])
        told = [format_estimate(*values) for values in line.to_numpy(dtype=float)]
        counts = [str(part["utterances"].sum()), str(part["missing"].sum()), str(part["rooms"].max())]
        rows.append([str(role), *counts, *told])
    return rows, ["role", "utterances", "missing", "rooms", f"step {rounds[0]}", f"step {rounds[-1]}"]
