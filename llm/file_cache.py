"""What a process has read from a file of the user's is read again when the file, or the folder one works in, has changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from parley.llm.trust import SHIPPED, check_data

Given = ParamSpec("Given")
Read = TypeVar("Read")


def read_once(place: Callable[..., Path]) -> Callable[[Callable[Given, Read]], Callable[Given, Read]]:
    """Keep what a function reads from a file or folder for as long as that is unchanged; what Parley ships, for good.

    place: the file, or the folder with files in TOML and of text, for the function's arguments, which have to be hashable.
    A notebook or the page may read a file, the user edits it, and the next run has what it says now.
    """

    def keep(reader: Callable[Given, Read]) -> Callable[Given, Read]:
        kept: dict[Hashable, tuple[Hashable, Read]] = {}

        @wraps(reader)
        def read(*given: Given.args, **named: Given.kwargs) -> Read:
            key = given, tuple(named.items())
            if (cached := kept.get(key)) and cached[0] is None:
                return cached[1]  # shipped
            check_data(path := place(*given, **named))
            state = _state(path)
            if cached is None or cached[0] != state:
                cached = kept[key] = state, reader(*given, **named)
            return cached[1]

        return read

    return keep


def _state(place: Path) -> Hashable:
    """Return what is another value once a file of a place has changed: its path, time and size; None for what Parley ships."""
    if any(place.is_relative_to(folder) for folder in SHIPPED):
        return None
    place = place.absolute()  # a relative path names another file in another working directory
    files = [path for kind in ("toml", "txt") for path in place.rglob(f"*.{kind}")] if place.is_dir() else [place]
    states = [(path, path.stat()) for path in files if path.is_file()]
    return place, tuple(sorted((str(path), state.st_ino, state.st_mtime_ns, state.st_size) for path, state in states))
