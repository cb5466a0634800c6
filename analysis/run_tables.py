"""The tables of a run that studies declare (`Study.tables`), next to those of every run (tables.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from parley.llm.studies import declared_parts

Environment = TypeVar("Environment")
Events = Mapping[type, Sequence[Any]]
"""The events of a record by their class."""


class RunTable(NamedTuple):
    """A table of a run.

    frame   makes it of the events of a record: a row per event of an agent, with the columns room and agent
    about   what it has, in words that follow "no" ("choices one after another")
    answer  the column of the answers: where it is empty, the column `reason` says why; "": the table has no answers
    noun    what an answer is called ("choice")
    outcome the column whose mean over all rounds of a room a claim can be about
    """

    frame: Callable[[Events], pd.DataFrame]
    about: str
    answer: str = ""
    noun: str = ""
    outcome: str = ""


def environment_as(kind: Callable[..., Environment], options: Mapping[str, Any]) -> Environment:
    """Return an environment of this class with those options of a record that it has: a class made from it may have more."""
    names = [option.name for option in fields(kind) if option.name in options]  # type: ignore[arg-type]
    return kind(**{name: tuple(options[name]) if isinstance(options[name], list) else options[name] for name in names})


def run_tables() -> Mapping[str, RunTable]:
    """Return the tables of all studies by name. Errors: UserError for a name that two studies have."""
    return {name: declared.load() for name, declared in declared_parts("tables").items()}
