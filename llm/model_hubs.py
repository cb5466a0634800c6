"""What libraries of model hubs may do on their own: nothing. Called before they are imported, for they look once."""

from __future__ import annotations

import os
from pathlib import Path

SILENT = {"HF_HUB_DISABLE_TELEMETRY": "1", "RAY_USAGE_STATS_ENABLED": "0"}
"""Reports of use are off, unless the user's environment says otherwise. The first is for all that use the Hugging Face hub."""


def silence_hubs() -> None:
    """Turn off the reports of use that those libraries send."""
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)


def cached_files(model: str | Path) -> dict[str, bool]:
    """How a model's files are found, for `from_pretrained`: those of a folder in it alone; those of a hub's id are downloaded."""
    return {"local_files_only": True} if Path(model).is_dir() else {}
