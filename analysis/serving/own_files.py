"""Which files the page may name: those of the words that started it, and of folders allowed there.

An address may come from anywhere, and a form can be filled in by whatever drives the browser. So neither opens a file, a folder
or a model of this machine that its user has not named. (Code, servers and keys: parley.llm.trust.)
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.llm.trust import FLAG as TRUST
from parley.llm.trust import Untrusted, paths_in, refuse_named

FLAG = "--allow-files"
PROSE = ("text", "by")
"""Keys of an intervention that hold words to say."""
BARE = ("society", "personas", "questions")
"""Settings in which the bare name of a folder or file is enough to open it."""
_allowed: list[Path] = [Path("runs")]
"""Files, and folders with all that is in them."""


def allow(settings: Mapping[str, str], folders: Iterable[Path] = ()) -> None:
    """Allow the files in the settings that the user gave at the start, and all files in some folders. Errors: UserError."""
    if missing := [folder for folder in folders if not folder.is_dir()]:
        raise UserError(f"{FLAG} {missing[0]}: there is no such folder")
    _allowed.extend([*folders, *(path for name, text in settings.items() for path in paths_in(text, name in BARE))])


def check_named(values: Mapping[str, Any], source: str) -> None:
    """Errors: UserError where settings of the page name code, a server, a key or a file that was not named at its start.

    values: texts by setting. source: where they come from, as the message begins.
    """
    values = {name: value for name, value in values.items() if name not in PROSE}
    try:
        refuse_named(values, source)
    except Untrusted as error:
        way = f"{TRUST} {shlex.quote(error.way)}"
        raise UserError(
            f"{source} names {error.what}: to allow it, start the page again with {way} (docs/files.md)"
        ) from error
    for name, value in values.items():
        for text in value if isinstance(value, list | tuple) else [value]:
            named = paths_in(text, name in BARE) if isinstance(text, str) else ()
            if unknown := [path for path in named if not _is_allowed(path)]:
                raise UserError(
                    f"{source} names the file {unknown[0]}, and the page opens only files that were named when it was started: "
                    f"start it again with {FLAG} FOLDER (docs/files.md)"
                )


def _is_allowed(path: Path) -> bool:
    try:
        whole = path.expanduser().resolve()
        return any(whole.is_relative_to(folder.expanduser().resolve()) for folder in _allowed)
    except (OSError, ValueError, RuntimeError):  # no path at all
        return False
