"""Whether a test is confirmatory, or the reasons why it is exploratory; and the list of tests that were begun."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.model.files import file_errors
from parley.model.sweep.design import LABEL
from parley.studies.claims.registration import Registration


@dataclass(frozen=True)
class Attempt:
    """A test of a registration: with which looks and model, in which folder."""

    looks: tuple[int, ...]
    model: str
    folder: Path

    def entry(self) -> dict[str, Any]:
        """Return it as in the list of seen results."""
        return {"folder": self.folder.name, "looks": list(self.looks), "model": identity_spec(self.model)}


def seen_file(registration: Path) -> Path:
    """Return the list, next to a registration, of the tests that were begun, and of their debates that were finished."""
    return registration.with_suffix(".seen.jsonl")


def note_begun(registration: Path, attempt: Attempt) -> None:
    """Add a test to the list, before anything of it is run."""
    if attempt.entry() not in read_begun(registration):
        _append(seen_file(registration), attempt.entry())


@dataclass(frozen=True)
class NotedMeasure:
    """Measures a finished run folder and notes a digest of each result, also in another process.

    seen: the list next to the registration.
    """

    measure: Callable[[Path], pd.DataFrame]
    attempt: Attempt
    seen: Path

    def __call__(self, run: Path) -> pd.DataFrame:
        rooms = self.measure(run)
        results = [None if math.isnan(value) else digest(repr(value)).hex()[:16] for value in rooms["value"]]
        cell = run.relative_to(self.attempt.folder).as_posix()
        line = {"cell": cell, "folder": self.attempt.folder.name, "model": identity_spec(self.attempt.model)}
        if (noted := {**line, "results": results}) not in _lines(self.seen):
            _append(self.seen, noted)
        return rooms


def replaced_debates(registration: Path) -> int:
    """Return how many runs have other numbers than the same runs had before: they were removed, and run again.

    A missing number that became a number is no other number: failures can be asked again.
    """
    first_results: dict[tuple[str, str, str], list[Any]] = {}
    replaced = set()
    for line in _lines(seen_file(registration)):
        if "cell" not in line:
            continue
        key, results = (line["folder"], line["model"], line["cell"]), line["results"]
        before = first_results.setdefault(key, results)
        if len(before) != len(results) or any(a is not None and a != b for a, b in zip(before, results, strict=True)):
            replaced.add(key)
        first_results[key] = results
    return len(replaced)


def read_begun(registration: Path) -> list[dict[str, Any]]:
    """Return the tests that were begun. Errors: UserError for a list that cannot be read."""
    keys = ("folder", "looks", "model")
    return [{key: line[key] for key in keys} for line in _lines(seen_file(registration)) if "cell" not in line]


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            _ = line["folder"], line["model"], line["results" if "cell" in line else "looks"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    return lines


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line at once, so that several processes can do so."""
    with file_errors(f"cannot write {path}"), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def why_exploratory(plan: Registration, path: Path, attempt: Attempt) -> list[str]:
    """Return the reasons why a test is exploratory; empty if it is confirmatory. Ask before the folder is written to."""
    reasons = []
    if attempt.looks != plan.looks:
        reasons.append(f"units {_text(attempt.looks)} are not those registered ({_text(plan.looks)})")
    if identity_spec(attempt.model) not in map(identity_spec, plan.models):
        reasons.append(f"{identity_spec(attempt.model)} is not among the registered models")
    files = [file for file in attempt.folder.rglob("*") if file.is_file()] if attempt.folder.exists() else []
    if any(file.stat().st_mtime < plan.registered.timestamp() for file in files):
        reasons.append("the folder has files that are older than the registration")
    mine, entries = attempt.entry(), read_begun(path)
    if any(
        (_same_test(earlier, mine) and earlier != mine) or earlier["looks"] != list(plan.looks) for earlier in entries
    ):
        reasons.append("a test of this plan was begun before, with another folder or number of units")
    if mine in entries and not (attempt.folder / LABEL).exists():
        reasons.append("a test of this plan was begun before, and its folder is gone")
    return reasons


def _same_test(earlier: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(earlier["model"] == other["model"])


def _text(looks: Sequence[int]) -> str:
    return ",".join(map(str, looks))
