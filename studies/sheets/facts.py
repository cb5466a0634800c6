"""A fact of a sheet: a sentence with its figure, and the place in the folder of the run that it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError
from parley.model.files import JOURNAL
from parley.model.sent_requests import Exchange, sent_requests
from parley.model.sweep.design import CELLS, LABEL

HEADER = "record.jsonl, line 1"


@dataclass(frozen=True)
class Fact:
    """text: a sentence with its figure. place: the file, and the column or field. known: False where only the reason is known."""

    text: str
    place: str
    known: bool = True


class SheetRun:
    """A run as facts read it. Errors: UserError without a record, or with an empty one."""

    def __init__(self, folder: Path):
        self.folder = folder
        if not folder.is_dir():
            raise UserError(f"{folder} is not the folder of a run")
        if (folder / LABEL).exists():
            raise UserError(f"{folder} has several runs: give one run, a folder in {folder / CELLS}")
        self.tables: Tables = load(folder)
        if self.tables.header.is_log:
            raise UserError(
                f"{folder} was read from a log, which does not say how its runs were designed, so Parley "
                "cannot fill in a sheet: give a run of Parley"
            )

    @property
    def scenario(self) -> dict[str, Any]:
        """The settings of the run, given and default."""
        return self.tables.header.scenario

    @cached_property
    def prompts(self) -> list[Exchange] | str:
        """Every prompt that an agent was sent, with its reply; or why they are unknown, as a phrase."""
        if not (self.folder / JOURNAL).exists():
            return "the folder has no journal.sqlite"
        try:
            exchanges = [exchange for exchange in sent_requests(self.folder).exchanges if exchange.request]
        except UserError as error:
            return str(error)
        return exchanges or "the installed version of Parley does not derive the prompts of the run"

    @property
    def sweep(self) -> Path | None:
        """The sweep.json of the sweep that the run is a cell of; None for other runs."""
        path = self.folder.resolve().parent.parent / LABEL
        return path if path.exists() else None


Source = Callable[[SheetRun], Fact | None]
FACTS: dict[str, Source] = {}
"""Every fact by the name of its function, which a form names. None: the run has nothing of the kind."""


def fact(function: Source) -> Source:
    """Make a function of a run a fact that forms can name."""
    FACTS[function.__name__] = function
    return function


def setting(run: SheetRun, text: str, *names: str) -> Fact:
    """Return a fact on settings. names: fields of the scenario."""
    return Fact(text, f"{HEADER}, scenario.{', '.join(names)}")
