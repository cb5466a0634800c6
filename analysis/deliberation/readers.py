"""Episodes from whatever holds them: a .jsonl of ours, a run folder, a folder of the public Parquet files, a public .json."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from analysis.deliberation.episode import Episode, checked, read_episodes
from analysis.deliberation.habermas import COMPARISONS, read_habermas
from analysis.deliberation.human import read_human
from analysis.deliberation.record import from_record
from llm.errors import UserError
from model.session import RECORD


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

    Of several run folders, ids and sessions have the folder's name before them; a persona is the same participant in all of them.
    Errors: UserError, also for an id that comes twice.
    """
    found = [_of_run(one, path) if len(paths) > 1 else one for path in paths for one in read_any(path)]
    return checked(found, ", ".join(map(str, paths)))


def _of_run(episode: Episode, path: Path) -> Episode:
    if not (path / RECORD).is_file():
        return episode
    name = path.resolve().name
    return replace(episode, id=f"{name}/{episode.id}", session=f"{name}/{episode.session}")
