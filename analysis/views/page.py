"""The page: the sidebar, the state of the run, and the views of this folder. A run never blocks it."""

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
REFRESH = 0.25
"""Seconds between two looks at a run under way."""


@solara.component_vue("scheme.vue")
def Scheme() -> None:
    """Light or dark, as the browser is set. (Solara's own `auto` leaves out the element in which its page stands.)"""


@solara.component
def Page() -> None:
    session = solara.use_memo(Session, [])
    solara.use_effect(lambda: session.close, [])

    async def refresh() -> None:
        while True:
            await asyncio.sleep(REFRESH)
            session.seen.set(session.version)

    solara.lab.use_task(refresh, dependencies=[])
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
    for error in filter(None, (session.error, session.live.error if session.live else "")):
        solara.Error(error)
    element("p", session.status or "Choose a scenario and set it up, or open a finished run.", role="status")
    if session.live:
        solara.ProgressLinear(100 * session.live.calls / max(1, session.live.total))


@solara.component
def Views(session: Session) -> None:
    session.seen.get()
    tables = session.tables
    last, chosen = solara.use_reactive(-1), solara.use_reactive("")
    if tables is None or tables.agents.empty:  # a record has its header before its seats
        return
    rounds = max([*tables.attitudes["round"], *tables.utterances["round"]], default=0)
    round_ = rounds if last.value < 0 else min(last.value, rounds)
    if note := disclaimers.disclaimer(tables.header):
        element("blockquote", note.replace("**", "").replace("`", ""), css="soft")
    if rounds:
        solara.SliderInt(f"Up to round {round_}", value=round_, min=0, max=rounds,
                         on_value=lambda to: last.set(-1 if to == rounds else to))  # fmt: skip
    shown = Shown(tables, round_, session, session.events)
    by_title = {view.TITLE: view for view in views() if view.shows(tables)}
    titles = list(by_title)
    title = chosen.value if chosen.value in titles else titles[0]
    with solara.lab.Tabs(titles.index(title), lambda number: chosen.set(titles[number])).key(" ".join(titles)):
        for name in titles:
            solara.lab.Tab(name)
    view = by_title[title].View(shown).key(title)
    element("div", view, css="view", role="tabpanel", **{"aria-label": title})
