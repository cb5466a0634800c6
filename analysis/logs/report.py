"""The report of a log: sections that apply, and what the log lacks for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pandas as pd

from parley.analysis import figures, plots
from parley.analysis.card.sections import SECTIONS
from parley.analysis.findings import findings
from parley.analysis.formatting import REFERENCE, format_range
from parley.analysis.logs.log import UNKNOWN
from parley.analysis.metric_section import add_metric
from parley.analysis.metrics import applies
from parley.analysis.model_calls import asked_of_model
from parley.analysis.network_plot import has_network, network_figure
from parley.analysis.report import Report
from parley.analysis.run_tables import run_tables
from parley.analysis.summary import NETWORK, caption, missing, run_note
from parley.analysis.table_export import write_table, write_tables
from parley.analysis.tables import Tables
from parley.analysis.transcript import write_transcript

NAMES = {
    "attitudes": "ratings that are attitudes",
    "probes": "further questions",
    "utterances": "texts",
    "acts": "acts on a social medium",
    "links": "links between people",
    "calls": "calls of a model",
}
"""What a log may have, by the table of a run that holds it."""
FURTHER = {
    "beliefs": "ratings of items of news",
    "compared_beliefs": "ratings of several items of news",
    "temperaments": "temperaments of people",
    "emotions": "ratings of emotions",
    "emotions_on_ties": "ratings of emotions on a network",
    "graded": "lines of known grade",
    "conditions": "groups of the same people under several conditions",
    "seeded": "posts with a vote from outside",
}
"""What other sections need; no format reads it."""
WITHOUT_RATINGS = {"broken_replies", "text_diversity", "spread", "tree_shape"}
"""Metrics that need no attitudes."""


def write_log_report(tables: Tables, run: Path, metrics: Mapping[str, ModuleType]) -> Path:
    """Write tables/, figures/, transcript.md and summary.md into the folder of a log; return the main figure's path.

    The figure is drawn only if there are attitudes. metrics: by name.
    """
    write_tables(tables, run / "tables")
    lacks = {name: why for name, metric in metrics.items() if (why := lacking(tables, name, metric))}
    results = {name: metric.compute(tables) for name, metric in metrics.items() if name not in lacks}
    for name, metric_table in results.items():
        write_table(metric_table, run / "tables" / name)
    report = _begin(tables, run)
    measured = {name: metric for name, metric in metrics.items() if name in results}
    report.in_short(findings(tables, results, measured))
    figure = _figures(report, tables, results, run)
    _how_to_read(report, tables)
    for name, metric in measured.items():
        if metric.LABELS:
            add_metric(report, tables, metric, results[name])
    missing(report, tables)
    report.section(
        "What does not apply", "Each of these sections of a report or a bias card needs what the log does not have."
    )
    report.table(_not_applying(metrics, lacks), ["section", "why"])
    _details(report, tables)
    write_transcript(tables, run / "transcript.md")
    report.write()
    return figure


def lacking(tables: Tables, name: str, metric: ModuleType) -> str:
    """Return why a metric does not apply to a log: `the log has no texts`; "" if it applies."""
    table = getattr(metric, "NEEDS", "attitudes")
    if not applies(metric, tables):
        return _without(tables, table)
    return "" if has_attitudes(tables) or name in WITHOUT_RATINGS else _without(tables, "attitudes")


def has_attitudes(tables: Tables) -> bool:
    """Return whether someone has a rating on the axis from 0 to 10."""
    return bool(tables.attitudes["attitude"].notna().any())


def _without(tables: Tables, table: str) -> str:
    reason = tables.header.model["lacks"].get(table, "")
    table_names = NAMES | FURTHER | {name: study_table.about for name, study_table in run_tables().items()}
    return f"the log has no {table_names.get(table, table)}{f' ({reason})' if reason else ''}"


def _not_applying(metrics: Mapping[str, ModuleType], lacks: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield section and reason: metrics, then the sections of the bias card, which need conditions that a log has not run."""
    for name, why in lacks.items():
        yield metrics[name].TITLE, f"does not apply: {why}"
    for name in SECTIONS.builtin():
        section = SECTIONS.find(name)
        conditions = ", ".join(need.__name__ for need in section.NEEDS)
        yield f"bias card: {section.TITLE}", f"does not apply: the log has no debates of the conditions {conditions}"


def _begin(tables: Tables, run: Path) -> Report:
    header = tables.header
    report = Report(run, "summary", f"Log: {header.scenario['name']}")
    report.plain(f"{header.scenario['title']} ({header.scenario['source']}).")
    report.note(
        "Parley did not run these debates. It read a log, so nothing is known of prompts, seeds and controls that the log does "
        "not say. Numbers describe this log and no model's bias."
    )
    if header.model["topics"] == "parley" and header.scenario["llm"] != UNKNOWN:
        report.disclaim_models(str(header.scenario["llm"]))
    return report


def _figures(report: Report, tables: Tables, results: Mapping[str, pd.DataFrame], run: Path) -> Path:
    figure = run / "figures" / "attitudes.png"
    if "trajectory" in results:
        points = results["trajectory"]
        figure = plots.write_figures(tables, points, run / "figures", caption(tables, points))
        report.picture(figure, "Attitudes by round")
        if has_network(tables):
            path = figures.save(network_figure(tables, run_note(tables)), run / "figures" / NETWORK)
            report.picture(path, "Who hears whom, before and after: colour is attitude, shape is party")
    return figure


def _how_to_read(report: Report, tables: Tables) -> None:
    rooms = tables.agents.loc[tables.agents["group"] != REFERENCE].groupby(["topic", "group"])["room"].nunique()
    scales = "; ".join(
        f"{question}: {low:g} to {high:g}{', turned' if reverse else ''}"
        for question, (low, high, reverse) in tables.header.scenario["scales"].items()
    )
    report.section(
        "How to read the numbers",
        f"The unit of analysis is the room; people of one room are not independent. There are {format_range(rooms)} "
        "rooms per topic and group. A log without rooms is one room, and one room has no interval and no "
        f"verdict.{_shared_names(tables)} {tables.opinion_note}",
    )
    report.plain(f"Ratings are shown on an axis from 0 to 10. Scales of the log: {scales or 'none'}.")


def _shared_names(tables: Tables) -> str:
    """Return a warning when a name is in several rooms of a topic and group; "" otherwise."""
    seats = tables.agents[tables.agents["group"] != REFERENCE]
    most = seats.groupby(["topic", "group", "name"])["room"].nunique().max()
    if not most > 1:
        return ""
    return (
        f" The same name is in up to {most} rooms of a topic and group. If these are the same person, rooms are not independent, "
        "and intervals are too narrow."
    )


def _details(report: Report, tables: Tables) -> None:
    scenario, model, calls = tables.header.scenario, tables.header.model, asked_of_model(tables.calls)
    uncounted = int(calls["uncounted"].sum())
    tokens = f"{calls['prompt_tokens'].sum():,} prompt tokens, {calls['completion_tokens'].sum():,} reply tokens"
    rows = {
        "recorded by": model["recorded_by"],
        "read by": model["read_by"],
        "format": model["format"],
        "model": ", ".join(dict.fromkeys(tables.agents["llm"])),
        "seed": scenario["seed"],
        "rooms, people": f"{tables.agents['room'].nunique():,}, {len(tables.agents):,}",
        "length": f"{scenario['rounds']} rounds; {len(tables.utterances):,} texts, {len(tables.attitudes):,} ratings",
        "main question": scenario["probe"] or "none",
        "further questions": ", ".join(scenario["also"]),
        "calls": f"{len(calls):,} ({tokens}; {uncounted:,} calls are not counted)" if len(calls) else "",
        "versions": ", ".join(f"{name} {version}" for name, version in tables.header.versions.items()),
        **{f"no {NAMES.get(what, what)}": why for what, why in model["lacks"].items()},
    }
    report.section("Details of the log")
    report.table([[what, str(value)] for what, value in rows.items() if value], ["what", "value"])
    report.add("Tables are in `tables/`, every text is in `transcript.md`, every event in `record.jsonl`.")
