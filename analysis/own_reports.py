"""The report of a run in an environment that plays rounds of its own: a study declares it (`Study.run_report`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from parley.analysis import provenance
from parley.analysis.metric_section import add_metric
from parley.analysis.metrics import applies, metrics
from parley.analysis.summary import again, missing, open_summary, run_on
from parley.analysis.table_export import write_table, write_tables
from parley.analysis.tables import Tables
from parley.llm.prices import UNPRICED, Prices
from parley.llm.studies import loaded


@dataclass(frozen=True)
class RunReport:
    """What the summary of such a run has.

    table       a run with rows in this table of the study has this report
    name        of the figure's file
    figure      draws it
    caption     says in words what it shows
    metrics     the metrics, in the order of the summary
    reading     returns how to read the numbers
    transcript  yields the lines of transcript.md
    files       says what is in transcript.md and in the tables
    note        returns a sentence after what is missing; "" for none
    """

    table: str
    name: str
    figure: Callable[[Tables], Figure]
    caption: str
    metrics: tuple[str, ...]
    reading: Callable[[Tables], str]
    transcript: Callable[[Tables], Iterator[str]]
    files: str
    note: Callable[[Tables], str] = lambda _: ""


def own_reports() -> list[RunReport]:
    """Return the reports of all studies that have one."""
    return loaded("run_report")


def own_report(tables: Tables) -> RunReport | None:
    """Return the report that a study has for this run; None for a run of debates."""
    return next((report for report in own_reports() if len(getattr(tables, report.table))), None)


def write_own_report(
    study_report: RunReport, tables: Tables, run: Path, summary: Path, prices: Prices = UNPRICED
) -> Path:
    """Write tables/, figures/, transcript.md and, last, the summary; return the figure's path."""
    report, metrics_by_name = open_summary(tables, summary), metrics()
    results = {
        name: metrics_by_name[name].compute(tables)
        for name in study_report.metrics
        if applies(metrics_by_name[name], tables)
    }
    results = {name: frame for name, frame in results.items() if len(frame)}
    write_tables(tables, run / "tables")
    for name, frame in results.items():
        write_table(frame, run / "tables" / name)
    drawn = report.figure(study_report.figure(tables), f"figures/{study_report.name}", study_report.caption)
    report.in_short(metrics_by_name[name].headline(frame) for name, frame in results.items())
    report.section("How to read the numbers", study_report.reading(tables))
    report.lines(provenance.intervention_table(tables))
    for name, frame in results.items():
        add_metric(report, tables, metrics_by_name[name], frame)
    missing(report, tables)
    report.add(study_report.note(tables))
    run_on(report, tables, prices)
    again(report, tables)
    (run / "transcript.md").write_text("\n".join(study_report.transcript(tables)), encoding="utf-8")
    report.add(study_report.files)
    report.write()
    return drawn
