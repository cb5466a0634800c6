"""How a choice with options is written: `NAME[:MODEL][,option=value...]`."""

from __future__ import annotations

from typing import NamedTuple

from parley.llm.errors import UserError
from parley.llm.ownfiles import split_path

_CLOSING = {"'": "'", '"': '"', "(": ")"}


class Spec(NamedTuple):
    """A spec in its parts. `after` is what stands after the colon: of `hf:org/model` the model."""

    name: str
    after: str
    options: dict[str, str]


def parse_spec(text: str) -> Spec:
    """A spec in its parts, as texts. Errors: UserError on what is no `key=value`, or given twice.

    >>> parse_spec("hf:org/model,load=8bit")
    Spec(name='hf', after='org/model', options={'load': '8bit'})
    >>> parse_spec("./coin.py:Coin,line='Well, no.'").options
    {'line': 'Well, no.'}
    """
    head, *parts = split_parts(text)
    if path := split_path(head):
        name, after = path.spec, path.after
    else:
        name, _, after = (part.strip() for part in head.partition(":"))
    options: dict[str, str] = {}
    for part in parts:
        key, value = split_pair(part, text)
        if key in options:
            raise UserError(f"{text}: {key} is given twice")
        options[key] = _bare(value)
    return Spec(name, after, options)


def write_spec(name: str, after: str, options: dict[str, str]) -> str:
    """The spec of these parts.

    >>> write_spec("coin", "", {"line": "Well, no."})
    "coin,line='Well, no.'"
    """
    parts = [f"{key}={_closed(value)}" for key, value in options.items()]
    return ",".join([f"{name}:{after}" if after else name, *parts])


def split_parts(text: str) -> list[str]:
    """Split at commas, but for those in quotes or brackets that a value begins with.

    >>> split_parts("a,b=(c,d=1),e='f,g'")
    ['a', 'b=(c,d=1)', "e='f,g'"]
    """
    parts, closing = [""], ""
    for sign in text:
        if sign == "," and not closing:
            parts.append("")
            continue
        if closing:
            closing = closing[:-1] if sign == closing[-1] else closing + ")" * (sign == "(" and closing[-1] == ")")
        elif sign in _CLOSING and parts[-1].rstrip().endswith("=") and parts[-1].count("=") == 1:
            closing = _CLOSING[sign]
        parts[-1] += sign
    if closing:
        raise UserError(f"{text}: the closing {closing[-1]} is missing")
    return parts


def split_pair(text: str, where: str) -> tuple[str, str]:
    """`frame=debate` as ("frame", "debate"). Errors: UserError without the `=`; `where` begins its line."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UserError(f"{where}: {text.strip()!r} has no value, write it as key=value")
    return key.strip(), value.strip()


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and _CLOSING.get(value[0]) == value[-1] else value


def _closed(value: str) -> str:
    """With quotes or brackets, where it would be read otherwise without."""
    if "," not in value and value[:1] not in _CLOSING:
        return value
    mark = next((mark for mark in "'\"" if mark not in value), "")
    return f"{mark}{value}{mark}" if mark else f"({value})"
