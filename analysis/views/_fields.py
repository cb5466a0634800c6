"""The fields of a preset as controls: what they are called, what may be in them, what is said of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from parley.agents.topic import topic_names
from parley.analysis.provenance import field_value
from parley.model.scenario import Scenario
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
