"""The report of a run in an environment that plays rounds of its own: a study declares it (`Study.run_report`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from parley.analysis import provenance
from parley.analysis.metrics import applies, metrics
from parley.analysis.summary import add_metric, again, missing, open_summary, run_on
from parley.analysis.table_export import write_table, write_tables
from parley.analysis.tables import Tables
from parley.llm.budget import UNPRICED, Prices
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


def write_own_report(own: RunReport, tables: Tables, run: Path, summary: Path, prices: Prices = UNPRICED) -> Path:
    """Write tables/, figures/, transcript.md and, last, the summary; return the figure's path."""
    report, known = open_summary(tables, summary), metrics()
    results = {name: known[name].compute(tables) for name in own.metrics if applies(known[name], tables)}
    results = {name: frame for name, frame in results.items() if len(frame)}
    write_tables(tables, run / "tables")
    for name, frame in results.items():
        write_table(frame, run / "tables" / name)
    drawn = report.figure(own.figure(tables), f"figures/{own.name}", own.caption)
    report.section("In short", "\n".join(f"- {known[name].headline(frame)}" for name, frame in results.items()))
    report.section("How to read the numbers", own.reading(tables))
    report.lines(provenance.intervention_table(tables))
    for name, frame in results.items():
        add_metric(report, tables, known[name], frame)
    missing(report, tables)
    report.add(own.note(tables))
    run_on(report, tables, prices)
    again(report, tables)
    (run / "transcript.md").write_text("\n".join(own.transcript(tables)), encoding="utf-8")
    report.add(own.files)
    report.write()
    return drawn
