"""What test_sweep.py has workers measure of a cell, in a module that worker processes can import."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from parley.model.files import RECORD


def record(run: Path) -> bytes:
    return (run / RECORD).read_bytes()


def deadly(run: Path) -> bytes:
    """Kills the worker of seed 1, whenever it gets there."""
    if run.name == "seed-1":
        os.kill(os.getpid(), signal.SIGKILL)
    return record(run)
