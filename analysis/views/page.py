"""The page: scenario and its fields, play and pause, the views of analysis/views. A run never blocks it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import solara
import solara.lab

from parley.analysis import disclaimers
from parley.analysis.views import views
from parley.analysis.views._controls import Controls
from parley.analysis.views._html import element
from parley.analysis.views._session import Session, Shown

STYLE = Path(__file__).with_name("style.css")
GLANCE = 0.25
"""Seconds between two looks at a run under way."""


@solara.component_vue("scheme.vue")
def Scheme() -> None:
    """Light or dark, as the browser is. (Solara's own `auto` leaves out the element in which its page stands.)"""


@solara.component
def Page() -> None:
    session = solara.use_memo(Session, [])
    solara.use_effect(lambda: session.close, [])

    async def look() -> None:
        while True:
            await asyncio.sleep(GLANCE)
            session.seen.set(session.version)

    solara.lab.use_task(look, dependencies=[])
    solara.Title("Parley")
    solara.Style(STYLE)
    Scheme()
    with solara.Sidebar():
        Controls(session)
    with solara.Column(classes=["page"]):
        Status(session)
        Views(session)


@solara.component
def Status(session: Session) -> None:
    session.seen.get()
    if session.error:
        solara.Error(session.error)
    if session.live and session.live.error:
        solara.Error(session.live.error)
    element("p", session.told or "Choose a scenario and set it up, or open a finished run.", role="status")
    if session.live:
        solara.ProgressLinear(100 * session.live.calls / max(1, session.live.total))


@solara.component
def Views(session: Session) -> None:
    session.seen.get()
    tables = session.tables
    last, chosen = solara.use_reactive(-1), solara.use_reactive("")
    if tables is None or tables.agents.empty:  # the header is there before anybody is seated
        return
    rounds = max([*tables.attitudes["round"], *tables.utterances["round"]], default=0)
    round_ = rounds if last.value < 0 else min(last.value, rounds)
    if note := disclaimers.disclaimer(tables.header):
        element("blockquote", note.replace("**", "").replace("`", ""), css="soft")
    if rounds:
        solara.SliderInt(f"Up to round {round_}", value=round_, min=0, max=rounds,
                         on_value=lambda to: last.set(-1 if to == rounds else to))  # fmt: skip
    shown = Shown(tables, round_, session, session.events)
    there = [view for view in views() if view.shows(tables)]
    titles = [view.TITLE for view in there]
    place = titles.index(chosen.value) if chosen.value in titles else 0
    with solara.lab.Tabs(place, lambda number: chosen.set(titles[number])).key(" ".join(titles)):
        for title in titles:
            solara.lab.Tab(title)
    view = there[place].View(shown).key(titles[place])
    element("div", view, css="view", role="tabpanel", **{"aria-label": titles[place]})
