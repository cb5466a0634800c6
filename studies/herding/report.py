"""People choose one after another, with and without a planner: Bayesians, and the model of the user.

Every condition has the same seed, so states and the luck of signals are the same, and conditions are compared within rooms.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.contrasts import Sides, amount
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import count_table, format_estimate, format_number
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import POSITIVE, SHARE, verdict
from parley.analysis.studies.paired_conditions import PAIR, compare_conditions, conditions_report
from parley.analysis.tables import Tables
from parley.llm.backends import in_society
from parley.model.scenario import Scenario

from .herding_time import herding_time
from .law import BAYESIAN, A, outcomes
from .optimum import Aim, fixed_value, planned_value
from .periods import periods, rules
from .run_report import by_position, silent_planners
from .wrong_cascades import end_of

NONE, FOR_RIGHT, FOR_A = "no planner", "planner for the right option", "planner for A"
PLANNERS: Mapping[str, Mapping[str, Any]] = {
    NONE: {"planner": "none", "aim": "right"},
    FOR_RIGHT: {"planner": "optimum", "aim": "right"},
    FOR_A: {"planner": "optimum", "aim": "A"},
}
BAYES, MODEL = "Bayesians", "model"
MEASURES = ("right", "chose_a", "wrong", "time", "precision", "cost")
SHARES = frozenset({"right", "chose_a", "wrong"})
"""Measures whose intervals end at 0 and 1, and those of their differences at -1 and 1."""
CAPTION = (
    "The column *right* has the share of right choices, and *chose A* the share of choices of A. The column *wrong cascades* "
    "has the share of periods that end in a wrong cascade. Herding time is the place in the order from which on all people "
    "choose the same option. Precision and cost are means per person. Numbers are means over rooms, and brackets are 95% "
    "intervals over rooms. Differences are from rooms without a planner, with the same right options and signals drawn alike."
)


def conditions(base: Scenario) -> dict[str, dict[str, Any]]:
    """Return the settings of each condition: three of Bayesians, and of another model five more, two with a model as planner."""
    bayesian = in_society("oracle", base.subject.society)
    plain = {f"{BAYES}, {name}": {**settings, "llm": bayesian, "llms": ()} for name, settings in PLANNERS.items()}
    if base.models.llm == bayesian and not base.models.llms:
        return plain
    planners = {f"{MODEL}, {name}": dict(settings) for name, settings in PLANNERS.items()}
    model_planners = {
        f"{MODEL}, model as {name}": {**settings, "planner": "model"}
        for name, settings in PLANNERS.items()
        if name != NONE
    }
    return plain | planners | model_planners


def rooms(tables: Tables) -> pd.DataFrame:
    """Return one row per room: PAIR and MEASURES, means over its periods (NaN where no choice could be read)."""
    repetition = tables.decisions.drop_duplicates("room").set_index("room")["repetition"]
    setting, rows = rules(tables), []
    for period in periods(tables):
        acts = [choice.act for choice in period.choices]
        levels = period.table["precision"].to_numpy(dtype=float)
        row = {"topic": period.topic, "repetition": repetition[period.room], "precision": levels.mean()}
        row["cost"] = float((setting.cost * np.abs(levels - setting.precision)).mean())
        if acts:
            row["right"], row["chose_a"] = (
                np.mean([act == period.state for act in acts]),
                np.mean([act == A for act in acts]),
            )
            row["wrong"], row["time"] = float(end_of(period)[0] == "wrong"), herding_time(acts)
        rows.append(row)
    return pd.DataFrame(rows, columns=[*PAIR, *MEASURES]).groupby(PAIR, sort=False).mean().reset_index()


def write(runs: Mapping[str, Tables], folder: Path) -> Path:
    """Write herding.md, its tables and its figure; return the path of the page."""
    by_room = {name: rooms(tables) for name, tables in runs.items()}
    compared = pd.concat(
        {measure: _within_speakers(by_room, measure) for measure in MEASURES}, names=["measure"]
    ).reset_index(level=0)
    header = list(runs.values())[-1].header
    report = conditions_report(folder, "herding", "Steering the herd", CAPTION, header, herding=compared)
    _add_missing(report, runs)
    report.figure(_figure(runs, disclaimers.model_label(header)), "herding", "Right choices by place in the order")
    report.in_short(sentences(compared))
    report.section("Conditions")
    heads = [
        "condition",
        "rooms",
        "right",
        "difference",
        "chose A",
        "wrong cascades",
        "herding time",
        "precision",
        "cost",
    ]
    report.table([_cells(compared, name) for name in runs], heads)
    _add_theory(report, next(iter(runs.values())))
    return report.write()


def _within_speakers(by_room: Mapping[str, pd.DataFrame], measure: str) -> pd.DataFrame:
    """Compare the conditions of Bayesians with Bayesians without a planner, and those of the model with the model without one."""
    parts = []
    for who in (BAYES, MODEL):
        if frames := {name: frame for name, frame in by_room.items() if name.startswith(who)}:
            parts.append(compare_conditions(frames, measure, SHARE if measure in SHARES else POSITIVE))
    return pd.concat(parts, ignore_index=True)


def _add_missing(report: Report, runs: Mapping[str, Tables]) -> None:
    """Add how many choices are missing, and in which conditions the planner could not be read."""
    due = pd.concat([tables.decisions[["act", "reason"]] for tables in runs.values()])
    lost = due["reason"][due["act"].isna()]
    report.missing(len(lost), len(due), "choices are missing", count_table(lost))
    for name, tables in runs.items():
        if silent := silent_planners(tables):
            report.add(f"{name}: {silent}")


def sentences(compared: pd.DataFrame) -> list[str]:
    """Return a sentence per condition with a planner: its aim and the difference it makes; no verdict without an interval."""
    lines = []
    for name in compared["condition"].unique():
        who, planner = name.split(", ", 1)
        if planner == NONE:
            continue
        measure, what = ("chose_a", "were A") if planner.endswith(FOR_A) else ("right", "were right")
        row = compared[(compared["measure"] == measure) & (compared["condition"] == name)].iloc[0]
        people = "Bayesians" if who == BAYES else "people of the model"
        if not np.isfinite(row["difference_low"]):
            lines.append(f"{people[0].upper()}{people[1:]}, {planner}: whether the planner matters is unknown.")
            continue
        points = [100 * row[key] for key in ("difference", "difference_low", "difference_high")]
        clear = verdict(points[1], points[2], "", "", "not clearly more or fewer, ")
        apart = amount((points[0], points[1], points[2]), Sides("more", "fewer"), "percentage points", 0)
        lines.append(
            f"With a {planner}, {row['value']:.0%} of the choices of {people} {what}; without a planner, {clear}{apart}."
        )
    return lines


def _cells(compared: pd.DataFrame, name: str) -> list[str]:
    rows = compared[compared["condition"] == name].set_index("measure")
    shown = [format_estimate(*rows.loc[measure, ["value", "low", "high"]]) for measure in MEASURES]
    right = rows.loc["right"]
    difference = format_estimate(*right[["difference", "difference_low", "difference_high"]]) if right["pairs"] else ""
    return [name, f"{right['rooms']:.0f}", shown[0], difference, *shown[1:]]


def _add_theory(report: Report, tables: Tables) -> None:
    """Add what Bayesians and an optimal planner get in expectation, and the best fixed precision, all computed exactly."""
    setting = rules(tables)
    rows = []
    for aim in ("right", "A"):
        plan = Aim(setting.precisions, setting.precision, setting.cost, aim, setting.ties)
        fixed = {
            level: fixed_value(setting.prior, setting.size, level, plan) / setting.size for level in setting.precisions
        }
        best = max(fixed, key=lambda level: fixed[level])
        planned = planned_value(setting.prior, setting.size, plan) / setting.size
        values = (planned, fixed[best], best, fixed[setting.precision])
        rows.append(
            ["the right option" if aim == "right" else "A", *[format_number(float(value), 3) for value in values]]
        )
    expected = outcomes(setting.prior, setting.precision, setting.ties, setting.size, BAYESIAN)
    report.section(
        "What theory expects of Bayesians",
        f"Without a planner, {expected.correct:.1%} of choices are right, and {expected.wrong:.1%} of periods end in a wrong "
        "cascade. The table has the planner's expected payoff per person: the chance that a person chooses as the planner "
        "wants, minus the cost.",
    )
    report.table(rows, ["planner for", "optimum", "best fixed precision", "which", "free precision"])


ORDER = "Each person sees a private signal and all earlier choices. The first person has only the private signal."


def _figure(runs: Mapping[str, Tables], caption: str) -> Figure:
    title = "How often people make the right choice, one after another"
    note = f"Points are means over rooms, bars are 95% intervals over rooms. {caption}"
    with new_figure(5.2, 3.6, note, title=title, about=ORDER) as figure:
        axis = figure.subplots()
        for (name, tables), look in zip(runs.items(), OTHERS, strict=False):
            plot_line(axis, by_position(tables), "position", "right", name, look)
        axis.set(ylim=(0, 1.03), xlabel="Place in the order of choosing", ylabel="Share of right choices")
        add_legend(figure, [axis], 2)
    return figure
