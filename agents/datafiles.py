"""Reads and writes the TOML data files of this floor, and says in one line what is wrong with a broken one."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from parley.llm.errors import UserError, unknown_name
from parley.llm.registry import options_of
from parley.llm.typed import as_hint

Kind = TypeVar("Kind")
HERE = Path(__file__).parent


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict. Errors: UserError when it is missing or broken, with the line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error


def require_section(values: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """The table called `key`; empty when there is none. Errors: UserError when it is no table."""
    found = values.get(key, {})
    if not isinstance(found, dict):
        raise UserError(f"{key} in {where} must be a table, not {found!r}")
    return found


def build_from_table(kind: type[Kind], values: Mapping[str, Any], where: str) -> Kind:
    """Make a dataclass from a mapping, refusing unknown and missing keys, and texts and whole numbers that are none."""
    known = options_of(kind)
    for key, value in values.items():
        if key not in known:
            raise unknown_name(f"key in {where}", key, known)
        if known[key].hint in (str, int):
            as_hint(f"{key} in {where}", value, known[key].hint, written=False)
    missing = [name for name, option in known.items() if option.needed and name not in values]
    if missing:
        raise UserError(f"{where} lacks {', '.join(missing)}")
    return kind(**values)


def save_text(path: Path, text: str) -> Path:
    """Write a data file, its folder too. Errors: UserError when that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return path


def quoted(text: str) -> str:
    """A TOML string. It is a JSON one but for two things: no surrogate pairs (an emoji stands as it is), no bare DEL."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")
