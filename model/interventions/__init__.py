"""Interventions on a timetable: what happens to the agents of a room from outside, before a round. By name: a module of
the folder, or one of your own (llm/registry.py).

A module defines one frozen dataclass, an `Intervention` (model/interventions/base.py). Its fields are the keys of an
`[[interventions]]` table of a preset, and of `--intervene "kind key=value ..."`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, get_origin

from parley.llm.driver import Conversation
from parley.llm.errors import UserError, unknown_name
from parley.llm.registry import Registry, options_of
from parley.llm.spec import split_pair
from parley.llm.typed import as_hint
from parley.model.events import Event, Intervened
from parley.model.interventions.base import Intervention, Presence, View
from parley.model.interventions.join import Join
from parley.model.room import RoomState, RunContext

INTERVENTIONS = Registry("intervention", __name__, "parley.interventions", ("act", "hold", "chosen"), frozen=True)


def intervention_names() -> list[str]:
    """Every kind, sorted."""
    return INTERVENTIONS.names()


def parse_interventions(given: str | Iterable[str | Mapping[str, Any] | Intervention]) -> tuple[Intervention, ...]:
    """Interventions as they are written on a command line, in a preset or in a header. Errors: UserError."""
    listed = ([given] if given.strip() else []) if isinstance(given, str) else given
    if isinstance(listed, Mapping) or not all(isinstance(one, str | Mapping | Intervention) for one in listed):
        raise UserError("interventions must be tables: write [[interventions]] before each")
    return tuple([one if isinstance(one, Intervention) else parse_intervention(one) for one in listed])


def parse_intervention(given: str | Mapping[str, Any]) -> Intervention:
    """`message round=3 to=democrat by=Ann text='...'`, or the same as a table with the key `kind`.

    A key that is a list may be repeated. Errors: UserError with the nearest right names.
    """
    name, values = _read(given) if isinstance(given, str) else (given.get("kind"), dict(given))
    values.pop("kind", None)
    kind = INTERVENTIONS.find(str(name))
    known = options_of(kind)
    for key in values:
        if key not in known:
            raise unknown_name(f"key of {name}", key, known)
    if missing := [key for key, one in known.items() if one.needed and key not in values]:
        raise UserError(f"{name} lacks {', '.join(missing)}")
    found: Intervention = kind(
        **{
            key: as_hint(key, _plain(str(name), key, value, known[key].hint), known[key].hint)
            for key, value in values.items()
        }
    )
    return found


def intervention_spec(one: Intervention) -> str:
    """How it is written on a command line, defaults left out."""
    words = [one.kind]
    for each in fields(one):
        value = getattr(one, each.name)
        if each.init and value != each.default:
            told = str(value).lower() if isinstance(value, bool) else value
            words += [f"{each.name}={part}" for part in (told if isinstance(told, tuple) else [told])]
    return shlex.join(words)


def intervene(
    interventions: Iterable[Intervention], room: RoomState, round_: int, attitude: View, context: RunContext
) -> Conversation[list[Event]]:
    """All that is due in a room before a round, in the order of the timetable; nothing where nobody is meant."""
    events: list[Event] = []
    for one in interventions:
        agents = one.chosen(room, context.seed) if one.due(round_) else ()
        if not one.reaches_absent:
            agents = tuple([agent for agent in agents if not room.members[agent].absent])
        for act in (yield from one.hold(room, agents, attitude, round_, context)) if agents else ():
            events.append(Intervened(room.id, round_, one.kind, act.agents, act.text, act.by, act.reason))
            events += act.events
    return events


def initially_absent(interventions: Iterable[Intervention], room: RoomState, seed: int) -> set[int]:
    """Who of a room is not there at the start: those of whom the timetable says first that they join."""
    found: dict[int, bool] = {}
    for one in sorted(interventions, key=lambda each: each.round):
        if isinstance(one, Presence):
            for agent in one.chosen(room, seed):
                found.setdefault(agent, isinstance(one, Join))
    return {agent for agent, joins in found.items() if joins}


def _read(text: str) -> tuple[str, dict[str, Any]]:
    """The kind, and the values of each key: one, or a list of those of a repeated key."""
    try:
        name, *pairs = shlex.split(text) or [""]
    except ValueError as error:
        raise UserError(f"--intervene {text}: {str(error).lower()}") from error
    values: dict[str, Any] = {}
    for pair in pairs:
        if "=" not in pair:
            raise UserError(f"--intervene {text}: write {pair} as key=value, a value of several words in quotes")
        key, value = split_pair(pair, text)
        values[key] = [*values[key], value] if key in values else [value]
    return name, {key: value[0] if len(value) == 1 else value for key, value in values.items()}


def _plain(name: str, key: str, value: Any, hint: Any) -> Any:
    """A value with its texts on one line; what is a list as one. Errors: UserError for a list where there is one value."""
    several = get_origin(hint) is tuple
    if isinstance(value, list | tuple) and not several:
        raise UserError(f"{name}: {key} is one value, and is given {len(value)}")
    if several and isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple):
        return [" ".join(part.split()) if isinstance(part, str) else part for part in value]
    return " ".join(value.split()) if isinstance(value, str) else value


__all__ = [
    "INTERVENTIONS",
    "Intervention",
    "initially_absent",
    "intervene",
    "intervention_names",
    "intervention_spec",
    "parse_intervention",
    "parse_interventions",
]
