"""Step into a run: before the next round, send a message, mute agents, or let agents leave or join (docs/interventions.md)."""

from __future__ import annotations

import solara

from parley.analysis.tables import Tables
from parley.analysis.views._html import Select, element
from parley.analysis.views._session import Shown, rooms
from parley.model.interventions import intervention_spec
from parley.model.scenario import MEDIATOR

ORDER = 11
TITLE = "Step in"
KINDS = {"Send a message": "message", "Mute agents": "mute", "Unmute agents": "unmute", "Remove agents": "leave",
         "Bring agents back": "join"}  # fmt: skip
ALL, ALL_ROOMS = "all", "all rooms"


def shows(tables: Tables) -> bool:
    return bool(tables.groups)


@solara.component
def View(shown: Shown) -> None:
    session, people = shown.session, shown.tables.agents
    people = people[people["group"].isin(shown.tables.groups) & (people["party"] != MEDIATOR)]
    titles = {title: room for room, title in rooms(shown.tables).items() if room in set(people["room"])}
    label, to, where = solara.use_reactive(next(iter(KINDS))), solara.use_reactive(ALL), solara.use_reactive(ALL_ROOMS)
    by, text = solara.use_reactive("Ann"), solara.use_reactive("")
    Select("What", list(KINDS), label)
    with solara.Columns([1, 1]):
        Select("To", [ALL, *dict.fromkeys([*people["party"], *people["seat"]])], to)
        Select("Where", [ALL_ROOMS, *titles], where)
    kind = KINDS[label.value]
    if kind == "message":
        solara.InputText("By", by, continuous_update=True)
        solara.InputText("Text", text, continuous_update=True)

    def act() -> None:
        message = {"by": by.value, "text": text.value} if kind == "message" else {}
        room = {} if where.value == ALL_ROOMS else {"rooms": [titles[where.value]]}
        session.step_in({"kind": kind, "to": to.value, **message, **room})

    going = session.phase in ("ready", "running", "paused")
    ready = going and (kind != "message" or bool(text.value.strip()))
    solara.Button("Send before the next round", act, disabled=not ready, color="primary")
    recorded = (
        "This intervention is saved in the record and in the command of the run, so that the run can be repeated."
    )
    over = "This run has finished or was stopped, so it cannot be changed. Start a new run with these settings."
    element("p", recorded if going else over)
    for step in session.interventions:
        state = f"Refused: {step.refused}" if step.refused else f"On the timetable: {intervention_spec(step.what)}"
        element("p", state, css="turn outside")
