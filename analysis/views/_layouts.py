"""Layouts of networks, kept on the disk. A layout depends on the links alone.

That of 1,000 agents takes a quarter of a second of one processor, and the time grows with the square of the agents.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
from numpy.typing import NDArray

from parley.llm.user_file import user_cache

KEPT, FEWEST = 200, 100
"""Layouts that are kept, and the fewest agents for which one is kept: of fewer it takes no time."""
RULE = "2"
"""Another number for another way to lay out a network."""


def kept_layout(
    people: int,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    make: Callable[[], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Return the layout of a network from the user's cache; where it has none, make it and keep it.

    A cache that cannot be read or written changes nothing but the time.
    """
    if people < FEWEST:
        return make()
    path = folder() / f"{digest(people, source, target)}.npy"
    with suppress(OSError, ValueError):
        kept_places = np.load(path, allow_pickle=False)
        if kept_places.shape == (people, 2) and kept_places.dtype == np.float32 and np.isfinite(kept_places).all():
            return np.asarray(kept_places, np.float32)
    places = make()
    with suppress(OSError):
        _keep(path, places)
    return places


def folder() -> Path:
    """Return the folder of the layouts in the user's cache."""
    return user_cache() / "layouts"


def digest(people: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> str:
    """Return what names the layout of a network: the number of agents and the links, in their order."""
    made = hashlib.sha256(f"{RULE} {people} ".encode())
    made.update(np.ascontiguousarray(source, np.int64).tobytes() + np.ascontiguousarray(target, np.int64).tobytes())
    return made.hexdigest()[:32]


def _keep(path: Path, places: NDArray[np.float32]) -> None:
    """Write a layout completely or not at all, and drop the oldest ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        np.save(file, places)
    os.replace(file.name, path)
    by_age = sorted(path.parent.glob("*.npy"), key=lambda layout: layout.stat().st_mtime)
    for old in by_age[:-KEPT]:
        old.unlink(missing_ok=True)
