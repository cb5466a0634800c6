"""The header of the run shown: what it is, how far it is, and its buttons."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import solara

from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.formatting import count_phrase
from parley.analysis.views._address import branch_place
from parley.analysis.views._fields import plain_value
from parley.analysis.views._form import draft_of
from parley.analysis.views._html import element
from parley.analysis.views._session import Session
from parley.analysis.views._words import model_of, run_title, size_words

if TYPE_CHECKING:
    from parley.analysis.tables import Tables
    from parley.model.events import Header
    from parley.model.interactive_run import InteractiveRun

SLOWEST = 10
"""Seconds of the longest pause between two rounds."""


@solara.component_vue("drive.vue")
def Drive(state: str, event_act: Callable[[str], None], event_pace: Callable[[float], None]) -> None:
    """state: JSON of the buttons and whether each can be used. A button that cannot be used keeps the focus."""


@solara.component
def RunHeader(session: Session, go: Callable[[str], None]) -> None:
    """The header of the run that the tab looks at. go opens a place of the page."""
    session.seen.get()
    live, tables = session.live, session.tables
    pace = solara.use_reactive(session.pace)
    header = tables.header if tables else None
    with solara.Column(classes=["shown"], gap="4px"):
        element("h1", element("bdi", run_title(header) if header else str(session.folder)))
        if header and tables:
            element(
                "p",
                element("bdi", about(header, tables)),
                element("bdi", str(session.folder), css="folder"),
                css="facts",
            )
        element("p", status(session), role="status", css="status")
        if live and live.phase != "stopped":
            share = 100 * live.calls / max(1, live.total)
            waiting = live.phase == "running" and not live.events
            done = {} if waiting else {"value": str(100 if live.phase == "done" else round(min(share, 99)))}
            element("progress", max="100", **done, **{"aria-label": "Replies of the run so far"})
        for text in filter(None, (session.error, live.error if live else "")):
            element("p", element("bdi", text), css="wrong", role="alert")
        if live and live.problem:
            element("p", element("bdi", live.problem), css="wrong", role="alert")

    def act(name: str) -> None:
        if name == "New run with these settings":
            if header:
                session.draft.set(_draft(header, str(session.folder)))
                go("?new")
            return
        if name == "Branch":
            go(branch_place(session.folder))
            return
        buttons: dict[str, Callable[[], None]] = {
            "Play": session.play, "Step": session.step, "Pause": session.pause, "Stop": session.stop,
            "Resume": session.resume,
        }  # fmt: skip
        buttons[name]()

    def rest(seconds: float) -> None:
        pace.set(seconds)
        session.rest(seconds)

    state = {"buttons": buttons(session), "pace": pace.value, "slowest": SLOWEST, "live": session.phase in GOING}
    Drive(state=json.dumps(state), event_act=act, event_pace=rest)


GOING = ("ready", "running", "paused")


def buttons(session: Session) -> list[tuple[str, bool]]:
    """Return the buttons of the run shown, each with whether it can be used now."""
    phase = session.phase
    phase_buttons: list[tuple[str, bool]] = []
    if phase in GOING or phase == "done":
        waiting = phase in ("ready", "paused")
        phase_buttons = [("Play", waiting), ("Step", waiting), ("Pause", phase == "running"), ("Stop", phase in GOING)]
    elif phase or (session.loaded and not session.loaded.finished):  # a folder without a run has nothing to resume
        phase_buttons = [("Resume", True)]
    return [
        *phase_buttons,
        ("Branch", session.tables is not None and not deliberates(session.tables)),
        ("New run with these settings", session.tables is not None),
    ]


def about(header: Header, tables: Tables) -> str:
    """Return the size, the model and the seed of a run in a line."""
    agents = tables.agents
    rooms = (
        f"{count_phrase(agents['room'].nunique(), 'room')}, {count_phrase(len(agents), 'agent')}" if len(agents) else ""
    )
    parts = [rooms, size_words(header.scenario), model_of(header), f"seed {header.scenario['seed']}"]
    return " · ".join(filter(None, parts))


def status(session: Session) -> str:
    """Return the state of the run shown, in a line."""
    live = session.live
    if live is None:
        if session.loaded is None:
            return ""
        return "Finished." if session.loaded.finished else f"Unfinished. {RESUMABLE}"
    rounds, replies = live.scenario.rounds, f"{live.calls:,} of {live.total:,} replies"
    if live.phase == "running" and not live.events:
        return "Opening the model and checking what it can do…"
    return {
        "ready": "Ready. Choose Play to run to the end, or Step for one round.",
        "running": f"Running round {min(live.round + 1, rounds)} of {rounds}. {replies}{_left(live)}.",
        "paused": f"Paused after round {live.round} of {rounds}. {replies}.",
        "done": f"Finished. {rounds} round{'s' * (rounds != 1)}, {live.calls:,} replies.",
        "stopped": f"Stopped in round {min(live.round + 1, rounds)} of {rounds}. {RESUMABLE}",
        "failed": f"Stopped by an error in round {min(live.round + 1, rounds)} of {rounds}. {RESUMABLE}",
    }[live.phase]


RESUMABLE = "Resume goes on from here: every reply is saved, and none is requested twice."


def _left(live: InteractiveRun) -> str:
    """Return the speed and the time left, once they are known."""
    if live.calls < 20 or live.seconds < 1:
        return ""
    from parley.model.run_time import duration

    rate = live.calls / live.seconds
    left = max(0, live.total - live.calls) / rate
    return f", {rate:,.2g} a second, about {duration(left)} left" if left else ""


def _draft(header: Header, folder: str) -> Any:
    """Return the form with the settings of a run."""
    scenario = header.scenario
    given = {
        key: plain_value(scenario.get(key, scenario["options"].get(key)))
        for key in header.given
        if key != "interventions"
    }
    given = {"llm": str(scenario["llm"]), **given}
    draft = draft_of(str(scenario["name"]))
    return replace(draft, given=given, origin=given, source=f"With the settings of {folder}.")
