"""A topology as text, such as `rooms + network [rounds=2] > echo`: written from tables and Python, and taken apart.

Presets and command lines read it before any environment is loaded (environments/places.py makes places and stages of it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parley.llm.registry import UserError, parse_spec, unknown_name, write_spec

ALSO, THEN = "+", ">"
"""Between places that are there at once, and between stages that follow one another."""
FIELDS = ("topology", "rounds", "topic", "away", "carry")
"""The fields of a stage, its places first (`Stage` in environments/places.py)."""


def topology_text(value: Any) -> str:
    """Return the text of a topology that is given as a text, as the places of Python, or as a list of stages.

    Errors: UserError where it is none of these.

    >>> topology_text([{"topology": "rooms", "rounds": 2}, {"network": {"graph": "ring,degree=4"}}])
    "rooms [rounds=2] > network,graph='ring,degree=4'"
    """
    if isinstance(value, str):
        return value
    stages = [value] if isinstance(value, Mapping) else value
    if not isinstance(stages, list | tuple) or not stages:
        raise UserError(f'topology must be a text such as "rooms > network", or a list of stages, not {value!r}')
    return f" {THEN} ".join(map(_stage_text, stages))


def _stage_text(value: Any) -> str:
    """Return the text of a stage: of its topology, of a table of its fields, or of the places of Python."""
    if isinstance(value, str):
        return value.strip()
    if not isinstance(value, Mapping):
        raise UserError(f"a stage must be a text or a table, not {value!r}")
    if not set(value) & set(FIELDS):
        value = {"topology": value}
    if unknown := [key for key in value if key not in FIELDS]:
        raise unknown_name("field of a stage", str(unknown[0]), FIELDS)
    places = value.get("topology", "rooms")
    text = _places_text(places) if isinstance(places, Mapping) else str(places).strip()
    options = {name: str(option) for name, option in value.items() if name != "topology"}
    return f"{text} [{write_spec('', '', options).removeprefix(',')}]" if options else text


def _places_text(places: Mapping[str, Any]) -> str:
    """Return places given as {kind: {option: value}} as one text.

    >>> _places_text({"rooms": {"size": 5}, "network": {}})
    'rooms,size=5 + network'
    """
    specs = [write_spec(kind, "", {name: str(value) for name, value in (options or {}).items()})
             for kind, options in places.items()]  # fmt: skip
    return f" {ALSO} ".join(specs)


def stage_tables(text: str) -> list[dict[str, str]]:
    """Return the fields of each stage of a topology, as texts. Errors: UserError for a field that a stage does not have.

    >>> stage_tables("rooms [rounds=2] > echo")
    [{'topology': 'rooms', 'rounds': '2'}, {'topology': 'echo'}]
    """
    return [_stage_table(stage.strip()) for stage in split_outside(text, THEN)]


def _stage_table(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    if text.endswith("]"):
        text, *inside = split_outside(text[:-1], "[")
        options = dict(parse_spec(f"stage,{'['.join(inside)}").options)
    if unknown := [key for key in options if key not in FIELDS[1:]]:
        raise unknown_name("field of a stage", unknown[0], FIELDS[1:])
    return {"topology": text.strip(), **options}


def split_outside(text: str, mark: str) -> list[str]:
    """Split a text at a mark, except inside brackets and quotes.

    >>> split_outside("rooms + network,graph=(ring,degree=4)", "+")
    ['rooms ', ' network,graph=(ring,degree=4)']
    """
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if sign == mark and not depth and not quote:
            parts.append("")
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        depth += 0 if quote else (sign in "([") - (sign in ")]")
        parts[-1] += sign
    return parts
