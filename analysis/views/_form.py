"""The form of the next run. It is not the run shown: nothing here changes a run that has begun."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import solara
import solara.lab

from parley.agents.own_topic import topic_text
from parley.agents.topic import Topic
from parley.analysis.disclaimers import OWN_TOPIC
from parley.analysis.serving.own_files import check_named
from parley.analysis.views._address import named_in, place_of
from parley.analysis.views._fields import ADVANCED, GROUPS, Field, changed, fields_of, matters
from parley.analysis.views._gallery import gallery_names
from parley.analysis.views._html import element
from parley.analysis.views._models import ModelPicker
from parley.analysis.views._next_steps import OWN
from parley.analysis.views._plan import HERE, Plan, plan_of, preset_of
from parley.analysis.views._runs import registry
from parley.analysis.views._session import Draft, Session
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.model.gallery import preset_title
from parley.model.scenario import Scenario

REPETITIONS = 5
"""Repetitions that the form begins with, where the preset has more: a first run takes seconds."""
MODEL = "oracle"
UNANSWERED = (
    "This run was not started, because you have not answered a question about its plan: choose Start and answer it."
)
SHAPING = ("society", "topic", "questions", "format", "memory", "represented", "environment", "graph")
"""Settings that decide which other settings there are, and what they may be."""


@solara.component_vue("form.vue")
def Fields(state: str, event_put: Callable[[list[str]], None], event_choose: Callable[[str], None]) -> None:
    """state: JSON of the scenarios, the groups of fields, and what they explain."""


@solara.component_vue("start.vue")
def Start(
    state: str,
    event_limit: Callable[[dict], None],
    event_start: Callable[[Any], None],
    event_reset: Callable[[Any], None],
) -> None:
    """state: JSON of the plan, the limits, what was changed, and what to ask before the start.

    event_start gets the question that was answered with Yes, "" where none was asked.
    """


@solara.component
def NewRun(session: Session, go: Callable[[str], None]) -> None:
    """The form, its plan, and the button that starts. go opens a place of the page."""
    draft, asking = session.draft.value, bool(named_in(solara.use_router().search or "", OWN))
    assert draft
    shape = solara.use_memo(lambda: _controls(draft), [draft.preset, *(draft.given.get(name) for name in SHAPING)])
    task = solara.lab.use_task(
        lambda: plan_of(draft),
        dependencies=[draft.preset, sorted(draft.given.items()), draft.price, draft.checked],
        raise_error=False,
    )
    plan = (task.value if task.finished else None) or Plan()
    element("h1", "New run")
    if isinstance(shape, str):
        element("p", shape, css="wrong", role="alert")
        return
    scenario, controls = shape

    def change(**values: Any) -> None:
        if session.draft.value:  # not `draft`: an event may arrive before the form is drawn anew
            session.draft.set(replace(session.draft.value, **values))

    def put(name: str, value: str) -> None:
        given = {**(session.draft.value or draft).given, name: value}
        if name == "society":  # its topics, personas and parties are others
            given = {
                key: setting for key, setting in given.items() if key not in ("topic", "personas", "seats", "parties")
            }
        change(given=given)

    def begin(answered: Any) -> None:
        if plan.scenario:
            start(session, draft, plan, go, str(answered or ""))

    differences = changed(controls, draft.given, draft.origin)
    names = [*dict.fromkeys([*gallery_names(), draft.preset])]
    state = {
        "preset": draft.preset, "presets": [[name, preset_title(name, name)] for name in names],
        "about": scenario.title, "source": scenario.source, "groups": _groups(scenario, controls, draft.given, differences),
        "asking": asking,
    }  # fmt: skip
    Fields(
        state=json.dumps(state),
        event_put=lambda pair: put(str(pair[0]), str(pair[1])),
        event_choose=lambda name: session.draft.set(draft_of(name)),
    )
    model = draft.given.get("llm", MODEL)
    ModelPicker(model, draft.price, lambda spec: put("llm", spec), lambda price: change(price=price), plan.problem)
    labels = {field.name: field.label for field in controls} | {"llm": "Model"}
    Start(
        state=json.dumps(_start_state(draft, plan, task.pending, [labels.get(name, name) for name in differences])),
        event_limit=lambda values: change(**limits_of(values)),
        event_start=begin,
        event_reset=lambda _: change(given=draft.origin),
    )


def start(session: Session, draft: Draft, plan: Plan, go: Callable[[str], None], answered: str = "") -> None:
    """Start the run of the form, and look at it. A run that is going on is left alone.

    answered: the question that the user answered with Yes. A plan with another question is not started.
    """
    assert plan.scenario
    if plan.question != answered:
        session.fail(UNANSWERED)
        return
    budget = Budget(draft.most_calls, None, draft.most_cost, plan.prices or {})
    try:
        run = registry().start(plan.scenario, tuple(settings_of(draft)), budget, plan.calls, checked=draft.checked)
    except UserError as error:
        session.fail(str(error))
        return
    run.pace = session.pace
    if not draft.paused:
        run.play()
    go(place_of(run=run.folder))


def settings_of(draft: Draft) -> dict[str, str]:
    """Return the settings of the form that differ from the preset."""
    preset = preset_of(draft.preset)
    return changed(fields_of(preset), {"llm": MODEL, **draft.given}, {"llm": preset.models.llm})


def draft_of(preset: str, given: Mapping[str, str] | None = None) -> Draft:
    """Return the form of a scenario, with the defaults of the page where `given` says nothing."""
    defaults = {"llm": MODEL}
    if _repetitions(preset) > REPETITIONS:
        defaults["repetitions"] = str(REPETITIONS)
    return Draft(preset, {**defaults, **(given or {})}, defaults)


def wanted(search: str) -> Draft | None:
    """Return the form of the page's address, `?scenario=echo_chamber&rounds=2`; None where it names no scenario."""
    settings = dict(parse_qsl(search, keep_blank_values=True))
    preset = settings.pop("scenario", "")
    settings.pop(OWN, None)
    return draft_of(preset, settings) if preset else None


def _repetitions(preset: str) -> int:
    """Return the repetitions of a preset; 0 where it cannot be loaded, which the form then says."""
    try:
        return preset_of(preset).repetitions
    except UserError:
        return 0


def _controls(draft: Draft) -> tuple[Scenario, list[Field]] | str:
    """Return the scenario in its shape and its controls with the preset's values, or why it cannot be loaded."""
    try:
        preset = preset_of(draft.preset)
        values = {field.name: field.value for field in fields_of(preset)}
    except UserError as error:
        return str(error)
    try:
        shaping = {name: draft.given[name] for name in SHAPING if name in draft.given}
        check_named(shaping, HERE)
        shaped = preset.with_settings(shaping)
    except UserError:
        return preset, fields_of(preset)
    other_society = "society" in draft.given and draft.given["society"] != preset.subject.society
    return shaped, [
        field if other_society and field.name in ("topic", "personas", "seats", "parties")
        else field._replace(value=values.get(field.name, field.value))
        for field in fields_of(shaped)
    ]  # fmt: skip


def _groups(
    scenario: Scenario, controls: list[Field], given: Mapping[str, str], differences: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the groups of fields for the form."""
    shown = [control for control in controls if matters(control, scenario) or control.name in differences]
    if scenario.subject.questions:
        topics: dict[str, Any] = {"note": "None chosen: all topics."}
    else:
        topics = own_topics(scenario.subject.all_topics, given.get("llm", MODEL))
    groups = []
    for title in GROUPS:
        rows = [
            control._asdict()
            | {"value": given.get(control.name, control.value), "changed": control.name in differences}
            | {"topic": topics, "repetitions": first_look(control.value)}.get(control.name, {})
            for control in shown
            if control.group == title
        ]
        groups.append({"title": title, "fields": rows, "folded": title == ADVANCED})
    return [group for group in groups if group["fields"]]


def first_look(own: str) -> dict[str, str]:
    """Return what the field of repetitions says where the scenario has more than the form begins with. own: its number."""
    more = own.isdecimal() and int(own) > REPETITIONS
    return {"note": f"{REPETITIONS} is for a first look. The scenario's own number is {own}."} if more else {}


def own_topics(topics: Sequence[Topic], llm: str) -> dict[str, Any]:
    """Return what the field of topics says of each that is a sentence: what agents are asked about it, and its file."""
    own = [
        {
            "line": topic.line,
            "asked": topic.probe("attitude").question,
            "file": topic_text(topic.line, topic.society),
            "name": f"{re.sub(r'[^a-z0-9]+', '_', topic.line.lower()).strip('_')[:40]}.toml",
        }
        for topic in topics
        if topic.line
    ]
    return {"own": own, "note": OWN_TOPIC if own and llm.startswith(MODEL) else ""}


def _start_state(draft: Draft, plan: Plan, pending: bool, labels: list[str]) -> dict[str, Any]:
    others = len(registry().live)
    return {
        "plan": plan.text, "problem": plan.problem, "missing": plan.missing, "pending": pending,
        "question": plan.question, "changed": labels, "most_calls": draft.most_calls or "", "most_cost": draft.most_cost or "",
        "paused": draft.paused, "priced": bool(plan.cost), "source": draft.source, "others": others,
        "check": plan.check, "checked": draft.checked,
    }  # fmt: skip


def limits_of(values: dict[str, Any]) -> dict[str, Any]:
    """Return the limits as a Draft has them. An empty or unreadable number is no limit."""
    limits: dict[str, Any] = {}
    for name, kind in (("most_calls", int), ("most_cost", float)):
        if name in values:
            try:
                number = kind(values[name])
            except (ValueError, TypeError):
                number = 0
            limits[name] = number if number > 0 else None
    return limits | {name: bool(values[name]) for name in ("paused", "checked") if name in values}
