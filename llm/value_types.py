"""Checks values that were read from a file against the annotations of the class that they are for."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

Check = Callable[[Any], bool]
_PLAIN: Mapping[Any, Check] = {
    Any: lambda value: True,
    str: lambda value: type(value) is str,
    bool: lambda value: type(value) is bool,
    int: lambda value: type(value) is int,
    float: lambda value: type(value) is int or (type(value) is float and math.isfinite(value)),
    type(None): lambda value: value is None,
}
_EXACT = frozenset((str, bool, int, type(None)))
"""Types of which a value has exactly one: a float may be written as a whole number."""


def check_types(cls: type, values: Mapping[str, Any]) -> None:
    """Check values by the names of a class's fields; unknown names are left to the class. Errors: ValueError."""
    checks = _checks_of(cls)
    for name, value in values.items():
        if name in checks and not checks[name](value):
            raise ValueError(f"{name} of {cls.__name__} cannot be {str(value)[:40]!r}")


@cache
def _checks_of(cls: type) -> Mapping[str, Check]:
    return {name: check_of(hint) for name, hint in get_type_hints(cls).items() if get_origin(hint) is not ClassVar}


def check_of(hint: Any) -> Check:
    """Return a function that says whether a value has a type: one of _PLAIN, a class, or a union, tuple or mapping of them.

    A float is finite and may be a whole number; an int is no bool.

    >>> check_of(tuple[float, ...] | None)((1, 2.5)), check_of(int)(True), check_of(dict[str, int])({"a": "b"})
    (True, False, False)
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union(parts)
    if origin is tuple:
        return _tuple(check_of(parts[0])) if parts[-1] is ... else _row([check_of(argument) for argument in parts])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(check_of(parts[1]))
    return _PLAIN.get(hint) or (lambda value: isinstance(value, hint))


def _union(kinds: Sequence[Any]) -> Check:
    checks = [check_of(kind) for kind in kinds]
    exact = frozenset(kinds)
    if exact <= _EXACT:  # most fields: one look at the type
        return lambda value: type(value) in exact
    return lambda value: any(check(value) for check in checks)


def _tuple(check: Check) -> Check:
    return lambda value: type(value) is tuple and all(map(check, value))


def _row(checks: Sequence[Check]) -> Check:
    return lambda value: (
        type(value) is tuple
        and len(value) == len(checks)
        and all(check(each) for check, each in zip(checks, value, strict=True))
    )


def _mapping(check: Check) -> Check:
    return lambda value: type(value) is dict and all(map(check, value.values()))
