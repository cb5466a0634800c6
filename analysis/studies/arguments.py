"""Kinds of argument: how far a skeptic moves toward a convincer who argues by knowledge, trust, status, support, or as it likes.

After Breum et al. 2023, "The Persuasive Power of Large Language Models"; departures are in docs/presets.md. The same people meet
in the same rooms in every condition, and only the convincer is asked for a kind of argument.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, estimate
from parley.analysis.report import Report
from parley.analysis.studies.paired_conditions import PAIR, compare_conditions
from parley.analysis.tables import Tables, rating_value
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

KINDS = ("as it likes", "knowledge", "trust", "status", "support")
CONVINCER, SKEPTIC = "convincer", "skeptic"
MEASURE = "toward"
CAPTION = (
    "Points (0-10) by which the skeptic's attitude moves toward where the convincer stood before the debate. Means over rooms; "
    "brackets hold 95% intervals; the difference is from a convincer that argues as it likes, within rooms. A room in "
    "which one of them was not rated, or both stood alike, is left out and counted."
)


def arguments(base: Scenario) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yields the five conditions and is sent their tables; returns them by name. Errors: UserError without the two roles."""
    who = {entry.rpartition(":")[2].partition("+")[0]: entry for entry in base.people.roles}
    if {CONVINCER, SKEPTIC} - set(who):
        raise UserError(f"{base.name} has no convincer and skeptic: set roles=PARTY:convincer,PARTY:skeptic")
    bare = who[CONVINCER].partition("+")[0]
    found = {}
    for kind in KINDS:
        role = bare if kind == KINDS[0] else f"{bare}+{kind}"
        found[kind] = yield base.with_settings(
            {"roles": [role, *(one for one in base.people.roles if one != who[CONVINCER])]}
        )
    return found


def rooms(tables: Tables) -> pd.DataFrame:
    """A row a room: topic, repetition, toward (points of 0-10 by which its skeptics move to its convincer; NaN: none)."""
    roles = tables.characters.set_index("agent")["role"].str.partition("+")[0]
    ratings = rating_value(tables).attitudes
    ratings = ratings[ratings["group"].isin(tables.groups)]
    ends = {"start": ratings["round"].min(), "end": ratings["round"].max()}
    rated = {name: ratings[ratings["round"] == when].set_index("agent")["attitude"] for name, when in ends.items()}
    seats = tables.agents[tables.agents["group"].isin(tables.groups)].assign(
        role=lambda frame: frame["agent"].map(roles)
    )
    rows = []
    for (topic, repetition, _), part in seats.groupby([*PAIR, "room"], sort=False):
        there = [rated["start"].reindex(part.loc[part["role"] == role, "agent"]) for role in (CONVINCER, SKEPTIC)]
        side = np.sign(there[0].mean(skipna=False) - there[1].mean(skipna=False))
        moved = (rated["end"].reindex(there[1].index) - there[1]).mean(skipna=False)
        rows.append({"topic": topic, "repetition": repetition, MEASURE: moved * side if side else np.nan})
    return pd.DataFrame(rows, columns=[*PAIR, MEASURE])


def write(found: Mapping[str, Tables], folder: Path) -> Path:
    """Write arguments.md, its table and the figure; the path of the first."""
    table = compare_conditions({kind: rooms(tables) for kind, tables in found.items()}, MEASURE)
    header = next(iter(found.values())).header
    report = Report(folder, "arguments", "Kinds of argument")
    report.data(arguments=table)
    report.add(CAPTION)
    report.disclaim(header)
    title = "Skeptic's move to the convincer (0–10)"
    drawn = dot_plot(table, ["condition"], "value", title, disclaimers.model_label(header))
    report.figure(drawn, "arguments", "The skeptic's move")
    columns: Mapping[str, Column] = {"the convincer argues by": "condition", "rooms": "rooms", "left out": "missing",
               "the skeptic moves": estimate("value"), "difference": estimate("difference")}  # fmt: skip
    report.table(table, columns)
    return report.write()
