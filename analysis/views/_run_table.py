"""The table of runs: those of this server and those in the folder runs/, to open, resume and delete."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import solara

from parley.analysis.views._address import branch_place, compare_place
from parley.analysis.views._html import element
from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._runs import ROOT, listed, registry, resume
from parley.analysis.views._session import Session
from parley.analysis.views._words import STATES, cost_words, model_of, run_title, size_words, topic_words
from parley.llm.errors import UserError
from parley.model.run_listing import RunRow

REFRESH = 2.0
"""Seconds between two looks at the folder of runs."""


@solara.component_vue("runs.vue")
def Table(
    rows: str, most: int, event_open: Callable[[str], None], event_resume: Callable[[str], None],
    event_remove: Callable[[str], None], event_branch: Callable[[str], None], event_compare: Callable[[list[str]], None],
) -> None:  # fmt: skip
    """rows: JSON of `row_of`. The browser sorts and filters them, and asks twice before it calls event_remove."""


@solara.component
def YourRuns(session: Session, go: Callable[[str], None]) -> None:
    """All runs. go opens a place of the page."""
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
            go(f"?run={folder}")
        except UserError as error:
            session.error = str(error)
            tick.set(tick.peek() + 1)

    rows, unread = listed(row_of)
    element("h1", "Your runs")
    for reason in unread:
        element("p", element("bdi", f"Not listed: {reason}."), css="soft")
    if not rows:
        element("p", f"There are no runs in {ROOT}/ yet. Start one from a scenario.")
        return
    Table(
        rows=json.dumps(rows),
        most=len(rows),
        event_open=lambda folder: go(f"?run={folder}"),
        event_resume=go_on,
        event_remove=remove,
        event_branch=lambda folder: go(branch_place(folder)),
        event_compare=lambda folders: go(compare_place(folders)),
    )


def row_of(run: RunRow) -> dict[str, Any]:
    """Return a run as a row of the table. Texts are plain; `date` and `done` sort."""
    scenario = run.header.scenario
    live = registry().get(run.folder)
    state = registry().state_of(run.folder, run.state)
    rounds = live.round if live and live.alive else run.rounds
    return {
        "folder": str(run.folder), "title": run_title(run.header), "scenario": str(scenario["name"]),
        "topics": topic_words(scenario), "model": model_of(run.header), "size": size_words(scenario),
        "rounds": f"{rounds} of {scenario['rounds']}", "done": rounds / max(1, scenario["rounds"]),
        "state": STATES.get(state, state), "date": time.strftime("%Y-%m-%d %H:%M", time.localtime(run.changed)),
        "changed": run.changed, "calls": run.calls, "cost": cost_words(run.cost),
        "resumable": state in ("unfinished", "failed", "stopped"),
        "branchable": run.calls > 0,
        "removable": state not in ("running", "paused", "ready", "elsewhere"),
    }  # fmt: skip
