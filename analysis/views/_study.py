"""The page of a study as a whole: its report in a frame, and its runs; or that a folder holds nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import solara

from parley.analysis.result_folders import (
    CARD,
    StudyRow,
    inner_runs,
    kind_of,
    study_row,
)
from parley.analysis.serving.reports import report_address
from parley.analysis.views._address import place_of
from parley.analysis.views._html import element
from parley.analysis.views._measure import Progress, audit_of, kept_draft
from parley.analysis.views._population import PopulationField
from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._words import STATES, model_of, run_title
from parley.model.run_listing import RunRow

STYLE = Path(__file__).with_name("results.css")
REFRESH = 1.0
"""Seconds between two looks at the folder."""
MOST = 100
"""Runs of a study that are listed on its page."""


@solara.component
def StudyPage(folder: Path, go: Callable[[str], None]) -> None:
    """The study in a folder. go opens a place of the page."""
    tick = solara.use_reactive(0)
    tick.get()
    use_repeated(REFRESH, lambda: tick.set(tick.peek() + 1))
    kind = kind_of(folder)
    if kind is None:
        NothingThere(folder)
        return
    study = study_row(folder, kind)
    solara.Style(STYLE)
    with solara.Column(classes=["shown"], gap="4px"):
        element("h1", element("bdi", study.title))
        element("p", f"A {kind.noun}", element("bdi", str(folder), css="folder"), css="facts")
        audit = audit_of(folder)
        if study.state != "done" and not (audit or kept_draft(folder)):
            element("p", unfinished(study), role="status", css="status")
        elif kind.noun == CARD:
            Progress(folder, study.state == "unfinished")
    PopulationField(folder, study.changed)
    if study.state == "done":
        report_frame([folder], study.changed, f"Report: {study.title}")
    RunsInside(folder, study.changed, go)


@solara.component
def NothingThere(folder: Path) -> None:
    """What is said of an address without a run."""
    element("h1", element("bdi", str(folder)))
    there = f"{folder} holds no run and no report" if folder.is_dir() else f"There is no folder {folder}"
    element("p", element("bdi", f"{there}. Choose a row under Your runs."), css="wrong", role="alert")


def unfinished(study: StudyRow) -> str:
    """Return the state of a study without its report."""
    if study.state == "elsewhere":
        return f"{STATES[study.state].capitalize()}: its report is written when it ends."
    return (
        "The study is unfinished, so there is no report yet. Repeat the command that began the study: no "
        "answered question is asked again."
    )


def report_frame(folders: Sequence[object], changed: float, name: str) -> None:
    """Show the report of a study, or the comparison of several, in a frame in which nothing runs."""
    element("iframe", css="report", sandbox="", src=report_address(folders, changed), title=name).key(name)


@solara.component
def RunsInside(folder: Path, changed: float, go: Callable[[str], None]) -> None:
    """The runs of a study, each to open."""
    rows = solara.use_memo(lambda: [row for run in inner_runs(folder).rows if (row := _run_line(run))], [changed])
    if not rows:
        return
    fold = element("details", element("summary", f"Runs of this study ({len(rows):,})"))
    with fold, solara.Column(gap="4px", align="start"):
        for inner, title in rows[:MOST]:
            solara.Button(title, lambda inner=inner: go(place_of(run=inner)), text=True)
        if len(rows) > MOST:
            element(
                "p",
                f"This list shows the first {MOST} of {len(rows):,} runs. You can open every other run by its address.",
                css="soft",
            )


def _run_line(run: RunRow) -> tuple[Path, str] | None:
    """Return a run with its place in the study and what it is; None where its header cannot be read."""
    try:
        return run.folder, f"{run.folder.name}: {run_title(run.header)}, {model_of(run.header)}"
    except Exception:  # noqa: BLE001  the header of another hand may hold anything
        return None
