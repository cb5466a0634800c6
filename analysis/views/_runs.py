"""The runs of the server. They belong to its process: a tab looks at one, and the run goes on when the tab is closed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.serving.own_files import check_named
from parley.llm.errors import UserError
from parley.llm.trust import Gate, gate, use_gate

if TYPE_CHECKING:
    from parley.analysis.result_folders import StudyRow
    from parley.model.run_listing import RunRow
    from parley.model.run_registry import RunRegistry

ROOT = Path("runs")
MOST_REASONS, LONGEST_REASON = 20, 300
EXAMPLE = "example"
"""The folder of the example run, in ROOT."""


@cache
def registry() -> RunRegistry:
    """Return the runs of this process. (Loaded at the first use: it imports Mesa, and the first screen needs none.)"""
    from parley.analysis.qualify.before_run import qualified_run
    from parley.analysis.result_folders import is_whole
    from parley.model.run_registry import RunRegistry

    return RunRegistry(ROOT, write_files, lambda folder: is_whole(folder, ROOT), qualified_run)


def resume(folder: Path) -> None:
    """Go on with an unfinished run. Errors: UserError, also where its settings name what the page may not open."""
    from parley.model.run_listing import read_header

    header = read_header(folder)
    recorded = {**header.scenario, **header.scenario["options"]}
    check_named({name: recorded.get(name) for name in header.given}, str(folder))
    registry().resume(folder).play()


def write_files(folder: Path) -> None:
    """Write the report of a finished run: tables, figures, transcript, summary, as for a run of the command line.

    It is written by another process, so that the page answers while a run is analysed. Errors: UserError, as of that process.
    """
    try:
        analyst().submit(_write_files, folder).result()
    except BrokenProcessPool as error:
        analyst.cache_clear()
        raise UserError(
            f"the process that writes reports has ended: write this report with python run.py report {folder}"
        ) from error


@cache
def analyst() -> ProcessPoolExecutor:
    """Return the process that writes reports."""
    return ProcessPoolExecutor(1, get_context("spawn"), _begin, (gate(),))


def _begin(trusted: Gate) -> None:
    """Begin as the process that writes reports; it ends when the page does, also if the page is killed."""
    use_gate(trusted)
    threading.Thread(target=_end_with_page, daemon=True).start()


def _end_with_page() -> None:
    if page := parent_process():
        page.join()
        os._exit(1)


def _write_files(folder: Path) -> None:
    from parley.analysis.run_report import write_report
    from parley.model.run_listing import saved_prices

    write_report(folder, saved_prices(folder))


def listed(
    make: Callable[[RunRow], dict[str, Any]], make_study: Callable[[StudyRow], dict[str, Any]] | None = None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return what `make` makes of each run in ROOT, and a line for each folder that cannot be listed, with the reason.

    make_study: makes the row of a study with all of its runs; without it, studies are left out.
    """
    from parley.analysis.result_folders import list_results

    listing = list_results(ROOT)
    rows, unread = list[dict[str, Any]](), listing.unread
    for run in listing.runs:
        try:
            rows.append(make(run))
        except Exception as error:  # noqa: BLE001  the header of another hand may hold anything
            unread.append(f"the header of {run.folder} lacks the setting {error}" if isinstance(error, KeyError) else
                          f"the header of {run.folder} cannot be read: {error}")  # fmt: skip
    if make_study:
        rows += [make_study(study) for study in listing.studies]
    return rows, [reason[:LONGEST_REASON] for reason in unread[:MOST_REASONS]]
