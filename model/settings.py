"""Values of a command line or of TOML as the types of a dataclass's fields."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from parley.llm.errors import UserError, unknown_name


def coerced(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the types of the fields of a dataclass. Errors: UserError that names field, value and type."""
    hints = get_type_hints(kind)
    return {key: _coerce(key, value, hints[key]) for key, value in values.items()}


def _coerce(key: str, value: Any, hint: Any) -> Any:
    """A value of a command line or of TOML as the type of its field. Errors: UserError that names field, value and type."""
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise unknown_name(f"value of {key}", str(value), get_args(hint))
        return value
    if get_origin(hint) is tuple:
        parts = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise UserError(f"{key} must be a list of names, not {value!r}")
        return tuple(parts)
    if isinstance(value, str) and hint is not str:
        value = _literal(value)
    fits = isinstance(value, hint) or (hint is float and isinstance(value, int))
    if not fits or (isinstance(value, bool) and hint is not bool):
        raise UserError(f"{key} must be {_article(hint)}, not {value!r}")
    return hint(value)


def _literal(text: str) -> int | float | bool | str:
    try:
        return tomllib.loads(f"value = {text}")["value"]  # type: ignore[no-any-return]
    except tomllib.TOMLDecodeError:
        return text


def _article(hint: type) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}[hint]
