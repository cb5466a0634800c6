"""The fields of a preset as controls: what they are called, what may be in them, what is said of them.

The side of the page: which scenario with which settings, how it goes on, which finished run to look at.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints
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
"""Those that everybody sets; the others are unfolded."""
APART = ("name", "title", "source", "options", "environment", "interventions")
"""Words about a preset; what decides on all the rest; what has a view of its own."""


@dataclass(frozen=True)
class Field:
    """A control. `value` is the preset's, as on a command line; `choices` are all that may stand there (none: anything)."""

    name: str
    value: str
    choices: tuple[str, ...]
    told: str


def fields_of(scenario: Scenario) -> list[Field]:
    """Those of the scenario, the first ones first, then those of its environment."""
    plain, kinds = scenario.to_dict(), (Scenario, *BLOCKS.values())
    told = {name: text for kind in kinds for name, text in said(kind).items()}
    hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
    names = [*FIRST, *(name for name in FIELD_BLOCKS if name not in (*FIRST, *APART))]
    own = [Field(name, field_value(plain, name), choices(hints[name]), told.get(name, "")) for name in names]
    kind: Any = type(scenario.environment)
    hints = get_type_hints(kind)
    theirs = [
        Field(
            one.name,
            field_value(vars_of(scenario, one.name), one.name),
            choices(hints[one.name]),
            f"of {scenario.environment_spec.name}",
        )
        for one in fields(kind)
        if one.init
    ]
    return own + theirs


def vars_of(scenario: Scenario, name: str) -> dict[str, Any]:
    """A field of the environment as it is, defaults too, in the form of a header."""
    found = getattr(scenario.environment, name)
    return {"options": {name: list(found) if isinstance(found, tuple) else found}}


def choices(hint: Any) -> tuple[str, ...]:
    if get_origin(hint) is Literal:
        return get_args(hint)
    return ("true", "false") if hint is bool else ()


def changed(known: list[Field], given: Mapping[str, str]) -> dict[str, str]:
    """What was set to something else than the preset has."""
    mine = {one.name: one.value for one in known}
    return {name: told for name, told in given.items() if name in mine and told != mine[name]}


def said(kind: type) -> dict[str, str]:
    """What stands beside each field of a class, as a comment.

    >>> said(Scenario)["rounds"]
    'rounds of a debate; every agent speaks once in each'
    """
    parts = re.split(r"(?m)^    (?=\w+: )", inspect.getsource(kind).split("def ", 1)[0])
    pairs = [(part.partition(":")[0], re.search(r"  # (.+)", part)) for part in parts[1:]]
    return {name: found[1] for name, found in pairs if found}


def topics() -> list[str]:
    """Every topic that there is."""
    return list(topic_names())


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
