"""The user's cache: what can be made or fetched again, kept for all runs on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """Return the folder of the user's cache: that of XDG_CACHE_HOME, else of ~/.cache. It need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "parley"
