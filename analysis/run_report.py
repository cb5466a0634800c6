"""Writes everything that a run folder gets from its record: tables, metrics, figures, transcript, summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure

from parley.analysis import plots
from parley.analysis.deliberation import consensus_report
from parley.analysis.figures import KINDS, save
from parley.analysis.logs.report import has_attitudes, write_log_report
from parley.analysis.metrics import applies, contagion, metrics, trajectory
from parley.analysis.network_plot import has_network, network_figure
from parley.analysis.own_reports import own_report, own_reports, write_own_report
from parley.analysis.report import disk_errors
from parley.analysis.summary import NETWORK, caption, run_note, write_summary
from parley.analysis.table_export import write_table, write_tables
from parley.analysis.tables import Tables, load
from parley.analysis.transcript import write_transcript
from parley.llm.errors import unknown_name
from parley.llm.prices import UNPRICED, Prices

SUMMARY = "summary.md"


def main_figure(run: Path) -> Path:
    """Return the path of a report's main figure."""
    names = ["consensus", *(report.name for report in own_reports()), "attitudes"]
    paths = [run / "figures" / f"{name}.png" for name in names]
    return next((path for path in paths if path.exists()), paths[-1])


def figures(tables: Tables, run: Path) -> dict[str, Callable[[], Figure]]:
    """Return the figures of a run by their names in its folder, the main one first. A figure is drawn when it is called."""
    if consensus_report.deliberates(tables):
        return {"consensus": partial(consensus_report.figure, tables, run)}
    if study_report := own_report(tables):
        return {study_report.name: partial(study_report.figure, tables)}
    if tables.header.is_log and not has_attitudes(tables):
        return {}
    points, believers = trajectory.compute(tables), contagion.compute(tables)
    drawn = plots.run_figures(tables, points, caption(tables, points))
    if has_network(tables):
        drawn[NETWORK] = partial(network_figure, tables, run_note(tables))
    return drawn | ({"contagion": partial(plots.contagion_figure, tables, believers)} if len(believers) else {})


def draw_figures(run: Path, kinds: Sequence[str]) -> Path:
    """Write all figures of a run in these formats (figures.KINDS); return their folder. Errors: UserError."""
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("format of a figure", kind, KINDS)
    folder = run / "figures"
    with disk_errors(run, "the record is saved; repeat the command to draw the figures"):
        folder.mkdir(exist_ok=True)
        for name, draw in figures(load(run), run).items():
            save(draw(), folder / name, kinds)
    return folder


def write_report(run: Path, prices: Prices = UNPRICED, more: Sequence[str] = ()) -> Path:
    """Write tables/, figures/, transcript.md and summary.md into a run folder; return the main figure's path.

    The same record (and prices) gives the same bytes. The summary is written last, so a folder with a summary is complete.
    more: the paths of your own metrics. Errors: UserError when the disk is full or the folder cannot be written.
    """
    with disk_errors(run, "the record is saved; repeat the command to write the report"):
        tables = load(run)
        (run / SUMMARY).unlink(missing_ok=True)
        if tables.header.is_log:
            return write_log_report(tables, run, metrics(more))
        if consensus_report.deliberates(tables):
            return consensus_report.write_consensus_report(tables, run, run / SUMMARY, prices)
        if study_report := own_report(tables):
            return write_own_report(study_report, tables, run, run / SUMMARY, prices)
        write_tables(tables, run / "tables")
        measured = {name: metric for name, metric in metrics(more).items() if applies(metric, tables)}
        results = {name: metric.compute(tables) for name, metric in measured.items()}
        for name, metric_table in results.items():
            write_table(metric_table, run / "tables" / name)
        points = results["trajectory"]
        figure = plots.write_figures(tables, points, run / "figures", caption(tables, points))
        if has_network(tables):
            save(network_figure(tables, run_note(tables)), run / "figures" / NETWORK)
        if len(results.get("contagion", ())):
            save(plots.contagion_figure(tables, results["contagion"]), run / "figures" / "contagion")
        write_transcript(tables, run / "transcript.md")
        write_summary(tables, results, run / SUMMARY, figure, prices, measured)
        return figure
