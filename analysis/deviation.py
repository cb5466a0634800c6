"""How far each utterance of a run is from a piece of news, 0-10, by a judge that knows neither the speaker nor the round.

Written: deviation.md with the distance by role and step, as a table and a figure.
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
WHAT = (
    "**This is a distance between opinions, not the change of a story.** The news is one line, given to some "
    "agents at the start; all others say what they think. The distance does not begin at 0 and does not show how "
    "news changes from one "
    "telling to the next, which is what FUSE (Liu et al. 2024) measures."
)
LOOKS = (*OTHERS, *STYLES.values())
EVERYBODY = "everybody"


def source_of(tables: Tables, run: str) -> str:
    """The first message from outside the debate. Errors: UserError if there is none."""
    texts = tables.interventions["text"].dropna()
    if texts.empty:
        raise UserError(
            f"{run} has no message from outside the debate to compare with: give the text of the news with --source"
        )
    return str(texts.iloc[0])


def judge_deviation(
    tables: Tables, source: str, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT
) -> pd.DataFrame:
    """The table of `verdicts`, journaled in the folder and written to verdicts.csv. Errors: as `open_judge`."""
    with open_judge(RUBRIC, spec, folder, bar, {"seed": seed, "source": source}, budget) as judge:
        table = verdicts(tables, source, judge, seed)
        table.to_csv(folder / "verdicts.csv", index=False)
    return table


def verdicts(tables: Tables, source: str, judge: Judge, seed: int) -> pd.DataFrame:
    """One row per utterance: WHO, role, text, deviation (0-10, or NaN), reason."""

    def item(row: Any) -> Item:
        slots = {"source": one_line(source), "statement": one_line(str(row.text))}
        return Item((f"{row.room} {row.iteration}",), slots)

    table = judge.judge_utterances(RUBRIC, tables, seed, {"deviation": item})
    roles = tables.characters.set_index("agent")["role"].to_dict()
    table.insert(len(WHO), "role", [roles.get(agent) or NO_ROLE for agent in table["agent"]])
    return table.drop(columns="readings").rename(columns={"reasons": "reason"})


def by_role(verdicts: pd.DataFrame) -> pd.DataFrame:
    """One row per role (and everybody) and round: rooms, utterances, missing, deviation (mean of room means, 0-10), low, high."""
    rows = []
    for role, whole in ((EVERYBODY, verdicts), *((str(role), part) for role, part in verdicts.groupby("role"))):
        for round_, part in whole.groupby("round"):
            rooms = part.groupby("room", sort=False)["deviation"].mean().dropna().to_numpy(dtype=float)
            mean = float(rooms.mean()) if len(rooms) else np.nan
            missing = int(part["deviation"].isna().sum())
            rows.append((role, int(str(round_)), len(rooms), len(part), missing, mean, *mean_interval(rooms)))
    return pd.DataFrame(rows, columns=["role", "round", "rooms", "utterances", "missing", "deviation", "low", "high"])


def figure(points: pd.DataFrame, caption: str) -> Figure:
    """One line per role, by step; bars are 95% intervals over rooms."""
    with new_figure(3.8, 3.0, caption) as drawn:
        axis = drawn.subplots()
        roles = [role for role in points["role"].unique() if role != EVERYBODY]
        for number, role in enumerate(roles):
            plot_line(axis, points[points["role"] == role], "round", "deviation", role, LOOKS[number % len(LOOKS)])
        axis.set(ylim=(-0.3, 10.3), xlabel="Step", ylabel="Distance from the news (0–10)")
        axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
        add_legend(drawn, [axis], 3)
    return drawn


def write(table: pd.DataFrame, tables: Tables, source: str, folder: Path, spec: str) -> Path:
    """Write deviation.md, its table and the figure; return the path of the first."""
    points, name = by_role(table), tables.header.scenario["name"]
    report = Report(folder, "deviation", "Distance of utterances from the news")
    report.data(deviation=points)
    report.note(WHAT)
    report.add(
        f"The news: {escape_markdown(source)}",
        f"{spec} scored how far each of {count_phrase(len(table), 'utterance')} is from the news, from 0 (says "
        "the same) to 10 (says nothing of "
        "it). Numbers are means of room means, with 95% intervals over rooms in brackets. Roles are random; "
        "links between agents are not.",
    )
    report.disclaim(tables.header)
    unread = table.loc[table["deviation"].isna(), "reason"]
    report.missing(len(unread), len(table), "utterances have no score", count_table(unread))
    drawn = figure(points, f"{name} on {disclaimers.model_label(tables.header)}")
    report.figure(drawn, "deviation", "Distance by role and step")
    report.table(*_first_and_last(points))
    report.add("`deviation.csv` has the means of every round, `verdicts.csv` the score of every utterance.")
    return report.write()


def _first_and_last(points: pd.DataFrame) -> tuple[list[list[str]], list[str]]:
    """The rows (one per role) and the headings of the table."""
    ends, rows = [points["round"].min(), points["round"].max()], []
    for role, part in points.groupby("role", sort=False):
        steps = part.set_index("round")[["deviation", "low", "high"]].reindex(ends).to_numpy(dtype=float)
        counts = [str(part["utterances"].sum()), str(part["missing"].sum()), str(part["rooms"].max())]
        rows.append([str(role), *counts, *(format_estimate(*values) for values in steps)])
    return rows, ["role", "utterances", "missing", "rooms", *(f"step {step}" for step in ends)]
