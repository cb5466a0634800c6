"""control.md: what a scenario fixes, what its run shows, and a verdict for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import DASH, Column, count_phrase, estimate, format_estimate, number, uncorrected
from parley.analysis.human.readers import table as read_table
from parley.analysis.report import Report
from parley.analysis.tables import tables
from parley.llm.errors import UserError
from parley.model.branching import recorded_scenario
from parley.model.recorder import read_lines
from parley.model.scenario_run import record_of
from parley.studies.control.items import ALPHA, BROKEN, KEPT, UNKNOWN
from parley.studies.control.makeup import fixed_before_replies, makeup
from parley.studies.control.shown import decide_attributes, effects, outcomes

MAKEUP = (
    "What no chance decides has to be the same in every unit. What chance decides is not kept if chance alone makes such a "
    f"difference with p below {ALPHA:g} / number of these items; brackets hold 95% intervals over units."
)
SHOWN = (
    "An attribute is kept if a rating (or the stance of lines, with `--verdicts`) depends on it. It is not kept if no outcome "
    "differs by the tolerance: then the model ignores it, as far as ratings show. Effects are differences within rooms, and "
    "between people with the same party and belief. Null: the attribute shuffled among personas, or among the seats of a "
    "repetition."
)
NOTHING = "All agents have the same attributes, so nothing can be compared."


def write(run: Path, folder: Path, verdicts: Path | None, tolerance: float) -> tuple[Path, str]:
    """Write control.md with its tables and figure; return its path, and one line with the number of verdicts of each kind.

    verdicts: verdicts.csv of `run.py judge`. tolerance: points of 10 below which an effect counts as none. Errors: UserError.
    """
    if not 0 < tolerance <= 10:
        raise UserError(f"--tolerance must be above 0 and at most 10 points, not {tolerance:g}")
    record = list(read_lines(record_of(run)))
    known = tables(record, str(run))
    scenario = recorded_scenario(known.header, run)
    judged = read_table(verdicts, ["room", "agent"], {"score": (1, 7)}) if verdicts else None
    items = [fixed_before_replies(record), *makeup(scenario, known)]
    found = effects(outcomes(known, judged))
    attributes = decide_attributes(found, tolerance)
    report = Report(folder, "control", "What is fixed, and what the run shows")
    report.data(control=pd.DataFrame(map(asdict, items)), attributes=attributes, effects=found)
    report.add(line := summary([item.verdict for item in items] + list(attributes["verdict"])))
    report.disclaim(known.header)
    report.section("Makeup", MAKEUP)
    report.table(pd.DataFrame(map(asdict, items)), ITEMS)
    report.section("Attributes", SHOWN, "" if len(attributes) else NOTHING)
    if len(attributes):
        report.table(attributes, ATTRIBUTES)
        report.add(f"The tolerance is {tolerance:g} of 10 points. Effects, in points of 10:")
        report.table(found, EFFECTS)
        report.add(uncorrected(found))
        if len(drawn := found[found["reason"] == ""]):
            title = "Difference in points of 10"
            caption = f"Effects of attributes in a run on {disclaimers.model_label(known.header)}"
            figure = dot_plot(drawn, ["values", "outcome"], "effect", title, caption)
            report.figure(figure, "control", "Effects of attributes")
    return report.write(), line


def summary(verdicts: Sequence[str]) -> str:
    """Return how many things are kept, not kept and unknown.

    >>> summary(["kept", "kept", "not kept"])
    '3 fixed things: 2 kept, 1 not kept, 0 unknown.'
    """
    counts = [verdicts.count(kind) for kind in (KEPT, BROKEN, UNKNOWN)]
    named = ", ".join(f"{count} {name}" for count, name in zip(counts, (KEPT, BROKEN, "unknown"), strict=True))
    return f"{count_phrase(len(verdicts), 'fixed thing')}: {named}."


def _verdict(row: Mapping[str, object]) -> str:
    return f"{row['verdict']}: {row['reason']}" if row["reason"] else str(row["verdict"])


def _shown(row: Mapping[str, object]) -> str:
    low, high = float(str(row["low"])), float(str(row["high"]))
    return format_estimate(float(str(row["shown"])), low, high) if low == low else str(row["shown"])


ITEMS: Mapping[str, Column] = {
    "what": "what", "fixed": "fixed", "shown": _shown,
    "units": lambda row: count_phrase(row["units"], row["unit"]) if row["unit"] else DASH, "verdict": _verdict,
}  # fmt: skip
ATTRIBUTES: Mapping[str, Column] = {"attribute": "attribute", "values": "values", "units": "units", "verdict": _verdict}
EFFECTS: Mapping[str, Column] = {
    "attribute": "attribute", "values": "values", "outcome": "outcome", "agents": "agents", "units": "units",
    "effect": estimate("effect"), "p": number("p", 3), "reason if missing": lambda row: row["reason"] or DASH,
}  # fmt: skip
