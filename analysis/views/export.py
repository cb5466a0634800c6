"""The run as files: the report, the folder as a zip, every table, every figure, the transcript, and its command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd
import solara
import solara.lab
from matplotlib.figure import Figure

from parley.analysis import html_report, transcript
from parley.analysis.branch_report import branch_figure, compare_with_parent, parent_folder
from parley.analysis.deliberation import session_transcript
from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.deliberation.position_change import statements, voices
from parley.analysis.deliberation.run_episodes import (
    measured_episodes,
    mediator_choices,
    represented_texts,
)
from parley.analysis.metrics import applies, metrics
from parley.analysis.provenance import rerun_command
from parley.analysis.run_archive import write_archive
from parley.analysis.run_report import figures
from parley.analysis.summary import NO_COMMAND
from parley.analysis.table_export import write_table
from parley.analysis.tables import Tables
from parley.analysis.views._columns import column_rows, table_title
from parley.analysis.views._download import Download
from parley.analysis.views._html import KINDS, ONE_FIGURE_AT_A_TIME, Select, element, painted, table
from parley.analysis.views._session import Shown
from parley.analysis.views.attitudes import drawable
from parley.llm.errors import UserError

ORDER = 12
TITLE = "Export"
TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
BIG = 300_000_000
"""Bytes of a folder above which the page makes no zip: the browser would need all of it in memory."""
LATER = "The report and the zip appear here when the run has ended or is stopped."


LISTING = "Listing the tables and figures of this run…"


class Files(NamedTuple):
    """What makes each table and each figure of a run, by name. Nothing is made before its button is pressed."""

    tables: dict[str, Callable[[], pd.DataFrame]]
    figures: dict[str, Callable[[], Figure]]


@solara.component_vue("copy.vue")
def Command(command: str) -> None:
    """A command, and a button that copies it."""


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    tables = shown.tables
    folder = shown.session.folder or Path("run")
    now: list[object] = [str(folder), len(tables.attitudes), len(tables.utterances), tables.finished]
    task = solara.lab.use_task(
        lambda: Files(tables_of(shown), figures_of(tables, folder)), dependencies=now, raise_error=False
    )
    files = (task.value if task.finished else task.latest) or Files({}, {})
    going = shown.session.phase in ("ready", "running", "paused")
    with solara.Div(classes=["exports"]):
        with solara.Column(classes=["files"], gap="6px"):
            element("h2", "Everything")
            Whole(folder, now, going)
        with solara.Column(classes=["files"], gap="6px"):
            element("h2", "Tables")
            if files.tables:
                TableFiles(files, folder, now)
            else:
                element("p", LISTING, css="soft", role="status")
        if drawable(tables):
            with solara.Column(classes=["files"], gap="6px"):
                element("h2", "Figures")
                if files.figures:
                    FigureFiles(files, folder, now)
                else:
                    element("p", LISTING, css="soft")
        with solara.Column(classes=["files"], gap="6px"):
            element("h2", "Transcript")
            label = "Transcript (Markdown)"
            Download(lambda: text(shown).encode(), f"{folder.name}-transcript.md", "text/markdown", label, now)
            element("p", "The file has every debate, line by line, all rounds so far.", css="soft")
    element("h2", "Run it again")
    command = rerun_command(tables.header)
    if command:
        Command(command=command)
        element("p", "With the same model, this command gives the same record.", css="soft")
    else:
        element("p", NO_COMMAND.replace("`", ""))


@solara.component
def Whole(folder: Path, now: list[object], going: bool) -> None:
    """The report and the zip."""
    with_journal = solara.use_reactive(False)
    if going or not folder.is_dir():
        element("p", LATER, css="soft")
        return
    Download(lambda: report_of(folder), f"{folder.name}.html", "text/html", "Report (one HTML file)", now)
    element("p", "The report has findings, figures, tables and examples, and can be read without Parley.", css="soft")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > BIG:
        element("p", f"This folder has {size / 1e6:,.0f} MB, too much for the browser: copy {folder}.", css="soft")
        return
    solara.Checkbox(label="With the journal (every prompt and reply)", value=with_journal)
    journal = with_journal.value
    Download(
        lambda: zip_of(folder, journal), f"{folder.name}.zip", "application/zip", "Run folder (zip)", [*now, journal]
    )
    element("p", "Without the journal, the run can be read, but not resumed or branched.", css="soft")


@solara.component
def TableFiles(files: Files, folder: Path, now: list[object]) -> None:
    """Every table, as CSV or Parquet, with what its columns are."""
    named = files.tables
    chosen = solara.use_reactive("attitudes")
    name = chosen.value if chosen.value in named else next(iter(named))
    titles = {table_title(table): table for table in named}
    Select("Table", list(titles), table_title(name), lambda title: chosen.set(titles[title]))
    with solara.Row(classes=["actions"], gap="6px"):
        for kind, mime in TYPES.items():
            label = f"Table ({'CSV' if kind == 'csv' else 'Parquet'})"
            Download(table_maker(named[name], kind), f"{folder.name}-{name}.{kind}", mime, label, [*now, name])
    element("p", f"{len(named)} tables, of all rounds so far.", css="soft")
    if rows := solara.use_memo(lambda: column_rows(name), [name]):
        with element("details", element("summary", "Columns of this table")):
            table(["what it is", "column"], rows, f"Columns of {table_title(name)}")


@solara.component
def FigureFiles(files: Files, folder: Path, now: list[object]) -> None:
    """Every figure of the report, as PNG, SVG or PDF."""
    drawn = files.figures
    chosen = solara.use_reactive(next(iter(drawn)))
    name = chosen.value if chosen.value in drawn else next(iter(drawn))
    titles = {figure.replace("_", " ").capitalize(): figure for figure in drawn}
    Select("Figure", list(titles), name.replace("_", " ").capitalize(), lambda title: chosen.set(titles[title]))
    with solara.Row(classes=["actions"], gap="6px"):
        for kind, mime in KINDS.items():
            label = f"Figure ({kind.upper()})"
            Download(figure_maker(drawn[name], kind), f"{folder.name}-{name}.{kind}", mime, label, [*now, name])
    element("p", "As in the report. PDF and SVG stay sharp at every size.", css="soft")


def table_maker(make: Callable[[], pd.DataFrame], kind: str) -> Callable[[], bytes]:
    """Return what makes the file of a table."""
    return lambda: table_file(make(), kind)


def figure_maker(draw: Callable[[], Figure], kind: str) -> Callable[[], bytes]:
    """Return what makes the file of a figure."""
    return lambda: painted(draw, kind)


def table_file(frame: pd.DataFrame, kind: str) -> bytes:
    """Return a table as the bytes of a CSV or Parquet file, as in the folder of the run."""
    with TemporaryDirectory() as place:
        paths = write_table(frame, Path(place) / "table")
        return next(path for path in paths if path.suffix == f".{kind}").read_bytes()


def tables_of(shown: Shown) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return every table of a run by name: those of the record with rows, then those of the metrics. Made when called."""
    tables = shown.tables
    frames = {field.name: getattr(tables, field.name) for field in fields(tables)}
    named: dict[str, Callable[[], pd.DataFrame]] = {
        name: frame.copy
        for name, frame in frames.items()
        if isinstance(frame, pd.DataFrame) and (len(frame) or name == "attitudes")
    }
    if deliberates(tables):
        episodes = measured_episodes(shown.events)
        return named | {"voices": partial(voices, episodes), "episodes": partial(statements, episodes)}
    measured = {name: metric for name, metric in metrics().items() if applies(metric, tables)}
    return named | {name: partial(metric.compute, tables) for name, metric in measured.items()}


def figures_of(tables: Tables, folder: Path) -> dict[str, Callable[[], Figure]]:
    """Return the figures of a run by name, the main one first; of a branch also that of its effect."""
    drawn = figures(tables, folder)
    where = parent_folder(tables.header, folder)
    if where is None:
        return drawn
    try:
        comparison = compare_with_parent(tables, where)
    except UserError:
        return drawn
    return drawn | {"branch": lambda: branch_figure(comparison.parent, tables, comparison.result)}


def report_of(folder: Path) -> bytes:
    """Return the report of a run as one HTML file."""
    with ONE_FIGURE_AT_A_TIME, TemporaryDirectory() as place:
        return html_report.write([folder], Path(place) / "report.html").read_bytes()


def zip_of(folder: Path, journal: bool) -> bytes:
    """Return the folder of a run as a zip file."""
    with TemporaryDirectory() as place:
        return write_archive(folder, Path(place) / "run.zip", journal).read_bytes()


def text(shown: Shown) -> str:
    """Return the transcript in Markdown."""
    if not deliberates(shown.tables):
        return transcript.text(shown.tables)
    events = shown.events
    episodes, candidates = measured_episodes(events), mediator_choices(events)
    return session_transcript.text(shown.tables, episodes, candidates, represented_texts(events))
