"""What is asked outside of a debate (verdicts, interviews) is kept in a folder: it goes on and asks nothing twice."""

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
"""Answers that are asked for alone, to see whether they can be read."""


@contextmanager
def open_journal(
    backend: Backend, path: Path, budget: Budget = NO_LIMIT, ledger: Ledger | None = None
) -> Iterator[Journal]:
    """The backend with a journal at `path`, counted, and asked again when it fails in passing.

    The budget is the journal's own, over all sittings, or that of a `ledger` whose owner has counted these. Spent, it ends in
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
    why: Callable[[Result], str | None] = lambda one: None,
    name: str = "",
) -> list[Result]:
    """All of them before a model (its spec, or open already). Every reply is kept in `journal.sqlite` of the folder; `why` as in
    `read`, where the budget says whether to keep going; `name` is what an open model is called.
    """
    backend = open_spec(model) if isinstance(model, str) else model
    journaled = open_journal(backend, folder / "journal.sqlite", budget, ledger)
    with bar(title, len(conversations)) as progress, journaled as journal:
        called = name or (model if isinstance(model, str) else title)
        return read_answers(conversations, journal, progress, why, (called, title.split()[0]), budget.keep_going)


@dataclass(frozen=True)
class CallDesk:
    """Where models are asked outside of a debate: the folder that keeps what they answer, a progress bar, whether to go on where
    (nearly) nothing can be read, what may be spent, and a count of what could not be read.
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
        """As `run_journaled`; `title` says what is asked for, and after a blank for what; `backend` is the model, if it is open.

        Errors: Unreadable, BudgetSpent.
        """
        budget = self.spending.of(spec)._replace(keep_going=self.keep_going or is_scripted(spec))
        asked = backend or spec
        found = run_journaled(
            conversations, asked, self.folder, self.bar, title, budget, self.spending.ledger, why=why, name=spec
        )
        for one in found:
            self.tally.count(TallyKey("", title.split()[0]), why(one))
        return found


def read_answers(
    conversations: list[Conversation[Result]],
    backend: Backend,
    progress: Progress,
    why: Callable[[Result], str | None],
    asked: tuple[str, str],
    keep_going: bool = False,
) -> list[Result]:
    """What all of them say of what a model answered. `why` names the reason where that cannot be read, `asked` the model and what
    it is asked for. The first few are asked alone. Errors: Unreadable where (nearly) nothing of these can be read.
    """
    model, what = asked
    first, found = MissingTally(), drive(conversations[:FIRST], backend, progress)
    for one in found:
        first.count(TallyKey("", what), why(one))
    if not keep_going:
        first.check((), {"": model}, {})
    return [*found, *drive(conversations[FIRST:], backend, progress)]


def missing_lines(values: pd.DataFrame, reasons: Iterable[str], what: str) -> str:
    """The line on what could not be read, of a table with a row for each that was asked: where a value is missing, its reason."""
    tally = MissingTally()
    for lost, reason in zip(values.isna().any(axis=1), reasons, strict=True):
        tally.count(TallyKey("", what), (reason.split(",")[0] or "empty") if lost else None)
    return tally.line


def check_manifest(path: Path, wanted: Mapping[str, Any], what: str) -> None:
    """Write what a folder is for; see that it is the same the next time. Errors: UserError on a folder of something else."""
    text = json.dumps(wanted, indent=1)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise UserError(f"{path.parent} holds another {what} ({path.name}): give another --out")
    path.write_text(text, encoding="utf-8")
