"""The first screen: what Parley does, an example run, and a gallery of scenarios."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import solara

from parley.analysis.views._address import place_of
from parley.analysis.views._html import element
from parley.analysis.views._runs import EXAMPLE, ROOT, registry, write_files
from parley.analysis.views._session import Session
from parley.analysis.views._thumbnail import thumbnail
from parley.llm.errors import UserError
from parley.llm.studies import GROUPS_OF_PEOPLE, MOVED, QUESTIONS
from parley.model.example_runs import EXAMPLES, example_titles, restore_run
from parley.model.gallery import preset_title, showcase
from parley.model.scenario import load_preset, preset_names, read_preset

ABOUT = (
    "Parley runs debates between agents that speak through a language model. Parley measures how their "
    "opinions change, from surveys before, during and after the debate. Parley shows how much of that "
    "change is the agents' influence on each other, and how much is the model's own bias."
)
DEFAULT = (
    "A Default is an agent without a persona, which shows the model's own opinion. Start runs a scenario at "
    "once, on the rule-based speaker, which is free."
)
FIRST = 5
"""Scenarios of each question that are shown at once; the others unfold."""
MAIN = (MOVED, GROUPS_OF_PEOPLE)
"""The questions with which the gallery begins."""
ONE_AT_A_TIME = threading.Lock()
"""Two tabs that open at once read the scenarios once: a cache alone would let both of them read."""
EXAMPLE_SETTINGS = {"llm": "oracle", "repetitions": "10"}


@solara.component_vue("gallery.vue")
def Gallery(cards: str, first: int, event_start: Callable[[str], None], event_edit: Callable[[str], None]) -> None:
    """cards: JSON of `cards`. first: the most of a question. event_start gets a scenario to start, event_edit one to set up."""


@solara.component
def FirstScreen(session: Session, go: Callable[[str], None], start: Callable[[str], None]) -> None:
    """The first screen. go opens a place of the page; start starts a scenario with the defaults of the page."""
    there = (ROOT / EXAMPLE / "experiment.json").exists()

    def explore() -> None:
        try:
            if not there:
                example().play()
            go(place_of(run=ROOT / EXAMPLE))
        except UserError as error:
            session.error = str(error)

    with solara.Column(classes=["intro"]):
        element("h1", "Debates between agents, and what moves their opinions")
        element("p", ABOUT)
        with solara.Row(classes=["drive"], gap="8px"):
            solara.Button("Explore an example run", explore, color="primary", classes=["big"])
            solara.Button("Set up a new run", lambda: go("?new"))
            solara.Button("Measure the bias of a model", lambda: go("?audit"))
        made = "" if there else " The example is made now, in a few seconds."
        speaker = "The example is written by the rule-based speaker, not by a language model."
        element("p", f"{speaker}{made} The example shows what every view does.", css="soft")
        RealRuns(session, go)
    element("h2", "Scenarios")
    element("p", DEFAULT, css="soft")
    Gallery(cards=cards(), first=FIRST, event_start=start, event_edit=lambda name: go(place_of(scenario=name)))


@solara.component
def RealRuns(session: Session, go: Callable[[str], None]) -> None:
    """The recorded runs of real language models that a checkout has, a button each; nothing in an installed package."""

    def show(name: str) -> None:
        try:
            folder = ROOT / name
            if not folder.exists():
                restore_run(EXAMPLES / name, folder)
                write_files(folder)
            go(place_of(run=folder))
        except UserError as error:
            session.error = str(error)

    if titles := example_titles():
        element(
            "p", "Recorded runs of real language models. The models are small: the size is in each title.", css="soft"
        )
        with solara.Div(classes=["next-steps"]):
            for name, title in titles.items():
                solara.Button(title, lambda name=name: show(name), text=True)


def example() -> Any:
    """Return the example run, which waits for `play`."""
    scenario = load_preset("three_way").with_settings(EXAMPLE_SETTINGS)
    return registry().start(scenario, tuple(EXAMPLE_SETTINGS), folder=EXAMPLE)


@cache
def gallery_names() -> list[str]:
    """Return the shipped scenarios by question, those that take least time first."""
    entries = {name: showcase(name) for name in preset_names()}
    order = [*MAIN, *(question for question in QUESTIONS if question not in MAIN)]
    return sorted(entries, key=lambda name: (order.index(entries[name].question), entries[name].seconds, name))


def cards() -> str:
    """Return the cards of the gallery as JSON: name, title, question, tags, description, source, time and drawing.

    They are made once. The scenarios are read but not checked, because a check reads all personas: tests check them, and so does
    a start.
    """
    with ONE_AT_A_TIME:
        return _cards()


@cache
def _cards() -> str:
    made = []
    for name in gallery_names():
        scenario, entry = read_preset(name), showcase(name)
        made.append(
            {"name": name, "title": preset_title(name, scenario.title), "question": entry.question, "tags": list(entry.tags),
             "about": scenario.title, "source": scenario.source, "time": time_words(entry.seconds),
             "picture": thumbnail(scenario, entry.found)}
        )  # fmt: skip
    return json.dumps(made)


def time_words(seconds: float) -> str:
    """Return how long a scenario takes, in words; "" where nobody measured it.

    >>> time_words(1.4), time_words(38.0), time_words(0.0)
    ('about 2 s', 'about 40 s', '')
    """
    if not seconds:
        return ""
    return f"about {math.ceil(seconds / 10) * 10 if seconds > 10 else math.ceil(seconds)} s"
