"""Lines for the terminal about what goes on while a run goes on."""

from __future__ import annotations

import sys


def notify(line: str) -> None:
    """Write a line to stderr, above the progress bar if there is one. Any thread may call this."""
    from tqdm import tqdm  # takes a moment to import, and most runs have nothing to say

    tqdm.write(line, file=sys.stderr)
