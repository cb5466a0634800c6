"""The check of the instruments: speakers whose bias is planted debate, and what was planted is looked for in their records.

Every speaker holds the same debates (same people, same seats, same seed). From each record
`analysis.influence_model.recover_parameters` fits the law
that the speakers follow or were trained on:  a <- a + kappa * (g - a) + mu * (bias - a)  for every line of grade g heard.

    oracle            the rule-based speaker: an instrument that does not find its parameters is broken
    oracle,kappa=0,mu=0   the same without influence and pull: no drift planted, none to be found
    pocket            the model in the box, trained on what the oracle says: what it took over of the planted law
    pocket:control    the control organism, trained on the oracle that nothing moves

A speaker is a `Known`: what to ask for, and whether its planted law moves. For the pocket models "planted" is what they were
trained on; a difference is then the model's, since the instrument has found the oracle's own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.agents.topic import load_topic
from parley.analysis.figures import make_canvas, style
from parley.analysis.formatting import format_estimate, format_number
from parley.analysis.influence_model import NAMES, recover_parameters
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.dynamics import Parameters, planted
from parley.llm.backends.oracle.phrases import topics
from parley.llm.errors import unknown_name
from parley.model.scenario import Scenario

COLOURS = ("#555555", "#999999", "#1f5fa8", "#c77b00")
LIMITS = {"kappa": (-0.05, 0.15), "mu": (-0.05, 0.15), "bias": (0.0, 10.0)}
NOTE = (
    "The oracle rows check the instruments: what they do not find there is their own error. The pocket rows say what the "
    "model in the box took over of the law it was trained on; for it the planted values are those of its teacher. No row is "
    "evidence about people or about large language models."
)

PROBE = "attitude_labelled"
SETTINGS = {"topics": "gun_violence,racism,climate_change,illegal_immigration", "repetitions": 40, "rounds": 5}
"""Of the three-way debate that is held, where nothing else is asked for."""
MEANING = {
    "kappa": "influence: share of the distance to what was heard, per line",
    "mu": "drift rate: share of the distance to the own bias, per line",
    "bias": "the level that pulls (none is reported where no pull is found)",
}


@dataclass(frozen=True)
class Known:
    """A speaker with a planted law: the spec that opens it, how it is called, and what is set over every topic's parameters."""

    spec: str
    title: str
    changes: tuple[tuple[str, float], ...] = ()


STILL = (("kappa", 0.0), ("mu", 0.0))
SPEAKERS = (
    Known("oracle", "oracle"),
    Known("oracle,kappa=0,mu=0", "oracle, control", STILL),
    Known("pocket", "pocket"),
    Known("pocket:control", "pocket, control", STILL),
)


def chosen(names: Sequence[str]) -> tuple[Known, ...]:
    """The speakers called `oracle`, `pocket` (none: both), each with its control. Errors: UserError on another name."""
    kinds = list(dict.fromkeys(speaker.title.split(",")[0] for speaker in SPEAKERS))
    for name in names:
        if name not in kinds:
            raise unknown_name("speaker of a known bias", name, kinds)
    return tuple(speaker for speaker in SPEAKERS if speaker.title.split(",")[0] in (names or kinds))


def calibrate(base: Scenario, speakers: Sequence[Known] = SPEAKERS) -> Generator[Scenario, Tables, pd.DataFrame]:
    """Yields a scenario a speaker, is sent the tables of its record, returns one row a speaker, topic and parameter.

    Columns: speaker, topic, parameter (kappa, mu, bias), planted (NaN: nothing pulls, so there is no bias), estimate, low, high
    (95%), covered (is the planted value in the interval?), rooms, graded (share of lines that could be graded).
    Errors: UserError of `recover_parameters`.
    """
    found = []
    for speaker in speakers:
        tables = yield base.with_settings({"llm": speaker.spec, "probe": PROBE, "survey": "rounds"})
        rows = recover_parameters(tables, _grade)
        truth = planted(dict(speaker.changes))
        rows["planted"] = [
            _planted(speaker, truth[topic], name) for topic, name in zip(rows["topic"], rows["parameter"], strict=True)
        ]
        inside = (rows["low"] <= rows["planted"]) & (rows["planted"] <= rows["high"])
        rows["covered"] = inside & rows["estimate"].notna()  # an interval without end holds everything and says nothing
        found.append(rows.assign(speaker=speaker.title, graded=_graded(tables)))
    columns = ["speaker", "topic", "parameter", "planted", "estimate", "low", "high", "covered", "rooms", "graded"]
    return pd.concat(found, ignore_index=True)[columns]


def write(found: pd.DataFrame, folder: Path, base: Scenario) -> Path:
    """Write calibration.md, its table and the figure; the path of the first."""
    report = Report(folder, "calibration", "Calibration: what was planted, and what the instruments find")
    report.data(calibration=found)
    report.add(
        f"Three-way debates, {base.repetitions} rooms a topic, {base.rounds} rounds, seed {base.seed}, the same people for every "
        "speaker. The law fitted (analysis/influence_model.py): a ← a + kappa (g − a) "
        "+ mu (bias − a) for every line of grade g heard. "
        "Brackets hold 95% intervals; the unit is the room."
    )
    report.lines(f"- **{name}**: {meaning}" for name, meaning in MEANING.items())
    report.figure(forest(found, base), "calibration", "Planted and found")
    for speaker, rows in found.groupby("speaker", sort=False):
        judged = rows.dropna(subset="planted")
        held = f"{int(judged['covered'].sum())} of {len(judged)} intervals hold the planted value"
        report.section(str(speaker), f"{held}. {rows['graded'].iloc[0]:.0%} of the lines could be graded.")
        report.table(*_table(rows))
    report.add(NOTE)
    return report.write()


def _table(rows: pd.DataFrame) -> tuple[list[list[str]], list[str]]:
    cells = [
        [load_topic(topic).title, *[text for name in NAMES for text in _cell(part[part["parameter"] == name].iloc[0])]]
        for topic, part in rows.groupby("topic", sort=False)
    ]
    return cells, ["topic", *[text for name in NAMES for text in (f"{name} planted", "found")]]


def _cell(row: pd.Series) -> tuple[str, str]:
    digits = 2 if row["parameter"] == "bias" else 3
    return format_number(row["planted"], digits), format_estimate(row["estimate"], row["low"], row["high"], digits)


def forest(found: pd.DataFrame, base: Scenario) -> Figure:
    """One panel a parameter: intervals by speaker and topic, the planted value as a cross."""
    with style():
        figure = make_canvas(7.0, 0.5 + 0.16 * len(found) / len(NAMES) + 0.6)
        axes = figure.subplots(1, len(NAMES), sharey=True)
        for axis, name in zip(axes, NAMES, strict=True):
            _panel(axis, found[found["parameter"] == name], name)
        figure.suptitle(
            f"Planted (cross) and found (95% interval): {base.repetitions} rooms a topic, seed {base.seed}", fontsize=8
        )
        figure.tight_layout()
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, name: str) -> None:
    low_end, high_end = LIMITS[name]
    for place, (speaker, row) in enumerate(zip(rows["speaker"], rows.to_dict("records"), strict=True)):
        colour = COLOURS[list(rows["speaker"].unique()).index(speaker) % len(COLOURS)]
        if pd.notna(row["estimate"]):
            ends = max(row["low"], low_end), min(row["high"], high_end)
            axis.plot(ends, (place, place), color=colour, linewidth=1.2)
            axis.plot(row["estimate"], place, "o", color=colour, markersize=3)
        if pd.notna(row["planted"]):
            axis.plot(row["planted"], place, "x", color="black", markersize=4)
    axis.set_xlim(low_end, high_end)
    axis.set_title(name)
    axis.set_yticks(
        range(len(rows)),
        [f"{row['speaker']}: {load_topic(row['topic']).title}" for row in rows.to_dict("records")],
        fontsize=6,
    )
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.grid(axis="x", color="#e3e3e3", linewidth=0.5)


def _planted(speaker: Known, truth: Parameters, name: str) -> float:
    return float("nan") if name == "bias" and speaker.changes == STILL else float(getattr(truth, name))


def _graded(tables: Tables) -> float:
    spoken = tables.utterances.dropna(subset="text")
    return float(
        pd.Series(
            [_grade(topic, text) is not None for topic, text in zip(spoken["topic"], spoken["text"], strict=True)]
        ).mean()
    )


def _grade(topic: str, text: str) -> float | None:
    return topics()[topic].grade(text)
