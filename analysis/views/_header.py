"""The header of the run shown: what it is, how far it is, and the one bar that drives and replays it (transport.vue)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import solara

from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.formatting import count_phrase
from parley.analysis.provenance import size_of
from parley.analysis.views._address import place_of
from parley.analysis.views._fields import plain_value
from parley.analysis.views._form import draft_of
from parley.analysis.views._html import element
from parley.analysis.views._replay import seconds_of_a_round
from parley.analysis.views._session import Session
from parley.analysis.views._words import model_of, run_title
from parley.llm.backends import needs_qualification

if TYPE_CHECKING:
    from parley.analysis.tables import Tables
    from parley.model.events import Header
    from parley.model.interactive_run import InteractiveRun

PACES = (0, 0.5, 1, 2, 5, 10)
"""Seconds to choose from for the pause between two rounds."""
GOING = ("ready", "running", "paused")


@solara.component_vue("transport.vue")
def Transport(
    run: str, rounds: int, total: int, seconds: float, state: str, event_settle: Callable[[int], None],
    event_act: Callable[[str], None], event_pace: Callable[[float], None],
) -> None:  # fmt: skip
    """run: the run shown. rounds: the rounds that it has so far; total: all. seconds: of a round in a replay at speed 1.

    state: JSON of `bar_state`. event_settle gets the round when the reader has come to rest; event_act the name of a button.
    """


@solara.component
def RunHeader(session: Session, go: Callable[[str], None]) -> None:
    """The header of the run that the tab looks at: two lines and the bar. go opens a place of the page."""
    session.seen.get()
    live, tables = session.live, session.tables
    header = tables.header if tables else None
    pace, rounds = solara.use_reactive(session.pace), rounds_so_far(tables)
    seconds = solara.use_memo(lambda: seconds_of_a_round(tables) if tables else 1.0, [str(session.folder), rounds])
    with solara.Column(classes=["shown"], gap="0px"):
        title = element("h1", element("bdi", run_title(header) if header else str(session.folder)))
        element("div", title, element("p", status(session), role="status", css="status"), css="titled")
        if header and tables:
            folder = element("bdi", str(session.folder), css="folder")
            element("p", element("bdi", about(header, tables)), folder, css="facts")
        for text in filter(None, (session.error, live.error if live else "", live.problem if live else "")):
            element("p", element("bdi", text), css="wrong", role="alert")

    def act(name: str) -> None:
        if name == "New run with these settings":
            if header:
                session.draft.set(_draft(header, str(session.folder)))
                go("?new")
            return
        if name == "Branch":
            go(place_of(branch=session.folder))
            return
        buttons: dict[str, Callable[[], None]] = {
            "Play": session.play, "Step": session.step, "Pause": session.pause, "Stop": session.stop,
            "Resume": session.resume,
        }  # fmt: skip
        buttons[name]()

    def rest(seconds: float) -> None:
        pace.set(seconds)
        session.rest(seconds)

    Transport(
        run=str(session.folder),
        rounds=rounds,
        total=max(rounds, int(header.scenario["rounds"]) if header else 0),
        seconds=seconds,
        state=json.dumps(bar_state(session) | {"pace": pace.value, "paces": PACES}),
        event_settle=lambda to: session.round.set(-1 if to >= rounds else to),
        event_act=act,
        event_pace=rest,
    )


def rounds_so_far(tables: Tables | None) -> int:
    """Return the last round of which anything is recorded."""
    if tables is None:
        return 0
    frames = (tables.attitudes, tables.utterances, tables.acts, *tables.of_studies.values())
    return max((int(frame["round"].max()) for frame in frames if len(frame) and "round" in frame), default=0)


def bar_state(session: Session) -> dict[str, Any]:
    """Return the buttons of the run shown that do something now, how many replies are there (in %), and whether it goes on."""
    phase, live, tables = session.phase, session.live, session.tables
    run: tuple[str, ...] = ()
    if phase in ("ready", "paused"):
        run = ("Play", "Step", "Stop")
    elif phase == "running":
        run = ("Pause", "Stop")
    elif phase != "done" and (phase or (session.loaded and not session.loaded.finished)):
        run = ("Resume",)  # a folder without a run has nothing to resume
    following = ["Branch"] if tables is not None and not deliberates(tables) else []
    following += ["New run with these settings"] if tables is not None else []
    opening = live is None or (phase == "running" and not live.events)
    done = None if opening or live is None else round(100 * min(1, live.calls / max(1, live.total)))
    return {"run": run, "next": following, "live": phase in GOING, "done": done}


def about(header: Header, tables: Tables) -> str:
    """Return the size, the model and the seed of a run in a line."""
    size = size_of(tables.agents) if len(tables.agents) else ""
    rounds = count_phrase(int(header.scenario["rounds"]), "round")
    parts = [size, rounds, model_of(header), f"seed {header.scenario['seed']}"]
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
        asked = f" {count_phrase(live.calls, 'question')} so far." if live.calls else ""
        real = needs_qualification(live.scenario.models.llm)
        return f"{'Opening the model and checking what it can do' if real else 'The run begins'}…{asked}"
    if live.phase == "running" and live.calls >= live.total and live.round >= rounds:
        return f"All {live.calls:,} replies are there. Writing tables, figures and summary…"
    return {
        "ready": "Ready. Choose Play to run to the end, or Step for one round.",
        "running": f"Running round {min(live.round + 1, rounds)} of {rounds}. {replies}{_left(live)}.",
        "paused": f"Paused after round {live.round} of {rounds}. {replies}.",
        "done": f"Finished. {rounds} round{'s' * (rounds != 1)}, {live.calls:,} replies.",
        "stopped": f"Stopped in round {min(live.round + 1, rounds)} of {rounds}. {RESUMABLE}",
        "failed": f"Stopped by an error in round {min(live.round + 1, rounds)} of {rounds}. {RESUMABLE}",
    }[live.phase]


RESUMABLE = "Resume goes on from here: every reply is saved, and no reply is requested twice."


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
