"""Reads and writes TOML data files, and reports in one line what is wrong with a broken one."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from parley.llm.errors import UserError, unknown_name
from parley.llm.registry import options_of
from parley.llm.trust import check_data
from parley.llm.typed import as_hint

Kind = TypeVar("Kind")
HERE = Path(__file__).parent
CHECKED = (str, int, float | None, tuple[str, ...], tuple[str, str])
"""Types of fields whose values are checked and, if they are lists, turned into tuples."""


LARGEST = 1 << 24
"""Bytes of the largest TOML file that is read."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Errors: UserError if it is missing, too large or broken, with the line."""
    check_data(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UserError(f"{path} is larger than {LARGEST >> 20} MiB, which is too large for a TOML file")
        return tomllib.loads(content.decode("utf-8").replace("\r\n", "\n"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise UserError(f"{path} is not valid TOML: its tables or lists are nested too deeply") from error


def shipped_or_own(what: str, name: str, names: Collection[str], folder: Path, page: str) -> Path:
    """Return the path of a .toml file: `name` itself, or the file of that name in `folder`, which holds one language.

    what: one of the things, such as `scenario`; names: those of Parley; page: of the docs. Errors: UserError for an unknown
    name, and for a language in which Parley has none.
    """
    if name.endswith(".toml"):
        return Path(name)
    if name not in names:
        raise unknown_name(what, name, names)
    path = folder / f"{name}.toml"
    if not path.is_file():
        raise UserError(f"the {what} {name} is in English and German, not in {folder.name}: give a .toml file ({page})")
    return path


def require_section(values: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    """Return the table `key`, or an empty one if it is missing. Errors: UserError if it is no table."""
    table = values.get(key, {})
    if not isinstance(table, dict):
        raise UserError(f"{key} in {where} is {table!r}, but must be a table")
    return table


def build_from_table(kind: type[Kind], values: Mapping[str, Any], where: str) -> Kind:
    """Make a dataclass from a mapping. Errors: UserError on unknown and missing keys, and on values of a wrong kind, of those
    kinds that a file can hold as they are (CHECKED).
    """
    options, values = options_of(kind), dict(values)
    for key, value in values.items():
        if key not in options:
            raise unknown_name(f"key in {where}", key, options)
        if options[key].hint in CHECKED:
            values[key] = as_hint(f"{key} in {where}", value, options[key].hint, written=False)
    missing = [name for name, option in options.items() if option.needed and name not in values]
    if missing:
        raise UserError(f"{where} lacks {', '.join(missing)}")
    return kind(**values)


def save_text(path: Path, text: str) -> Path:
    """Write a data file and its folder. Errors: UserError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return path


def table_rows(name: str, tables: Iterable[Mapping[str, str | int]]) -> str:
    """Return the TOML text of a list of tables, each in one line: `name = [ { key = "value" }, ... ]`."""
    cells = [
        [f"{key} = {quoted(value) if isinstance(value, str) else value}" for key, value in table.items()]
        for table in tables
    ]
    return "\n".join([f"{name} = [", *(f"  {{ {', '.join(row)} }}," for row in cells), "]", ""])


def quoted(text: str) -> str:
    """Return a TOML string: a JSON string without surrogate pairs (an emoji stays as it is) and without a bare DEL."""
    valid = text.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(valid, ensure_ascii=False).replace("\x7f", "\\u007f")
