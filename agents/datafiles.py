"""Reads the TOML data files of this floor and says in one line what is wrong with a broken one."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from llm.errors import UserError, unknown

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


def build(kind: type[Kind], values: Mapping[str, Any], where: str) -> Kind:
    """Make a dataclass from a mapping, refusing unknown and missing keys by name."""
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise unknown(f"key in {where}", key, fields)
    needed = [name for name, field in fields.items() if field.default is field.default_factory is dataclasses.MISSING]
    missing = [name for name in needed if name not in values]
    if missing:
        raise UserError(f"{where} lacks {', '.join(missing)}")
    return kind(**values)
