"""What is asked outside of a debate (verdicts, interviews) is kept in a folder: it goes on and asks nothing twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from llm.backends import open_spec
from llm.driver import Bar, Conversation, drive
from llm.errors import UserError
from llm.journal import Journal
from llm.limits import NO_LIMIT, Budget, Ledger, Limits
from llm.request import Backend
from llm.retry import Retry

Result = TypeVar("Result")


@contextmanager
def kept(backend: Backend, path: Path, budget: Budget = NO_LIMIT, ledger: Ledger | None = None) -> Iterator[Journal]:
    """The backend with a journal at `path`, counted, and asked again when it fails in passing.

    The budget is the journal's own, over all sittings, or that of a `ledger` whose owner has counted these. Spent, it ends in
    BudgetSpent; what was answered is kept.
    """
    limits = Limits(Retry(backend), budget, ledger)
    with closing(Journal(path, limits)) as journal:
        if ledger is None:
            limits.charge(*journal.spent())
        yield journal


def driven(
    conversations: list[Conversation[Result]],
    model: str | Backend,
    folder: Path,
    bar: Bar,
    title: str,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
) -> list[Result]:
    """All of them before a model (its spec, or open already), at once. Every reply is kept in `journal.sqlite` of the folder."""
    backend = open_spec(model) if isinstance(model, str) else model
    journaled = kept(backend, folder / "journal.sqlite", budget, ledger)
    with bar(title, len(conversations)) as progress, journaled as journal:
        return drive(conversations, journal, progress)


def claim(path: Path, wanted: Mapping[str, Any], what: str) -> None:
    """Write what a folder is for; see that it is the same the next time. Errors: UserError on a folder of something else."""
    text = json.dumps(wanted, indent=1)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise UserError(f"{path.parent} holds another {what} ({path.name}): give another --out")
    path.write_text(text, encoding="utf-8")
