"""Which files the page may name: those of the words that started it, and of folders allowed there.

An address may come from anywhere, and a form can be filled in by whatever drives the browser. So neither opens a file, a folder
or a model of this machine that its user has not named. (Code, servers and keys: parley.llm.trust.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from parley.llm.errors import UserError
from parley.llm.trust import refuse_named

FLAG = "--allow-files"
PROSE = ("text", "by")
"""Keys of an intervention that hold words to say."""
BARE = ("society", "personas", "questions")
"""Settings in which the bare name of a folder or file is enough to open it."""
ENDINGS = (".toml", ".json", ".jsonl", ".csv", ".tsv", ".txt", ".py", ".gz", ".bz2", ".xz", ".zip", ".sqlite", ".gguf")
_ADDRESS = re.compile(r"\w+://[^\s,;|)'\"]*")
_BETWEEN = re.compile(r"[\s,;|=:()'\"]+")
_allowed: list[Path] = [Path("runs")]
"""Files, and folders with all that is in them."""


def allow(settings: Mapping[str, str], folders: Iterable[Path] = ()) -> None:
    """Allow the files in the settings that the user gave at the start, and all files in some folders. Errors: UserError."""
    if missing := [folder for folder in folders if not folder.is_dir()]:
        raise UserError(f"{FLAG} {missing[0]}: there is no such folder")
    _allowed.extend([*folders, *(path for name, text in settings.items() for path in _paths(name, text))])


def check_named(values: Mapping[str, Any], source: str) -> None:
    """Errors: UserError where settings of the page name code, a server, a key or a file that was not named at its start.

    values: texts by setting. source: where they come from, as the message begins.
    """
    values = {name: value for name, value in values.items() if name not in PROSE}
    refuse_named(values, source)
    for name, value in values.items():
        for text in value if isinstance(value, list | tuple) else [value]:
            named = _paths(name, text) if isinstance(text, str) else ()
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


def _paths(setting: str, text: str) -> Iterator[Path]:
    """Yield what a text may name on this machine: whatever is written as a path, ends like a file, or is there.

    >>> [str(path) for path in _paths("llm", "replay:/tmp/a,b=./c.toml")], list(_paths("llm", "hf:org/model,top_p=.5"))
    (['/tmp/a', 'c.toml'], [])
    """
    parts = _BETWEEN.split(_ADDRESS.sub(" ", text))
    named = len(parts) > 1 or setting in BARE
    for word in filter(None, parts):
        written = word.startswith(("/", "~", "./", "../")) or "\\" in word or "/.." in word
        if written or word.lower().endswith(ENDINGS) or (named and _exists(word)):
            yield Path(word)
    if len(parts) > 1 and _exists(text):
        yield Path(text)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with a NUL
        return False
