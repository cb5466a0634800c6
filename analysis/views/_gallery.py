"""The first screen: what Parley does, an example run, and a gallery of scenarios."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import solara

from parley.analysis.views._html import element
from parley.analysis.views._measure_button import MeasureButton
from parley.analysis.views._runs import EXAMPLE, ROOT, registry, write_files
from parley.analysis.views._session import Session
from parley.analysis.views._thumbnail import thumbnail
from parley.analysis.views._words import TITLES, preset_title
from parley.llm.errors import UserError
from parley.model.example_runs import EXAMPLES, example_titles, restore_run
from parley.model.scenario import load_preset, preset_names, read_preset

ABOUT = (
    "Parley runs debates between agents that speak through a language model. "
    "It measures how their opinions change, from surveys before, during and after the debate. "
    "It shows how much of that change is the agents' influence on each other, and how much is the model's own bias."
)
DEFAULT = (
    "A Default agent has no persona: it shows the model's own opinion. "
    "Start runs a scenario at once, on the rule-based speaker, which is free."
)
FIRST = 6
"""Scenarios of the gallery that are shown at once; the others unfold."""
ONE_AT_A_TIME = threading.Lock()
"""Two tabs that open at once read the scenarios once: a cache alone would let both of them read."""
EXAMPLE_SETTINGS = {"llm": "oracle", "repetitions": "10"}


@solara.component_vue("gallery.vue")
def Gallery(cards: str, first: int, event_start: Callable[[str], None], event_edit: Callable[[str], None]) -> None:
    """cards: JSON of `card`s. event_start gets a scenario to start at once, event_edit one to set up."""


@solara.component
def FirstScreen(session: Session, go: Callable[[str], None], start: Callable[[str], None]) -> None:
    """The first screen. go opens a place of the page; start starts a scenario with the defaults of the page."""
    there = (ROOT / EXAMPLE / "experiment.json").exists()

    def explore() -> None:
        try:
            if not there:
                example().play()
            go(f"?run={ROOT / EXAMPLE}")
        except UserError as error:
            session.error = str(error)

    with solara.Column(classes=["intro"]):
        element("h1", "Debates between agents, and what moves their opinions")
        element("p", ABOUT)
        with solara.Row(classes=["drive"], gap="8px"):
            solara.Button("Explore an example run", explore, color="primary", classes=["big"])
            solara.Button("Set up a new run", lambda: go("?new"))
            MeasureButton("", "Measure the bias of a model")
        made = "" if there else " It is made now, in a few seconds."
        speaker = "The example is written by the rule-based speaker, not by a language model."
        element("p", f"{speaker}{made} It shows what every view does.", css="soft")
        RealRuns(session, go)
    element("h2", "Scenarios")
    element("p", DEFAULT, css="soft")
    Gallery(cards=cards(), first=FIRST, event_start=start, event_edit=lambda name: go(f"?scenario={name}"))


@solara.component
def RealRuns(session: Session, go: Callable[[str], None]) -> None:
    """The recorded runs of real language models that a checkout has, a button each; nothing in an installed package."""

    def show(name: str) -> None:
        try:
            folder = ROOT / name
            if not folder.exists():
                restore_run(EXAMPLES / name, folder)
                write_files(folder)
            go(f"?run={folder}")
        except UserError as error:
            session.error = str(error)

    if titles := example_titles():
        element("p", "Recorded runs of real language models. They are small: the size is in each title.", css="soft")
        with solara.Column(gap="4px", align="start"):
            for name, title in titles.items():
                solara.Button(title, lambda name=name: show(name), text=True)


def example() -> Any:
    """Return the example run, which waits for `play`."""
    scenario = load_preset("three_way").with_settings(EXAMPLE_SETTINGS)
    return registry().start(scenario, tuple(EXAMPLE_SETTINGS), folder=EXAMPLE)


@cache
def gallery_names() -> list[str]:
    """Return the shipped scenarios, those with a plain title first."""
    names = preset_names()
    return [*[name for name in TITLES if name in names], *[name for name in names if name not in TITLES]]


def cards() -> str:
    """Return the cards of the gallery as JSON: name, title, description, source and drawing. They are made once.

    The scenarios are read but not checked, because a check reads all personas: tests check them, and so does a start.
    """
    with ONE_AT_A_TIME:
        return _cards()


@cache
def _cards() -> str:
    made = []
    for name in gallery_names():
        scenario = read_preset(name)
        made.append(
            {"name": name, "title": preset_title(name, name), "about": scenario.title, "source": scenario.source,
             "picture": thumbnail(scenario)}
        )  # fmt: skip
    return json.dumps(made)
