"""Keeps libraries of model hubs from sending usage reports. It must run before they are imported: they look only once."""

from __future__ import annotations

import os
from pathlib import Path

SILENT = {"HF_HUB_DISABLE_TELEMETRY": "1", "RAY_USAGE_STATS_ENABLED": "0"}
"""Usage reports are off, unless the user's environment says otherwise. The first is for all that use the Hugging Face hub."""


def silence_hubs() -> None:
    """Turn off the usage reports of these libraries."""
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)


def cached_files(model: str | Path) -> dict[str, bool]:
    """Return the options of `from_pretrained`: the files of a folder are only read there, those of a hub id are downloaded."""
    return {"local_files_only": True} if Path(model).is_dir() else {}
