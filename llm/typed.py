"""Converts values of a command line, of TOML or of Python to the type of an annotation, with pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from parley.llm.errors import UserError, unknown_name

WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
"""What a type is called in errors."""


def as_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values to the types of the fields of a dataclass. Errors: UserError that names field, value and type."""
    hints = get_type_hints(kind, include_extras=True)
    return {key: as_hint(key, value, hints[key]) for key, value in values.items()}


def as_hint(label: str, value: Any, hint: Any, written: bool = True) -> Any:
    """Convert a value to a type. Errors: UserError.

    A text is read as on a command line, unless `written` is False; other values must have the type already. label: the
    name of the value in errors. A list of names may be one text with commas. A value annotated with a registry
    (`Annotated[Mediator, MEDIATORS]`) is opened by it, unless its type is a text.

    >>> as_hint("rounds", "3", int), as_hint("topics", "racism,abortion", tuple[str, ...])
    (3, ('racism', 'abortion'))
    """
    plain, *notes = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    open_part = next((note.open for note in notes if hasattr(note, "open")), None)
    if open_part and plain is not str:
        return open_part(value)
    if isinstance(plain, type) and issubclass(plain, str) and plain is not str:
        return plain(value)  # a text that checks itself
    if get_origin(hint) is Literal and value not in get_args(hint):
        raise unknown_name(f"value of {label}", str(value), map(str, get_args(hint)))
    text = written and isinstance(value, str)
    if get_origin(hint) is tuple and isinstance(value, str):
        value = [text.strip() for text in value.split(",") if text.strip()]
    if get_origin(hint) is tuple and isinstance(value, list):
        value = tuple(value)
    try:
        return _adapter(hint).validate_python(value, strict=not text)
    except ValidationError as error:
        raise UserError(f"{label} is {value!r}, but must be {_expected(plain, error)}") from error


@lru_cache(maxsize=512)
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True))


def _expected(hint: Any, error: ValidationError) -> str:
    """Return what a value should have been, in words."""
    first = error.errors()[0]
    if first["type"] == "finite_number":
        return "a finite number"
    if get_origin(hint) is tuple:
        item = get_args(hint)[0]
        if get_origin(item) is Literal:
            return f"a list of {', '.join(map(str, get_args(item)))}"
        return "a list of names" if item is str else "a list of numbers"
    kinds = [WANTED[kind] for kind in (hint, *get_args(hint)) if kind in WANTED]
    if first["type"].endswith(("_type", "_parsing")) and kinds:
        return " or ".join(kinds)
    return first["msg"].removeprefix("Input should be ").rstrip(".")


def as_option(value: Any) -> str:
    """Return a value as a command line writes it.

    >>> as_option(("racism", "abortion")), as_option(True)
    ('racism,abortion', 'true')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(as_option, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
