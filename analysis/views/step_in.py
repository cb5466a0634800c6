"""Step into a run: before the next round, send a message, mute agents, let agents leave or join."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import solara

from parley.analysis.tables import Tables
from parley.analysis.views._html import element
from parley.analysis.views._intervene import InterventionFields, rooms_of_debates
from parley.analysis.views._session import Session, Shown
from parley.analysis.views._timetable import in_words
from parley.model.interactive_run import SteppedIn

ORDER = 11
TITLE = "Step in"
RECORDED = "This intervention is saved in the record and in the command of the run, so that the run can be repeated."
STOPPED = "This run was stopped, so it cannot be changed now. Resume goes on with it."


@solara.component_vue("lines_with_button.vue")
def Lines(rows: str, button: str, event_press: Callable[[int], None]) -> None:
    """rows: JSON of lines with their text, and whether each has the button."""


def shows(tables: Tables) -> bool:
    """Return whether the run may go on: a finished one cannot be changed, and Branch has the same fields."""
    return bool(tables.groups) and not tables.finished


@solara.component
def View(shown: Shown) -> None:
    session = shown.session
    going = session.phase in ("ready", "running", "paused")
    if going:
        InterventionFields(shown.tables, "Send before the next round", session.step_in)
    element("p", RECORDED if going else STOPPED)
    steps = session.interventions
    if steps:
        rows = [row_of(step, shown, going) for step in steps]
        Lines(
            rows=json.dumps(rows), button="Take back", event_press=lambda place: take_back(session, steps, int(place))
        )


def row_of(step: SteppedIn, shown: Shown, going: bool) -> dict[str, Any]:
    """Return an intervention of the page as a line: in words, and whether it can still be taken back."""
    words = in_words(step.what, shown.tables.names, rooms_of_debates(shown.tables))
    live = shown.session.live
    pending = (
        going and live is not None and not step.refused and live.phase == "paused" and step.what.round > live.round
    )
    text = f"Refused: {step.refused}." if step.refused else words
    return {"text": text, "able": pending, "name": f"Take back: {words}"}


def take_back(session: Session, steps: list[SteppedIn], place: int) -> None:
    if place < len(steps):
        session.take_back(steps[place].what)
