"""Reads and writes specs, `NAME[:MODEL][,option=value...]`, and imports the files that a spec names (`./coin.py:Coin`).

The module name of such a file holds its path, so any process can import it again by name alone; objects of its classes
can be pickled for a worker of a sweep. A changed file gets another module name, so a notebook uses the new version.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from parley.llm.errors import UserError
from parley.llm.trust import check_file

_CLOSING = {"'": "'", '"': '"', "(": ")"}


class Spec(NamedTuple):
    """A spec in its parts. `after` is the text after the colon, such as the model of `hf:org/model`."""

    name: str
    after: str
    options: dict[str, str]


def parse_spec(text: str) -> Spec:
    """Split a spec into its parts, as texts. Errors: UserError if an option is no `key=value`, or is given twice.

    >>> parse_spec("hf:org/model,load=8bit")
    Spec(name='hf', after='org/model', options={'load': '8bit'})
    >>> parse_spec("./coin.py:Coin,line='Well, no.'").options
    {'line': 'Well, no.'}
    """
    head, *parts = split_parts(text)
    if path := split_path(head):
        name, after = path.spec, path.after
    else:
        name, _, after = (piece.strip() for piece in head.partition(":"))
    options: dict[str, str] = {}
    for pair in parts:
        key, value = split_pair(pair, text)
        if key in options:
            raise UserError(f"{text}: {key} is given twice: give {key} once")
        options[key] = _bare(value)
    return Spec(name, after, options)


def write_spec(name: str, after: str, options: dict[str, str]) -> str:
    """Return the spec of these parts.

    >>> write_spec("coin", "", {"line": "Well, no."})
    "coin,line='Well, no.'"
    """
    parts = [f"{key}={_closed(value)}" for key, value in options.items()]
    return ",".join([f"{name}:{after}" if after else name, *parts])


def split_parts(text: str) -> list[str]:
    """Split at commas, except in values that begin with a quote or a bracket.

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
        raise UserError(f"{text}: a closing {closing[-1]} is missing: add it")
    return parts


def split_pair(text: str, where: str) -> tuple[str, str]:
    """Split `frame=debate` into ("frame", "debate"). Errors: UserError without the `=`; `where` begins its message."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UserError(f"{where}: {text.strip()!r} has no value: write it as KEY=VALUE")
    return key.strip(), value.strip()


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and _CLOSING.get(value[0]) == value[-1] else value


def _closed(value: str) -> str:
    """Return a value in quotes or brackets, if it needs them."""
    if "," not in value and value[:1] not in _CLOSING:
        return value
    mark = next((mark for mark in "'\"" if mark not in value), "")
    return f"{mark}{value}{mark}" if mark else f"({value})"


PREFIX = "parley_file_"
_PATH = re.compile(r"\s*([^:,=]+\.py)(?::([A-Za-z_]\w*))?(?::(.*))?\s*")
_names: dict[Any, str] = {}


class OwnPath(NamedTuple):
    """`./coin.py:Coin:big` in its parts: file, name of a class or function in it, the text after that."""

    file: str
    name: str
    after: str

    @property
    def spec(self) -> str:
        """File and name as they were written."""
        return f"{self.file}:{self.name}" if self.name else self.file


def split_path(text: str) -> OwnPath | None:
    """Split a text that names a file; return None for any other text.

    >>> split_path("./coin.py:Coin")
    OwnPath(file='./coin.py', name='Coin', after='')
    """
    match = _PATH.fullmatch(text)
    return OwnPath(match[1], match[2] or "", match[3] or "") if match else None


def load_file(file: str) -> ModuleType:
    """Import a file. Errors: UserError if it is missing, not trusted, no Python, or imports what is not installed."""
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise UserError(f"there is no file {file}")
    check_file(path)
    name = f"{PREFIX}{path.stat().st_mtime_ns:x}_{str(path).encode().hex()}"
    try:
        return import_module(name)
    except SyntaxError as error:
        raise UserError(f"{file}, line {error.lineno}: {error.msg}") from error
    except ImportError as error:
        raise UserError(f"{file} cannot be imported: {error}") from error


def points_of(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name."""
    return _points_of(group, tuple(sys.path))


@lru_cache(maxsize=64)
def _points_of(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """path: sys.path, in which they were found."""
    return {point.name: point for point in entry_points(group=group)}


def load_point(point: EntryPoint) -> Any:
    """Import what an entry point names. Errors: UserError."""
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise UserError(
            f"cannot load the installed extension {point.name} ({point.value}, entry point {point.group}): {error}"
        ) from error


def stamp_of(spec: str) -> int:
    """Return when the file of a spec was changed; 0 if it names no file."""
    path = split_path(spec.partition(",")[0])
    file = Path(path.file).expanduser() if path else None
    return file.stat().st_mtime_ns if file and file.is_file() else 0


def remember(target: Any, name: str) -> None:
    """Remember the name under which a part was found."""
    _names[target] = name


def name_of(kind: type) -> str:
    """Return the name under which a part is found, which records hold.

    A part of the user's has the name or path that was given. A built-in class has its own name in snake case, or `name`
    if it sets one.

    >>> from parley.llm.backends.fake import Fake
    >>> name_of(Fake)
    'fake'
    """
    if kind in _names or not kind.__module__.startswith("parley."):
        return _names.get(kind, kind.__name__)
    own_name = vars(kind).get("name")
    return own_name if isinstance(own_name, str) else re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


class _Finder(MetaPathFinder):
    """Finds the module of a file by its name, in any process."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PREFIX) or "." in fullname:  # a module of a package is found next to the others
            return None
        return spec_from_file_location(fullname, bytes.fromhex(fullname.rpartition("_")[2]).decode())


sys.meta_path.append(_Finder())
