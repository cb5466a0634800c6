"""The user's people and topics, copied into the folder of a run: who reads the run later needs no file outside of it.

A copy is at files/DIGEST/NAME. The digest is over what the record calls the file and over its content, so a copy that was changed
is none. Data alone are copied: a table of people, a folder with their TOML files, the TOML file of a topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from parley.agents.own_people import TABLES
from parley.agents.society import FILE, home_of
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.llm.trust import note_copies
from parley.llm.user_file import file_spec
from parley.model.files import file_errors

FOLDER = "files"
Contents = dict[str, bytes]


def keep_files(folder: Path, scenario: Mapping[str, Any]) -> None:
    """Copy the files of people and topics that the fields of a scenario name into its run folder. Errors: UserError."""
    for path in _named(scenario):
        original = path.expanduser()
        if not original.exists() or home_of(original / FILE):  # the files of a society belong together
            continue
        contents = _contents(original)
        place = folder / FOLDER / _digest(path, contents) / path.name
        for name, content in contents.items():
            with file_errors(f"cannot write {place}"):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(content)


def note_files(folder: Path, scenario: Mapping[str, Any]) -> None:
    """Note the copies in a run folder of what the header of its record names; a link or a changed file is none."""
    for path in _named(scenario) if (folder / FOLDER).is_dir() else ():
        for place in (folder / FOLDER).glob(f"*/{path.name}"):
            parts = (place.parents[1], place.parent, place, *place.glob("*"))
            usual = all(part.is_file() or part.is_dir() for part in parts) and not any(map(Path.is_symlink, parts))
            if usual and _digest(path, _contents(place)) == place.parent.name:
                note_copies({path: place})


def _named(scenario: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the paths of tables and folders of people, and of files of topics, that the fields of a scenario name."""
    people, topics = scenario.get("personas"), scenario.get("topic")
    with suppress(UserError, OSError, ValueError, RuntimeError):
        path = file_spec(people).path if isinstance(people, str) else Path()
        if path.name and (str(people).startswith((".", "/", "~")) or path.suffix.lower() in TABLES):
            yield path
    for topic in topics if isinstance(topics, list | tuple) else ():
        if isinstance(topic, str) and topic.endswith(".toml"):
            yield Path(topic)


def _contents(path: Path) -> Contents:
    """Return the bytes of a file ("" is its name), or of the TOML files of a folder by name. Errors: UserError."""
    with file_errors(f"cannot read {path}"):
        files = {file.name: file for file in sorted(path.glob("*.toml"))} if path.is_dir() else {"": path}
        return {name: file.read_bytes() for name, file in files.items()}


def _digest(path: Path, contents: Contents) -> str:
    return digest(str(path), [(name, content.hex()) for name, content in contents.items()]).hex()
