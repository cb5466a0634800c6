"""Journals calls outside debates, such as a judge's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from parley.llm.backends import is_scripted, open_spec
from parley.llm.budget import NO_LIMIT, UNLIMITED, Budget, Ledger, Limits, SharedBudget
from parley.llm.driver import Bar, Conversation, Progress, drive
from parley.llm.errors import UserError
from parley.llm.journal import Journal
from parley.llm.request import Backend
from parley.llm.retry import Retry
from parley.model.missing_replies import MissingTally, TallyKey

Result = TypeVar("Result")
FIRST = 20
"""Answers that are asked for first, to see whether they can be read."""


@contextmanager
def open_journal(
    backend: Backend, path: Path, budget: Budget = NO_LIMIT, ledger: Ledger | None = None
) -> Iterator[Journal]:
    """The backend with a journal at `path`, a budget, and retries of passing failures.

    The budget counts all earlier sessions of the journal, unless it belongs to a `ledger` whose owner has counted them. Errors:
    BudgetSpent; what was answered is kept.
    """
    limits = Limits(Retry(backend), budget, ledger)
    with closing(Journal(path, limits)) as journal:
        if ledger is None:
            limits.charge(*journal.spent())
        yield journal


def run_journaled(
    conversations: list[Conversation[Result]],
    model: str | Backend,
    folder: Path,
    bar: Bar,
    title: str,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
    why: Callable[[Result], str | None] = lambda result: None,
    name: str = "",
) -> list[Result]:
    """The results of all conversations with a model (its spec, or open already), journaled in `journal.sqlite` of the folder.

    why: as in `read_answers`; the budget says whether to keep going. name: the name of an open model.
    """
    backend = open_spec(model) if isinstance(model, str) else model
    journaled = open_journal(backend, folder / "journal.sqlite", budget, ledger)
    with bar(title, len(conversations)) as progress, journaled as journal:
        called = name or (model if isinstance(model, str) else title)
        return read_answers(conversations, journal, progress, why, (called, title.split()[0]), budget.keep_going)


@dataclass(frozen=True)
class CallDesk:
    """What calls outside of debates share: the folder of the journal, a progress bar, whether to continue if (nearly) nothing
    can be read, the budget, and a count of what could not be read.
    """

    folder: Path
    bar: Bar
    keep_going: bool = False
    spending: SharedBudget = UNLIMITED
    tally: MissingTally = field(default_factory=MissingTally)

    def ask(
        self,
        conversations: list[Conversation[Result]],
        spec: str,
        title: str,
        why: Callable[[Result], str | None],
        backend: Backend | None = None,
    ) -> list[Result]:
        """As `run_journaled`. title: what is asked for, and after a space for what. backend: the model, if it is open.

        Errors: Unreadable, BudgetSpent.
        """
        budget = self.spending.of(spec)._replace(keep_going=self.keep_going or is_scripted(spec))
        where = backend or spec, self.folder, self.bar, title, budget, self.spending.ledger
        results = run_journaled(conversations, *where, why=why, name=spec)
        for result in results:
            self.tally.count(TallyKey("", title.split()[0]), why(result))
        return results


def read_answers(
    conversations: list[Conversation[Result]],
    backend: Backend,
    progress: Progress,
    why: Callable[[Result], str | None],
    model_and_what: tuple[str, str],
    keep_going: bool = False,
) -> list[Result]:
    """The results of all conversations; the first few are asked before the others.

    why: the reason why a result cannot be read, or None. model_and_what: the model, and what it is asked for.
    Errors: Unreadable if (nearly) none of the first results can be read, unless `keep_going`.
    """
    model, what = model_and_what
    tally, first = MissingTally(), drive(conversations[:FIRST], backend, progress)
    for result in first:
        tally.count(TallyKey("", what), why(result))
    if not keep_going:
        tally.check((), {"": model}, {})
    return [*first, *drive(conversations[FIRST:], backend, progress)]


def missing_lines(values: pd.DataFrame, reasons: Iterable[str], what: str) -> str:
    """The line on what could not be read, from a table of values (one row per question) and the reasons of missing ones."""
    tally = MissingTally()
    for lost, reason in zip(values.isna().any(axis=1), reasons, strict=True):
        tally.count(TallyKey("", what), (reason.split(",")[0] or "empty") if lost else None)
    return tally.line


def check_manifest(path: Path, wanted: Mapping[str, Any], what: str) -> None:
    """Write what a folder is for, or check that it is the same as before. Errors: UserError on a folder of something else."""
    text = json.dumps(wanted, indent=1)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise UserError(f"{path.parent} already has another {what} ({path.name}): give another --out")
    path.write_text(text, encoding="utf-8")
