"""The runs of the server. They belong to its process: a tab looks at one, and the run goes on when the tab is closed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.views._html import ONE_FIGURE_AT_A_TIME

if TYPE_CHECKING:
    from parley.model.run_registry import RunRegistry

ROOT = Path("runs")
EXAMPLE = "example"
"""The folder of the example run, in ROOT."""


@cache
def registry() -> RunRegistry:
    """Return the runs of this process. (Loaded at the first use: it imports Mesa, and the first screen needs none.)"""
    from parley.model.run_registry import RunRegistry

    return RunRegistry(ROOT, write_files)


def write_files(folder: Path) -> None:
    """Write the report of a finished run: tables, figures, transcript, summary, as for a run of the command line."""
    from parley.analysis.run_report import write_report
    from parley.model.run_listing import saved_prices

    with ONE_FIGURE_AT_A_TIME:
        write_report(folder, saved_prices(folder))


def runs() -> list[str]:
    """Return the folders in runs/ with a record, the newest first."""
    folders = {path.parent for path in ROOT.glob("**/record*.jsonl")}
    return [str(path) for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)]
