"""Files of a user that a spec names: `./coin.py:Coin`. Each is a module that any process finds again by its name alone.

The name of the module holds the path, so that what is made of its classes can be pickled for a worker of a sweep. A file that was
changed is another module: a notebook takes the new one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from parley.llm.errors import UserError

PREFIX = "parley_file_"
_PATH = re.compile(r"\s*([^:,=]+\.py)(?::([A-Za-z_]\w*))?(?::(.*))?\s*")
_names: dict[Any, str] = {}


class OwnPath(NamedTuple):
    """`./coin.py:Coin:big` in its parts: file, name of a class or function in it, what stands after that."""

    file: str
    name: str
    after: str

    @property
    def spec(self) -> str:
        """File and name as they are written."""
        return f"{self.file}:{self.name}" if self.name else self.file


def split_path(text: str) -> OwnPath | None:
    """The parts of what names a file; None for what does not.

    >>> split_path("./coin.py:Coin")
    OwnPath(file='./coin.py', name='Coin', after='')
    """
    found = _PATH.fullmatch(text)
    return OwnPath(found[1], found[2] or "", found[3] or "") if found else None


def load_file(file: str) -> ModuleType:
    """The module of a file. Errors: UserError where it is missing, is no Python, or imports what is not there."""
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise UserError(f"there is no file {file}")
    name = f"{PREFIX}{path.stat().st_mtime_ns:x}_{str(path).encode().hex()}"
    try:
        return import_module(name)
    except SyntaxError as error:
        raise UserError(f"{file}, line {error.lineno}: {error.msg}") from error
    except ImportError as error:
        raise UserError(f"{file} cannot be imported: {error}") from error


def stamp_of(spec: str) -> int:
    """When the file that a spec names was changed; 0 where it names none."""
    path = split_path(spec.partition(",")[0])
    file = Path(path.file).expanduser() if path else None
    return file.stat().st_mtime_ns if file and file.is_file() else 0


def remember(found: Any, name: str) -> None:
    """Keep under which name something was found."""
    _names[found] = name


def name_of(kind: type) -> str:
    """The name under which a class is found: what a header has to keep of it.

    >>> from parley.llm.backends.fake import Fake
    >>> name_of(Fake)
    'fake'
    """
    own = kind.__module__.startswith("parley.")
    return _names.get(kind) or (kind.__module__.rpartition(".")[2] if own else kind.__name__)


class _Finder(MetaPathFinder):
    """Finds the module of a file by its name, in whatever process."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PREFIX):
            return None
        return spec_from_file_location(fullname, bytes.fromhex(fullname.rpartition("_")[2]).decode())


sys.meta_path.append(_Finder())
