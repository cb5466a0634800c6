"""The sidebar of the page: the scenario and its settings, the buttons of a run, and the finished runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import solara

from parley.agents.topic import topic_names
from parley.analysis.provenance import field_value
from parley.analysis.views._html import element
from parley.analysis.views._session import Session, runs
from parley.llm.errors import UserError
from parley.model.scenario import Scenario, load_preset, preset_names
from parley.model.scenario_blocks import BLOCKS, FIELD_BLOCKS

FIRST = ("topics", "repetitions", "rounds", "llm", "seed")
"""Fields that are always shown; the others unfold."""
HIDDEN = ("name", "title", "source", "options", "environment", "interventions")
"""Fields without a control: words about a preset, what decides on all other fields, and what has a view of its own."""
START = "three_way"
DEFAULTS = {"repetitions": "2", "llm": "oracle"}
"""Settings of a scenario that is chosen on the page: it takes a few seconds."""
SLOWEST = 10


class Field(NamedTuple):
    """A control: its field, the preset's value as on a command line, the values to choose from (none: any), an explanation."""

    name: str
    value: str
    choices: tuple[str, ...]
    about: str


def fields_of(scenario: Scenario) -> list[Field]:
    """Return the controls of the scenario, the first fields first, then those of its environment."""
    plain, kinds = scenario.to_dict(), (Scenario, *BLOCKS.values())
    about = {name: text for kind in kinds for name, text in field_comments(kind).items()}
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
    names = [*FIRST, *(name for name in FIELD_BLOCKS if name not in (*FIRST, *HIDDEN))]
    own = [Field(name, field_value(plain, name), _choices(hints[name]), about.get(name, "")) for name in names]
    environment: Any = scenario.environment
    of, hints = f"of {scenario.environment_spec.name}", get_type_hints(type(environment))
    values = {field.name: getattr(environment, field.name) for field in fields(environment) if field.init}
    options = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return own + [Field(name, field_value({"options": options}, name), _choices(hints[name]), of) for name in options]


def _choices(hint: Any) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return ("true", "false") if hint is bool else ()


def changed(controls: list[Field], given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that differ from the preset."""
    preset = {field.name: field.value for field in controls}
    return {name: value for name, value in given.items() if name in preset and value != preset[name]}


def field_comments(kind: type) -> dict[str, str]:
    """Return the comment behind each field of a class.

    >>> field_comments(Scenario)["rounds"]
    'rounds of a debate; every agent speaks once in each'
    """
    parts = re.split(r"(?m)^    (?=\w+: )", inspect.getsource(kind).split("def ", 1)[0])
    comments = {part.partition(":")[0]: re.search(r"  # (.+)", part) for part in parts[1:]}
    return {name: match[1] for name, match in comments.items() if match}


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
    first, settings = wanted(solara.use_router().search or "")
    preset, given = solara.use_reactive(first), solara.use_reactive(settings)
    unfolded = solara.use_reactive(False)
    described = solara.use_memo(lambda: _described(preset.value), [preset.value])

    def choose(name: str) -> None:
        given.set(DEFAULTS)
        preset.set(name)

    solara.Select("Scenario", [*dict.fromkeys([first, *preset_names()])], preset.value, choose)
    if isinstance(described, str):
        solara.Error(described)
        return
    title, controls = described
    element("p", title, css="soft")

    def put(name: str, value: str) -> None:
        given.set({**given.value, name: value})

    for field in controls:
        if unfolded.value or field.name in FIRST:
            Control(field, given.value.get(field.name, field.value), partial(put, field.name))
    more = "Fewer settings" if unfolded.value else f"All {len(controls)} settings"
    solara.Button(more, lambda: unfolded.set(not unfolded.value), outlined=True)
    differences = changed(controls, given.value)
    if differences:
        element("p", f"Set: {' '.join(f'{name}={value}' for name, value in differences.items())}", css="soft")
    solara.Button("Set up", lambda: session.start(preset.value, differences), color="primary")


@solara.component
def Control(field: Field, value: str, put: Callable[[str], None]) -> None:
    """One field: a list where there are few values to choose from, otherwise a text."""
    topics = list(topic_names())
    if field.name == "topics" and value and set(value.split(",")) <= set(topics):
        solara.SelectMultiple("topics", value.split(","), topics, lambda chosen: put(",".join(chosen)))
    elif field.choices:
        solara.Select(field.name, list(field.choices), value, put)
    else:
        solara.InputText(field.name, value, put)
    if field.about and field.name not in FIRST:
        element("p", field.about, css="hint")


@solara.component
def Driving(session: Session) -> None:
    """Play, step, pause, stop, and the pause between rounds."""
    session.seen.get()
    pace = solara.use_reactive(session.pace)
    waiting = session.phase in ("ready", "paused")
    buttons: Mapping[str, tuple[Callable[[], None], bool]] = {
        "Play": (session.play, waiting),
        "Step": (session.step, waiting),
        "Pause": (session.pause, session.phase == "running"),
        "Stop": (session.close, session.phase in ("ready", "paused", "running", "done")),
    }
    with solara.Row(gap="4px", classes=["drive"]):
        for name, (act, able) in buttons.items():
            solara.Button(name, act, disabled=not able)

    def rest(seconds: float) -> None:
        pace.set(seconds)
        session.rest(seconds)

    label = f"Pause between rounds: {pace.value:g} s"
    solara.SliderFloat(label, pace.value, min=0, max=SLOWEST, step=0.5, on_value=rest)


@solara.component
def Finished(session: Session) -> None:
    """The folders in runs/. The list is read again when a run ends or is opened."""
    session.seen.get()
    folder = solara.use_reactive("")
    folders = solara.use_memo(runs, [session.phase, session.folder])
    if folders:
        solara.Select("Folder", folders, folder)
        solara.Button("Open", lambda: session.open(folder.value), disabled=not folder.value)
    else:
        element("p", "There are no runs in runs/ yet.", css="soft")


def wanted(search: str) -> tuple[str, dict[str, str]]:
    """Return scenario and settings of the page's address: `?scenario=echo_chamber&rounds=2`."""
    settings = dict(parse_qsl(search, keep_blank_values=True))
    preset = settings.pop("scenario", "")
    return (preset, settings) if preset else (START, DEFAULTS)


def _described(preset: str) -> tuple[str, list[Field]] | str:
    """Return title and controls of a preset, or a line that says why it cannot be loaded."""
    try:
        scenario = load_preset(preset)
    except UserError as error:
        return str(error)
    return scenario.title, fields_of(scenario)
