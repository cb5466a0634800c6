"""Interventions: events from outside that happen before a round, one module for each kind.

A module defines one frozen dataclass, an `Intervention` (model/interventions/base.py). Its fields are the keys of an
`[[interventions]]` table of a preset, and of `--intervene "kind key=value ..."`. Your own kind can be a file (llm/registry.py).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Protocol, get_args, get_origin

from parley.llm.driver import Conversation
from parley.llm.errors import UserError, unknown_name
from parley.llm.registry import Registry, options_of
from parley.llm.spec import split_pair
from parley.llm.typed import as_hint
from parley.model.events import Event, Intervened
from parley.model.interventions.base import Intervention, Presence, Scheduled, View
from parley.model.interventions.join import Join
from parley.model.room import RoomState

NEEDS = ("act", "converse", "chosen")
INTERVENTIONS = Registry("intervention", __name__, "parley.interventions", NEEDS, frozen=True, studies="interventions")


class Kinds(Protocol):
    """The kinds of intervention that there are."""

    def find(self, name: str) -> Any:
        """Return the class of a kind. Errors: UserError if there is none."""


def parse_interventions(given: str | Iterable[str | Mapping[str, Any] | Scheduled], kinds: Kinds | None = None) -> Any:
    """Return interventions read from a command line, a preset or a header, as a tuple. Errors: UserError.

    kinds: the kinds that there are (default: those of debates).
    """
    entries = ([given] if given.strip() else []) if isinstance(given, str) else given
    if isinstance(entries, Mapping) or not all(isinstance(entry, str | Mapping | Scheduled) for entry in entries):
        raise UserError("interventions must be tables: write the line [[interventions]] before each intervention")
    return tuple([entry if isinstance(entry, Scheduled) else parse_intervention(entry, kinds) for entry in entries])


def parse_intervention(given: str | Mapping[str, Any], kinds: Kinds | None = None) -> Any:
    """Read `message round=3 to=green by=Ann text='...'`, or the same as a table with the key `kind`.

    A key that takes a list may be repeated. Errors: UserError with the nearest right names.
    """
    name, values = _read(given) if isinstance(given, str) else (given.get("kind"), dict(given))
    values.pop("kind", None)
    kind = (kinds or INTERVENTIONS).find(str(name))
    options = options_of(kind)
    for key in values:
        if key not in options:
            raise unknown_name(f"key of {name}", key, options)
    if missing := [key for key, option in options.items() if option.needed and key not in values]:
        raise UserError(f"{name} lacks {', '.join(missing)}")
    hints = {key: options[key].hint for key in values}
    typed = {key: as_hint(key, _clean(str(name), key, value, hints[key]), hints[key]) for key, value in values.items()}
    return kind(**typed)


def intervention_spec(intervention: Scheduled) -> str:
    """Return how an intervention is written on a command line, without its defaults."""
    words = [intervention.kind]
    for field in fields(intervention):
        value = getattr(intervention, field.name)
        if field.init and value != field.default:
            text = str(value).lower() if isinstance(value, bool) else value
            words += [f"{field.name}={value}" for value in (text if isinstance(text, tuple) else [text])]
    return shlex.join(words)


def intervene(interventions: Iterable[Intervention], room: RoomState, attitude: View) -> Conversation[list[Event]]:
    """Run the interventions that are due in a room before its round, in the order of the scenario."""
    events: list[Event] = []
    for intervention in interventions:
        agents = intervention.chosen(room, room.context.seed) if intervention.due(room.round) else ()
        if not intervention.reaches_absent:
            agents = tuple([agent for agent in agents if not room.members[agent].absent])
        for act in (yield from intervention.converse(room, agents, attitude)) if agents else ():
            events.append(Intervened(room.id, room.round, intervention.kind, act.agents, act.text, act.by, act.reason))
            events += act.events
    return events


def initially_absent(interventions: Iterable[Intervention], room: RoomState, seed: int) -> set[int]:
    """Return the agents of a room whose first intervention of presence is a join."""
    joins_first: dict[int, bool] = {}
    for intervention in sorted(interventions, key=lambda intervention: intervention.round):
        if isinstance(intervention, Presence):
            for agent in intervention.chosen(room, seed):
                joins_first.setdefault(agent, isinstance(intervention, Join))
    return {agent for agent, joins in joins_first.items() if joins}


def _read(text: str) -> tuple[str, dict[str, Any]]:
    """The kind, and the value of each key; a list of values for a repeated key."""
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


def _clean(name: str, key: str, value: Any, hint: Any) -> Any:
    """A value with each text on one line, as a list if the key takes one. Errors: UserError for a second value otherwise."""
    takes_list, is_list = get_origin(hint) is tuple, isinstance(value, list | tuple)
    if is_list and not takes_list:
        raise UserError(f"{name}: {key} must have one value, but has {len(value)} values: keep one of them")
    parts = [
        " ".join(single.split()) if isinstance(single, str) else single for single in (value if is_list else [value])
    ]
    if takes_list and str not in get_args(hint) and all(isinstance(single, str) for single in parts):
        return ",".join(parts)  # numbers, read as on a command line
    return parts if is_list or (takes_list and isinstance(value, str)) else parts[0]
