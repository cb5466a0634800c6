"""Personalised persuasion: opponents are introduced as people or as AIs, with their demographics or without.

All four conditions have the same people, in the same rooms and order. The measure is that of Salvi et al. 2025 for people:
agreement with the opponent's side on five points, before and after. docs/presets.md lists the departures.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, estimate
from parley.analysis.human.measures import measure_source
from parley.analysis.human.readers import ALL, SALVI, Source, find, salvi
from parley.analysis.human.rooms import RUN, of_run
from parley.analysis.report import Report
from parley.analysis.studies.paired_conditions import conditions_report, mean_row, unit_means, units_of
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.errors import UserError

from .odds import odds_table

CONDITIONS: Mapping[str, Mapping[str, str]] = {
    "person": {"introduce": "person", "disclose": "nothing"},
    "person, personalised": {"introduce": "person", "disclose": "demographics"},
    "AI": {"introduce": "ai", "disclose": "nothing"},
    "AI, personalised": {"introduce": "ai", "disclose": "demographics"},
}
EFFECTS = {
    "told demographics": {"person": -0.5, "person, personalised": 0.5, "AI": -0.5, "AI, personalised": 0.5},
    "introduced as AI": {"person": -0.5, "person, personalised": -0.5, "AI": 0.5, "AI, personalised": 0.5},
    "both beyond each": {"person": 1.0, "person, personalised": -1.0, "AI": -1.0, "AI, personalised": 1.0},
}
PEOPLE = ("Human-Human", "Human-Human, personalized", "Human-AI", "Human-AI, personalized")
"""The conditions of the published table, the reference first."""
ODDS = (
    "The table is from a proportional odds regression of agreement with the opponent's side after the debate (five points) on "
    "the condition and on agreement before it. The odds ratio compares a condition with the first condition of its source: a "
    "ratio of 1 is no difference, and a ratio of 2 doubles the odds of each higher answer. Brackets are 95% intervals, "
    "clustered by debate, or by group of people if a group debates on several topics."
)
PAPER = (
    "Salvi et al. report 81.7% higher odds (a ratio of 1.82) for people who debated GPT-4 with access to their personal "
    "information, from a partial proportional odds model."
)
POINTS = 4
"""Points from one end of the scale of five to the other."""
CAPTION = (
    "Change is in points of 1-5, positive toward the opponent's side. Every condition has the same people: effects are "
    "averages of differences within rooms (debates) with ratings in all four conditions. People meet again on every topic, so "
    "brackets of effects are 95% confidence intervals over repetitions."
)


def outcomes(runs: Mapping[str, Tables]) -> Source:
    """Return the runs of all four conditions as one source of people. A seat is one on a topic, as topics are put together."""
    sources = {name: of_run(tables) for name, tables in runs.items()}
    parts = [(name, source.people, source.people["condition"]) for name, source in sources.items()]
    people = pd.concat(
        [
            condition_people.assign(condition=name, person=condition_people["person"] + " " + topic)
            for name, condition_people, topic in parts
        ],
        ignore_index=True,
    )
    first = next(iter(sources.values()))
    return Source(RUN, people, first.moves.iloc[:0], first.unit, first.origin, casts=first.casts)


def effects(people: pd.DataFrame, units: pd.DataFrame) -> pd.DataFrame:
    """Return one row per effect of EFFECTS: rooms, missing (rooms left out), estimate (points of 1-5) with its interval.

    A room counts if, in all four conditions, someone is rated before and after and has another side. units: of `units_of`.
    """
    change = people.assign(change=POINTS * people["side"] * (people["after"] - people["before"]))
    wide = change.groupby(["group", "condition"])["change"].mean().unstack().reindex(columns=list(CONDITIONS))
    complete = wide.dropna()
    counts = {"rooms": len(complete), "missing": len(wide) - len(complete)}
    complete.index = pd.MultiIndex.from_frame(units.reindex(complete.index))
    means = {name: (complete * pd.Series(weights)).sum(axis=1) for name, weights in EFFECTS.items()}
    return pd.DataFrame([{"effect": name, **counts, **mean_row(unit_means(values))} for name, values in means.items()])


def write(runs: Mapping[str, Tables], folder: Path, data: Path | None) -> Path:
    """Write personalised.md, its tables (conditions, effects, odds) and its figure; return the path of the page.

    data: a folder with the published table of people. Errors: UserError if the table is not there.
    """
    sources = [outcomes(runs)]
    if data:
        if not (path := find(data, SALVI)):
            raise UserError(
                f"{data} does not have the file {SALVI[0]} (docs/personas.md): give --data the folder that has it"
            )
        sources.insert(0, salvi(path))
    measures = pd.concat([measure_source(source) for source in sources], ignore_index=True)
    first = next(iter(runs.values()))
    estimated, header = effects(sources[-1].people, units_of(first)), first.header
    odds = {source.name: odds_table(source, PEOPLE if source.name != RUN else list(CONDITIONS)) for source in sources}
    tables = {
        "conditions": measures,
        "effects": estimated,
        "odds": pd.concat(odds, names=["source"]).reset_index(level=0),
    }
    report = conditions_report(folder, "personalised", "Personalised persuasion", CAPTION, header, **tables)
    report.table(*_conditions_table(measures))
    report.section("Effects in the run")
    label = disclaimers.model_label(header)
    figure = dot_plot(estimated, ["effect"], "estimate", "change toward the opponent (points)", label)
    report.figure(figure, "personalised", "Effects in the run")
    columns: Mapping[str, Column] = {
        "effect": "effect", "rooms": "rooms", "left out": "missing", "change toward the opponent": estimate("estimate"),
    }  # fmt: skip
    report.table(estimated, columns)
    report.section("Odds of more agreement with the opponent", ODDS, PAPER if data else None)
    for name, table in odds.items():
        _add_odds(report, name, table)
    return report.write()


def _add_odds(report: Report, name: str, table: pd.DataFrame) -> None:
    """Add the odds ratios of a source of people, or why they are unknown."""
    report.plain(f"Source: {name}, compared with the condition {next(iter(CONDITIONS)) if name == RUN else PEOPLE[0]}")
    if reason := table["reason"].iloc[0]:
        report.plain(unknown_sentence("the odds", reason, "are"))
    columns: Mapping[str, Column] = {
        "condition": "condition", "people": "people", "debates": "groups", "odds ratio": estimate("odds"),
    }  # fmt: skip
    report.table(table, columns)


def _conditions_table(measures: pd.DataFrame) -> tuple[list[list[str]], list[str]]:
    """Return the rows of the table of conditions, and its headings."""
    rows = []
    for (source, condition), source_rows in measures[measures["condition"] != ALL].groupby(
        ["source", "condition"], sort=False
    ):
        toward, still, own_rows = (source_rows.set_index("key").loc[key] for key in ("toward", "still", "own"))
        counts = [str(toward[name]) for name in ("n", "people", "missing")]
        change = estimate("estimate", factor=POINTS)(toward)
        rows.append(
            [str(source), str(condition), *counts, change, estimate("estimate")(still), estimate("estimate")(own_rows)]
        )
    heads = ["source", "condition", "debates", "people", "missing", "change toward the opponent", "share that does not move",
             "change against own initial opinion, r"]  # fmt: skip
    return rows, heads
