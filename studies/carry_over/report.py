"""The page of `study carry-over`: carry_over.md, its tables (effects, people) and its figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, estimate, format_estimate
from parley.analysis.metrics import broken_replies
from parley.analysis.studies.paired_conditions import conditions_report
from parley.analysis.tables import Tables

from .measures import ARMS, OUTCOMES, effects, people

CAPTION = (
    "The same people run three times on equal random streams: with their memory of earlier stages, without this memory, and "
    "with the memory of another person of their party. The stages before the last stage are equal word for word (checked). The "
    "column `carried` has the slope of the rating with memory on the points moved in the stage before, among people of a party "
    "with equal ratings without memory. The column `carried` is 0 if no movement is carried over, and 1 if all movement is "
    "carried over. The column `shift` has the mean effect of the memory in points, toward the high end of the topic's axis. "
    "Brackets are 95% intervals over populations. Noise in the ratings moves the value of `carried` toward 0."
)
COLUMNS: Mapping[str, Column] = {
    "rating": lambda row: OUTCOMES[row["outcome"]], "with": "memory", "people": "people", "missing": "missing",
    "populations": "populations", "carried": estimate("carried"), "shift": estimate("shift"), "reason without interval": "reason",
}  # fmt: skip


def write(runs: Mapping[str, Tables], folder: Path) -> Path:
    """Write the page, its tables and its figure; return the path of the page."""
    by_arm = {arm: people(tables) for arm, tables in runs.items()}
    table, header = effects(by_arm), runs[ARMS[0]].header
    listed = pd.concat(by_arm, names=["memory"]).reset_index("memory")
    report = conditions_report(folder, "carry_over", "What people carry into the last stage", CAPTION, header,
                               effects=table, people=listed)  # fmt: skip
    report.add(runs[ARMS[0]].opinion_note)
    points = table.assign(rating=table["outcome"].map(OUTCOMES)).rename(
        columns={"carried_low": "low", "carried_high": "high"}
    )
    figure = dot_plot(points, ["rating"], "carried", "Points kept of each point moved before",
                      f"{disclaimers.model_label(header)}. Within population and party", by="memory")  # fmt: skip
    report.figure(figure, "carry_over", "What remains of each point that a person moved in the stage before")
    broken = broken_replies.broken_line(map(broken_replies.compute, runs.values()))
    report.in_short([*filter(None, [broken]), *sentences(table)])
    report.section("Effects")
    report.table(table, COLUMNS)
    return report.write()


def sentences(table: pd.DataFrame) -> list[str]:
    """Return what the effects say: one sentence for each rating, one on the memory of another person, one on missing ratings."""
    rows = {(row["outcome"], row["memory"]): row for row in table.to_dict("records")}
    lines = [_carried(rows[outcome, "own memory"], OUTCOMES[outcome]) for outcome in OUTCOMES]
    lines.append(_control(rows["first", "another's memory"]))
    first = rows["first", "own memory"]
    asked = first["people"] + first["missing"]
    return [*lines, f"{first['missing']:,} of {asked:,} people could not be compared, because a rating is missing."]


def _carried(row: Mapping[str, Any], rating: str) -> str:
    if np.isnan(row["carried_low"]):
        return f"What people carry into the {rating} is unknown ({row['reason']})."
    size = format_estimate(row["carried"], row["carried_low"], row["carried_high"])
    if row["carried_low"] > 0:
        return f"Of each point that a person moved in the stage before, the {rating} keeps {size} points."
    if row["carried_high"] < 0:
        return f"Each point that a person moved in the stage before reverses the {rating}, by {size} points."
    return f"It is not shown that the {rating} keeps any movement of the stage before: {size} points per point."


def _control(row: Mapping[str, Any]) -> str:
    if np.isnan(row["carried_low"]):
        return f"With another person's memory, the comparison is unknown ({row['reason']})."
    size = format_estimate(row["carried"], row["carried_low"], row["carried_high"])
    if row["carried_low"] > 0:
        return (
            f"With another person's memory, the first rating still keeps {size} points per point of the person's own "
            "movement, due to the persona and not to memory."
        )
    return f"With another person's memory, the first rating does not clearly keep the own movement: {size} points per point."
