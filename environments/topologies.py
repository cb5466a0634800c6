"""A topology as text, such as `rooms + network [rounds=2] > echo`: written from tables and Python, and taken apart.

Presets and command lines read it before any environment is loaded (environments/places.py makes places and stages of it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from parley.environments import environment_class
from parley.llm.registry import UserError, parse_spec, unknown_name, write_spec

ALSO, THEN = "+", ">"
"""Between places that are there at once, and between stages that follow one another."""
FIELDS = ("topology", "rounds", "topic", "away", "carry")
"""The fields of a stage, its places first (`Stage` in environments/places.py)."""
TOPOLOGY, STAGE, PLACES = "topology", "stage", "places"
"""The words for several places in a preset, and the environment that has them (environments/places.py)."""


def with_places(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings in which `topology`, or a list of tables `stage`, is the option of an environment.

    >>> with_places({"topology": {"rooms": {}, "network": {}}, "rounds": 3})
    {'rounds': 3, 'environment': 'places', 'topology': 'rooms + network'}
    """
    words = [word for word in (TOPOLOGY, STAGE) if word in settings]
    if len(words) > 1:
        raise UserError(f"{TOPOLOGY} and [[{STAGE}]] cannot be used together: leave out one of the two")
    if not words:
        return settings
    rest = {key: value for key, value in settings.items() if key != words[0]}
    given = rest.get("environment", PLACES)
    if given != PLACES and TOPOLOGY not in {option.name for option in fields(environment_class(given))}:
        raise UserError(f"{words[0]} already sets where agents meet: leave out environment={given}")
    return {**rest, "environment": given, TOPOLOGY: topology_text(settings[words[0]])}


def rounds_of_stages(options: Mapping[str, Any]) -> int:
    """Return how many rounds the stages of an environment with these options have in all; 0 where one leaves it open."""
    rounds = [table.get("rounds", "0") for table in stage_tables(options[TOPOLOGY])] if TOPOLOGY in options else ["0"]
    return sum(map(int, rounds)) if all(number.isdecimal() and int(number) for number in rounds) else 0


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
        raise UserError(f'topology is {value!r}, but must be a text such as "rooms > network", or a list of stages')
    return f" {THEN} ".join(map(_stage_text, stages))


def _stage_text(value: Any) -> str:
    """Return the text of a stage: of its topology, of a table of its fields, or of the places of Python."""
    if isinstance(value, str):
        return value.strip()
    if not isinstance(value, Mapping):
        raise UserError(f"the stage {value!r} must be a text or a table")
    if not set(value) & set(FIELDS):
        value = {"topology": value}
    if unknown := [key for key in value if key not in FIELDS]:
        raise unknown_name("field of a stage", str(unknown[0]), FIELDS)
    places = value.get("topology", "rooms")
    text = _places_text(places) if isinstance(places, Mapping) else str(places).strip()
    if len(split_outside(text, THEN)) > 1 or "[" in text:
        raise UserError(
            f"the topology of one stage cannot contain several stages: write a separate stage for each part of {text!r}"
        )
    options = {str(name): _value_text(option) for name, option in value.items() if name != "topology"}
    return f"{text} [{write_spec('', '', options).removeprefix(',')}]" if options else text


def _places_text(places: Mapping[str, Any]) -> str:
    """Return places given as {kind: {option: value}} as one text.

    >>> _places_text({"rooms": {"size": 5}, "network": {}})
    'rooms,size=5 + network'
    """
    return f" {ALSO} ".join([_place_text(kind, options) for kind, options in places.items()])


def _place_text(kind: object, options: object) -> str:
    if not isinstance(kind, str) or not isinstance(options or {}, Mapping):
        raise UserError(
            f'a place is a name with its options, such as {{"rooms": {{"size": 5}}}}, not {kind!r}: {options!r}'
        )
    given: Mapping[str, Any] = options or {}  # type: ignore[assignment]
    return write_spec(kind, "", {str(name): _value_text(value) for name, value in given.items()})


def _value_text(value: object) -> str:
    """Return an option as it is written: a list with commas, and {name: {option: value}} as a spec.

    >>> _value_text(["first", "second"]), _value_text({"ring": {"degree": 4}})
    ('first,second', 'ring,degree=4')
    """
    if isinstance(value, Mapping):
        return ",".join(_place_text(kind, options) for kind, options in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(_value_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def stage_tables(text: str) -> list[dict[str, str]]:
    """Return the fields of each stage of a topology, as texts. Errors: UserError for a field that a stage does not have.

    >>> stage_tables("rooms [rounds=2] > echo")
    [{'topology': 'rooms', 'rounds': '2'}, {'topology': 'echo'}]
    """
    return [_stage_table(stage.strip()) for stage in split_outside(text, THEN)]


def _stage_table(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    if text.endswith("]") != ("[" in text) or text.count("]") > text.count("["):
        raise UserError(
            f"{text}: write the settings of a stage behind its places, in one pair of brackets, as in rooms [rounds=2]"
        )
    if text.endswith("]"):
        text, *inside = split_outside(text[:-1], "[")
        if len(inside) != 1 or len(split_outside(inside[0], "]")) > 1:
            raise UserError(
                f"{text}: write the settings of a stage in one pair of brackets, as in [rounds=2, topic=racism]"
            )
        options = dict(parse_spec(f"stage,{inside[0]}").options)
    if unknown := [key for key in options if key not in FIELDS[1:]]:
        raise unknown_name("field of a stage", unknown[0], FIELDS[1:])
    if not all(place.strip() for place in split_outside(text, ALSO)):
        raise UserError(
            f'topology {text.strip()!r} lacks a place: write one on each side of a {ALSO} or {THEN}, such as "rooms > echo"'
        )
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
