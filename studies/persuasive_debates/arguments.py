"""How far a skeptic moves toward a convincer that argues by knowledge, trust, status or support, or as it likes.

Source: Breum et al. 2023, "The Persuasive Power of Large Language Models"; docs/presets.md lists the departures. The same people
meet in the same rooms in every condition. Only the prompt of the convincer asks for a kind of argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, estimate
from parley.analysis.studies.paired_conditions import PAIR, compare_conditions, conditions_report
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

KINDS = ("as it likes", "knowledge", "trust", "status", "support")
CONVINCER, SKEPTIC = "convincer", "skeptic"
MEASURE = "toward"
CAPTION = (
    "Points (0-10) by which the skeptic's attitude moves toward the convincer's attitude before the debate, averaged over "
    "rooms. Brackets are 95% confidence intervals over repetitions, because people meet again on every topic. The difference "
    "compares a kind of argument with a convincer that argues freely, within rooms. Rooms with a missing rating, or with "
    "equal attitudes at the start, are left out and counted."
)


def conditions(base: Scenario) -> dict[str, dict[str, list[str]]]:
    """Return the settings of each condition: the convincer's kind of argument. Errors: UserError without the two roles."""
    entries = {entry.rpartition(":")[2].partition("+")[0]: entry for entry in base.people.roles}
    if {CONVINCER, SKEPTIC} - set(entries):
        raise UserError(
            f"{base.name} has no agents with the roles convincer and skeptic: set roles=PARTY:convincer,PARTY:skeptic"
        )
    role = entries[CONVINCER].partition("+")[0]
    others = [entry for entry in base.people.roles if entry != entries[CONVINCER]]
    return {kind: {"roles": [role if kind == KINDS[0] else f"{role}+{kind}", *others]} for kind in KINDS}


def rooms(tables: Tables) -> pd.DataFrame:
    """Return one row per room: topic, repetition, toward (points by which the skeptics move to the convincer; NaN: missing)."""
    roles = tables.characters.set_index("agent")["role"].str.partition("+")[0]
    ratings = tables.attitudes
    ratings = ratings[ratings["group"].isin(tables.groups)]
    start, end = (
        ratings[ratings["round"] == round_].set_index("agent")["attitude"]
        for round_ in (ratings["round"].min(), ratings["round"].max())
    )
    seats = tables.agents[tables.agents["group"].isin(tables.groups)]
    seats = seats.assign(role=seats["agent"].map(roles))
    rows = []
    for (topic, repetition, _), seated in seats.groupby([*PAIR, "room"], sort=False):
        convincer, skeptic = (
            start.reindex(seated.loc[seated["role"] == role, "agent"]) for role in (CONVINCER, SKEPTIC)
        )
        side = np.sign(convincer.mean(skipna=False) - skeptic.mean(skipna=False))
        change = (end.reindex(skeptic.index) - skeptic).mean(skipna=False)
        rows.append({"topic": topic, "repetition": repetition, MEASURE: change * side if side else np.nan})
    return pd.DataFrame(rows, columns=[*PAIR, MEASURE])


def write(runs: Mapping[str, Tables], folder: Path) -> Path:
    """Write arguments.md, its table and its figure; return the path of the page."""
    table = compare_conditions({kind: rooms(tables) for kind, tables in runs.items()}, MEASURE)
    header = next(iter(runs.values())).header
    report = conditions_report(folder, "arguments", "Kinds of argument", CAPTION, header, arguments=table)
    axis, model = "Skeptic's move to the convincer (0–10)", disclaimers.model_label(header)
    figure = dot_plot(table, ["condition"], "value", axis, model)
    report.figure(figure, "arguments", "The skeptic's move")
    columns: Mapping[str, Column] = {"the convincer argues by": "condition", "rooms": "rooms", "left out": "missing",
               "the skeptic moves": estimate("value"), "difference": estimate("difference")}  # fmt: skip
    report.table(table, columns)
    return report.write()
