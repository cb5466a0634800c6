"""Episodes from whatever holds them: a .jsonl of ours, a run folder, a folder of the public Parquet files, a public .json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.deliberation.episode import Episode, checked, read_episodes, renamed
from parley.analysis.deliberation.habermas import COMPARISONS, read_habermas
from parley.analysis.deliberation.human import read_human
from parley.analysis.deliberation.record import from_record
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.lines import read
from parley.model.session import RECORD


def read_any(path: Path) -> tuple[Episode, ...]:
    """The episodes at a path. Errors: UserError, one line."""
    if path.is_dir() and (path / COMPARISONS).is_file():
        return read_habermas(path)
    if (path / RECORD).is_file():
        return from_record(path)
    if path.suffix == ".jsonl":
        return read_episodes(path)
    if path.suffix == ".json":
        return read_human(path)
    raise UserError(f"{path} holds no episodes: a .jsonl, a run folder, a public .json, or a folder with {COMPARISONS}")


def read_all(paths: Sequence[Path]) -> tuple[Episode, ...]:
    """The episodes of several paths, one after the other.

    Of several, ids and sessions of a run folder have its name before them. A persona is the same participant in all runs with
    the same set of personas, and nobody else: before it stands the name of the first run folder with its set.
    Errors: UserError, also for an id that comes twice.
    """
    found, first = list[Episode](), dict[str, str]()
    for path in paths:
        episodes, name = read_any(path), path.resolve().name
        if len(paths) > 1 and (path / RECORD).is_file():
            people = first.setdefault(_personas(path / RECORD), name)
            episodes = tuple(renamed(one, name, people) for one in episodes)
        found += episodes
    return checked(found, ", ".join(map(str, paths)))


def _personas(record: Path) -> str:
    """The set of personas that a run was held with."""
    header = next(event for event in read(record) if isinstance(event, Header))
    return str(header.scenario["personas"])
