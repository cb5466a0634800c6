"""Reads JSON, and makes objects of a dataclass of its values: each has the type that the annotation of its field says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind")


def read_json(text: str) -> Any:
    """Return the value of a text in JSON. Errors: ValueError, also for a number that is not finite."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):  # it refuses half a surrogate pair
        try:
            return json.loads(text, parse_float=_finite, parse_constant=_finite)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


def typed(cls: Callable[..., Kind], values: Any) -> Kind:
    """Return the object of a dataclass that has these values by name. Lists become tuples where the class has tuples.

    A float may be written as a whole number; an int is no bool. Errors: ValueError for an unknown, a missing or a wrong value.
    """
    if not isinstance(values, dict):
        raise ValueError("no object")
    if unknown := values.keys() - _names(cls):
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    try:
        made: Kind = msgspec.convert(values, cls)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    return made


@cache
def _names(cls: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields(cls))
