"""A value of a command line, of TOML or of Python as the type of an annotation, by pydantic; wrong ones are told in one
line.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from parley.llm.errors import UserError, unknown_name

WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
"""What a type is called in errors."""


def as_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the types of the fields of a dataclass. Errors: UserError that names field, value and type."""
    hints = get_type_hints(kind, include_extras=True)
    return {key: as_hint(key, value, hints[key]) for key, value in values.items()}


def as_hint(label: str, value: Any, hint: Any, written: bool = True) -> Any:
    """A value as a type. A text is read as a command line has it (unless not `written`); all else has to be of the type
    already.

    label: what the value is called in errors. A list of names may be one text with commas. What is annotated with a
    registry (`Annotated[Mediator, MEDIATORS]`) is opened by it, unless it is to stay a text.

    >>> as_hint("rounds", "3", int), as_hint("topics", "racism,abortion", tuple[str, ...])
    (3, ('racism', 'abortion'))
    """
    told, *notes = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    opened = next((note.open for note in notes if hasattr(note, "open")), None)
    if opened and told is not str:
        return opened(value)
    if isinstance(told, type) and issubclass(told, str) and told is not str:
        return told(value)  # a text that checks itself
    if get_origin(hint) is Literal and value not in get_args(hint):
        raise unknown_name(f"value of {label}", str(value), map(str, get_args(hint)))
    text = written and isinstance(value, str)
    if get_origin(hint) is tuple:
        value = _listed(value)
    try:
        return _adapter(hint).validate_python(value, strict=not text)
    except ValidationError as error:
        raise UserError(f"{label} must be {_wanted(told, error)}, not {value!r}") from error


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        return tuple([part.strip() for part in value.split(",") if part.strip()])
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=512)
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(hint, config=ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True))


def _wanted(hint: Any, error: ValidationError) -> str:
    """What a value should have been, in words."""
    first = error.errors()[0]
    if first["type"] == "finite_number":
        return "a finite number"
    if get_origin(hint) is tuple:
        return "a list of names" if str in get_args(hint) else "a list of numbers"
    kinds = [WANTED[kind] for kind in (hint, *get_args(hint)) if kind in WANTED]
    return " or ".join(kinds) if first["type"].endswith(("_type", "_parsing")) and kinds else _plain(first["msg"])


def _plain(message: str) -> str:
    """pydantic's words after `must be`."""
    return message.removeprefix("Input should be ").rstrip(".")


def as_option(value: Any) -> str:
    """A value of Python as a command line has it.

    >>> as_option(("racism", "abortion")), as_option(True)
    ('racism,abortion', 'true')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(as_option, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
