"""The table of runs and studies: a row for each, with what came out, to open, compare, resume and delete."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import solara

from parley.analysis.result_folders import CARD, SUMMARY, StudyRow, first_header, read_headline
from parley.analysis.views._address import place_of
from parley.analysis.views._html import element
from parley.analysis.views._measure import audit_of
from parley.analysis.views._next_steps import MEASURE, audit_place
from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._runs import ROOT, listed, registry, resume
from parley.analysis.views._session import Session
from parley.analysis.views._words import STATES, cost_words, model_of, run_title, size_words, topic_words
from parley.llm.errors import UserError
from parley.model.run_listing import RunRow

STYLE = Path(__file__).with_name("results.css")
REFRESH = 2.0
"""Seconds between two looks at the folder of runs."""


@solara.component_vue("runs.vue")
def Table(
    rows: str, event_go: Callable[[str], None], event_resume: Callable[[str], None],
    event_remove: Callable[[str], None], event_compare: Callable[[list[str]], None],
) -> None:  # fmt: skip
    """rows: JSON of `row_of` and `study_row_of`. The browser sorts and filters, and asks twice before event_remove."""


@solara.component
def YourRuns(session: Session, go: Callable[[str], None]) -> None:
    """All runs and studies. go opens a place of the page."""
    session.seen.get()
    tick = solara.use_reactive(0)
    tick.get()

    use_repeated(REFRESH, lambda: tick.set(tick.peek() + 1))

    def remove(folder: str) -> None:
        try:
            registry().delete(Path(folder))
            session.error = ""
        except UserError as error:
            session.error = str(error)
        tick.set(tick.peek() + 1)

    def go_on(folder: str) -> None:
        try:
            resume(Path(folder))
            go(place_of(run=folder))
        except UserError as error:
            session.error = str(error)
            tick.set(tick.peek() + 1)

    rows, unread = listed(row_of, study_row_of)
    solara.Style(STYLE)
    element("h1", "Your runs")
    for reason in unread:
        element("p", element("bdi", f"Not listed: {reason}."), css="soft")
    if not rows:
        element("p", f"There are no runs in {ROOT}/ yet. Start one from a scenario.")
        return
    Table(
        rows=json.dumps(rows),
        event_go=go,
        event_resume=go_on,
        event_remove=remove,
        event_compare=lambda folders: go(place_of(compare=folders)),
    )


RUN = "run"


def row_of(run: RunRow) -> dict[str, Any]:
    """Return a run as a row of the table. Texts are plain; `changed` sorts."""
    scenario = run.header.scenario
    live = registry().get(run.folder)
    state = registry().state_of(run.folder, run.state)
    rounds = live.round if live and live.alive else run.rounds
    so_far = "" if state == "done" else f", {rounds} of {scenario['rounds']} rounds"
    _, sentence = read_headline(run.folder / SUMMARY) if state == "done" else ("", "")
    measurable = state == "done" and not run.header.is_log
    return {
        "kind": RUN, "folder": str(run.folder), "title": run_title(run.header), "sentence": sentence,
        "scenario": str(scenario["name"]), "topics": topic_words(scenario), "model": model_of(run.header),
        "size": size_words(scenario), "state": STATES.get(state, state) + so_far, **_dated(run.changed),
        "cost": cost_words(run.cost), "lost": f"Its record and {run.calls:,} replies",
        "resumable": state in ("unfinished", "failed", "stopped"),
        "steps": steps(run.folder, run.calls > 0, audit_place(scenario) if measurable else ""),
        "comparable": True,
        "removable": state not in ("running", "paused", "ready", "elsewhere"),
    }  # fmt: skip


def study_row_of(study: StudyRow) -> dict[str, Any]:
    """Return a whole study as a row of the table."""
    audit = audit_of(study.folder)
    state = "running" if audit and audit.running else study.state
    comparable = study.kind.noun == CARD and state == "done"
    model, audit_form = about_model(study.folder)
    return {
        "kind": study.kind.noun, "folder": str(study.folder), "title": study.title, "sentence": study.sentence,
        "scenario": "", "topics": "", "model": model, "size": "",
        "state": STATES.get(state, state), **_dated(study.changed), "cost": "",
        "lost": "The report of the study, and all of its runs with their replies,",
        "resumable": False,
        "steps": steps(study.folder, False, audit_form if comparable else ""),
        "comparable": comparable,
        "removable": state in ("done", "unfinished"),
    }  # fmt: skip


def about_model(folder: Path) -> tuple[str, str]:
    """Return the model of a study in words, and the place of the form of an audit of it; "" and "" for a study without a run."""
    header = first_header(folder)
    try:
        return (model_of(header), audit_place(header.scenario)) if header else ("", "")
    except Exception:  # noqa: BLE001  the header of another hand may hold anything
        return "", ""


def steps(folder: Path, branches: bool, audit_form: str) -> list[tuple[str, str]]:
    """Return the buttons of a row that open a place, each with the place.

    branches: whether a branch can leave the run. audit_form: the place of the form of an audit, "" where nothing is finished.
    """
    buttons = [("Open", place_of(run=folder)), *([("Branch", place_of(branch=folder))] if branches else [])]
    return (
        [*buttons, ("Compare with another", place_of(compare=folder)), (MEASURE, audit_form)] if audit_form else buttons
    )


def _dated(changed: float) -> dict[str, Any]:
    return {"date": time.strftime("%Y-%m-%d %H:%M", time.localtime(changed)), "changed": changed}
