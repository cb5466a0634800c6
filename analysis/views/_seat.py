"""The page of one seat: its holder enters a code, then reads and answers what this seat is asked (docs/deliberation.md).

Everything that reaches the browser is `SeatTable.view` of the holder's own seat, as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import solara
import solara.lab

from parley.analysis.seats.server import current_table
from parley.analysis.sent_prompts import own_file
from parley.analysis.serving.guard import CLIENT
from parley.analysis.views._download import Download
from parley.analysis.views._repeated import use_repeated
from parley.analysis.views._settings import settle
from parley.analysis.views.page import STYLE, Scheme

settle()
REFRESH = 0.25
"""Seconds between two looks at the desk."""


@solara.component_vue("seat.vue")
def Seat(shown: str, event_enter: Callable[[str], None], event_answer: Callable[[dict[str, Any]], None],
         event_touch: Callable[[object], None], event_leave: Callable[[object], None],
         event_back: Callable[[object], None], event_finish: Callable[[object], None]) -> None:  # fmt: skip
    """shown: what the holder sees, as JSON; before the code is given only a message."""


@solara.component
def Page() -> None:
    table = current_table()
    seat, message = solara.use_reactive(""), solara.use_reactive("")
    shown = solara.use_reactive(json.dumps({"study": table.study}))

    def look() -> None:
        view = table.view(seat.value) if seat.value else {}
        shown.set(json.dumps(view | {"message": message.value, "study": table.study}))

    def enter(code: str) -> None:
        client = (solara.lab.headers.value or {}).get(CLIENT, [""])[0]
        seat.value, message.value = table.enter(str(code), client)
        look()

    def answer(given: dict[str, Any]) -> None:
        if seat.value:
            message.value = table.desks[seat.value].answer(seat.value, int(given["number"]), str(given["text"]))
            look()

    def of_mine(act: Callable[[str], object]) -> Callable[[object], None]:
        def do(_: object) -> None:
            if seat.value:
                act(seat.value)
                look()

        return do

    use_repeated(REFRESH, look)
    solara.Title("Your seat")
    solara.Style(STYLE)
    Scheme(event_shown=lambda _: None)
    view = json.loads(shown.value)
    with solara.Column(classes=["page", "seat"]):
        Seat(
            shown=shown.value,
            event_enter=enter,
            event_answer=answer,
            event_touch=of_mine(lambda name: table.desks[name].touch(name)),
            event_leave=of_mine(lambda name: table.desks[name].leave(name)),
            event_back=of_mine(lambda name: table.desks[name].come_back(name)),
            event_finish=of_mine(table.finish),
        )
        if view.get("past"):
            mine = seat.value
            about = [mine, len(view["past"]), view["over"]]
            Download(lambda: own_file(table.folder, mine), "own-lines.json", "application/json", "Save my lines", about)
