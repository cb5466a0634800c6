"""The side of the page: which scenario with which settings, how it goes on, which finished run to look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

import solara

from parley.analysis.views._fields import FIRST, Field, changed, fields_of, topics
from parley.analysis.views._html import element
from parley.analysis.views._session import Session, runs
from parley.llm.errors import UserError
from parley.model.scenario import load_preset, preset_names

START = "three_way"
DEFAULTS = {"repetitions": "2", "llm": "oracle"}
"""What the page begins with where nobody asked for anything: a matter of seconds."""
SLOWEST = 10


@solara.component
def Controls(session: Session) -> None:
    element("h2", "Run")
    Setting(session)
    Driving(session)
    element("h2", "Your runs")
    Finished(session)


@solara.component
def Setting(session: Session) -> None:
    """The scenario and its fields."""
    first, asked = wanted(solara.use_router().search or "")
    preset, given = solara.use_reactive(first), solara.use_reactive(asked)
    unfolded = solara.use_reactive(False)
    known = solara.use_memo(lambda: described(preset.value), [preset.value])

    def choose(name: str) -> None:
        given.set(DEFAULTS)
        preset.set(name)

    solara.Select("Scenario", [*dict.fromkeys([first, *preset_names()])], preset.value, choose)
    if isinstance(known, str):
        solara.Error(known)
        return
    title, controls = known
    element("p", title, css="soft")

    def put(name: str, told: str) -> None:
        given.set({**given.value, name: told})

    for one in controls:
        if unfolded.value or one.name in FIRST:
            Control(one, given.value.get(one.name, one.value), lambda told, name=one.name: put(name, told))
    more = "Fewer settings" if unfolded.value else f"All {len(controls)} settings"
    solara.Button(more, lambda: unfolded.set(not unfolded.value), outlined=True)
    settings = changed(controls, given.value)
    if settings:
        element("p", f"Set: {' '.join(f'{name}={told}' for name, told in settings.items())}", css="soft")
    solara.Button("Set up", lambda: session.start(preset.value, settings), color="primary")


@solara.component
def Control(one: Field, value: str, put: Callable[[str], None]) -> None:
    """One field: a choice where there are few things to choose from, otherwise a text."""
    if one.name == "topics" and value and set(value.split(",")) <= set(topics()):
        solara.SelectMultiple("topics", value.split(","), topics(), lambda some: put(",".join(some)))
    elif one.choices:
        solara.Select(one.name, list(one.choices), value, put)
    else:
        solara.InputText(one.name, value, put)
    if one.told and one.name not in FIRST:
        element("p", one.told, css="hint")


@solara.component
def Driving(session: Session) -> None:
    """Play, step, pause, stop, and how fast."""
    session.seen.get()
    pace = solara.use_reactive(session.pace)
    waiting, running = session.phase in ("ready", "paused"), session.phase == "running"
    buttons: Mapping[str, tuple[Callable[[], None], bool]] = {
        "Play": (session.play, waiting),
        "Step": (session.step, waiting),
        "Pause": (session.pause, running),
        "Stop": (session.close, session.phase in ("ready", "paused", "running", "done")),
    }
    with solara.Row(gap="4px", classes=["drive"]):
        for name, (act, able) in buttons.items():
            solara.Button(name, act, disabled=not able)

    def rest(seconds: float) -> None:
        pace.set(seconds)
        session.rest(seconds)

    solara.SliderFloat(
        f"Pause between rounds: {pace.value:g} s", pace.value, min=0, max=SLOWEST, step=0.5, on_value=rest
    )


@solara.component
def Finished(session: Session) -> None:
    """The folders in runs/, looked up anew whenever a run ends or one is opened."""
    session.seen.get()
    folder = solara.use_reactive("")
    known = solara.use_memo(runs, [session.phase, session.folder])
    if known:
        solara.Select("Folder", known, folder)
        solara.Button("Open", lambda: session.open(folder.value), disabled=not folder.value)
    else:
        element("p", "none in runs/ yet", css="soft")


def wanted(search: str) -> tuple[str, dict[str, str]]:
    """The scenario of the page's address and its settings: `?scenario=echo_chamber&rounds=2`."""
    asked = dict(parse_qsl(search, keep_blank_values=True))
    preset = asked.pop("scenario", "")
    return (preset, asked) if preset else (START, DEFAULTS)


def described(preset: str) -> tuple[str, list[Field]] | str:
    """Title and controls of a preset, or a line that says why there are none."""
    try:
        scenario = load_preset(preset)
    except UserError as error:
        return str(error)
    return scenario.title, fields_of(scenario)
