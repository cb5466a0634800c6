"""The page: scenario and its fields, play and pause, the views of analysis/views. A run never blocks it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import solara
import solara.lab

from analysis import honesty
from analysis.views import views
from analysis.views._html import element
from analysis.views._session import Session, Shown, runs
from model.scenario import load_preset, preset_names

STYLE = Path(__file__).with_name("style.css")
GLANCE = 0.25
"""Seconds between two looks at a run under way."""


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
    with solara.Sidebar():
        Controls(session)
    with solara.Column(classes=["page"]):
        Status(session)
        Views(session)


@solara.component
def Controls(session: Session) -> None:
    session.seen.get()
    preset, settings = solara.use_reactive("three_way"), solara.use_reactive(DEFAULTS)
    folder = solara.use_reactive("")
    live = session.live
    waiting = live is not None and live.phase in ("ready", "paused")
    element("h2", "Run")
    solara.Select("Scenario", preset_names(), preset)
    element("p", load_preset(preset.value).title, css="soft")
    solara.InputText("Settings: key=value, spaces between", settings)
    solara.Button("Set up", lambda: session.start(preset.value, settings.value.replace(" ", "\n")), color="primary")
    with solara.Row():
        running = live is not None and live.phase == "running"
        for name, act, able in (
            ("Play", session.play, waiting),
            ("Step", session.step, waiting),
            ("Pause", session.pause, running),
            ("Stop", session.close, live is not None),
        ):
            solara.Button(name, act, disabled=not able)
    element("h2", "Finished runs")
    known = runs()
    if known:
        solara.Select("Folder", known, folder)
        solara.Button("Open", lambda: session.open(folder.value), disabled=not folder.value)
    else:
        element("p", "none in runs/ yet", css="soft")


DEFAULTS = "repetitions=2 llm=oracle"


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
    last = solara.use_reactive(-1)
    if tables is None:
        return
    rounds = max([*tables.attitudes["round"], *tables.utterances["round"]], default=0)
    if note := honesty.note(tables.header):
        element("blockquote", note.replace("**", "").replace("`", ""))
    if rounds:
        solara.SliderInt("Up to round", value=rounds if last.value < 0 else last.value, min=0, max=rounds,
                         on_value=lambda round_: last.set(-1 if round_ == rounds else round_))  # fmt: skip
    shown = Shown(tables, rounds if last.value < 0 else min(last.value, rounds), session)
    with solara.lab.Tabs():
        for view in views():
            if view.shows(tables):
                with solara.lab.Tab(view.TITLE):
                    view.View(shown)
