"""Step into a run: say something to its people, or have some of them silent, before the next round (docs/interventions.md)."""

from __future__ import annotations

import solara

from parley.analysis.tables import Tables
from parley.analysis.views._html import element
from parley.analysis.views._session import Shown, rooms
from parley.model.interventions import intervention_spec
from parley.model.scenario import MEDIATOR

ORDER = 11
TITLE = "Step in"
KINDS = {"message": "Say something", "mute": "Have somebody be silent", "unmute": "Have somebody speak again",
         "leave": "Have somebody leave", "join": "Have somebody who left come back"}  # fmt: skip
EVERYBODY, EVERYWHERE = "all", "all rooms"


def shows(tables: Tables) -> bool:
    return bool(tables.groups)


@solara.component
def View(shown: Shown) -> None:
    people = shown.tables.agents
    people = people[people["group"].isin(shown.tables.groups) & (people["party"] != MEDIATOR)]
    named = {title: room for room, title in rooms(shown.tables).items() if room in set(people["room"])}
    whom = [EVERYBODY, *dict.fromkeys([*people["party"], *people["seat"]])]
    kind, to, where = solara.use_reactive("message"), solara.use_reactive(EVERYBODY), solara.use_reactive(EVERYWHERE)
    by, text = solara.use_reactive("Ann"), solara.use_reactive("")
    kinds = {label: name for name, label in KINDS.items()}
    solara.Select("What", list(kinds), KINDS[kind.value], lambda label: kind.set(kinds[label]))
    with solara.Columns([1, 1]):
        solara.Select("To whom", whom, to)
        solara.Select("Where", [EVERYWHERE, *named], where)
    if kind.value == "message":
        solara.InputText("By", by, continuous_update=True)
        solara.InputText("Text", text, continuous_update=True)

    def act() -> None:
        values = {"kind": kind.value, "to": to.value} | (
            {"by": by.value, "text": text.value} if kind.value == "message" else {}
        )
        shown.session.step_in(values | ({} if where.value == EVERYWHERE else {"rooms": [named[where.value]]}))

    ready = shown.session.live is not None and (kind.value != "message" or bool(text.value.strip()))
    solara.Button("Send before the next round", act, disabled=not ready, color="primary")
    told = "It goes on the timetable of the run and into its record, so that the run can be held again with the same outcome."
    element("p", told if shown.session.live else "A loaded run is over: start one to step into it.")
    for one in shown.session.interventions:
        element(
            "p",
            f"Refused: {one.refused}" if one.refused else f"On the timetable: {intervention_spec(one.what)}",
            css="turn outside",
        )
