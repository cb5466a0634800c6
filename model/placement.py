"""How many processes share the rooms of a run, and where: said once for a command, used by every run that it makes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Workers:
    """A number of processes, and the address of the Ray cluster that runs them; with "" they are on this machine."""

    number: int = 1
    cluster: str = ""


ONE = Workers()
_workers: ContextVar[Workers] = ContextVar("workers", default=ONE)
wanted_workers = _workers.get
"""Return the workers that the command wants."""
use_workers = _workers.set
"""Say which workers the command wants."""


@contextmanager
def one_worker() -> Iterator[None]:
    """Run everything in this process, unless other workers are wanted meanwhile."""
    token = _workers.set(ONE)
    try:
        yield
    finally:
        _workers.reset(token)
