"""Whether a test is confirmatory, or the reasons why it is exploratory; and the list of results that were seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.analysis.preregistration.registration import Registration
from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.model.files import write_whole
from parley.model.sweep.design import LABEL


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
    """Return the list beside a registration of the tests whose results were seen."""
    return registration.with_suffix(".seen.json")


def note_seen(registration: Path, attempt: Attempt) -> None:
    """Add a test to the list, before its result is shown."""
    entries = read_seen(registration)
    if attempt.entry() not in entries:
        write_whole(seen_file(registration), json.dumps([*entries, attempt.entry()], indent=1) + "\n")


def read_seen(registration: Path) -> list[dict[str, Any]]:
    """Return the list of seen results. Errors: UserError for a list that cannot be read."""
    path = seen_file(registration)
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [{"folder": one["folder"], "looks": one["looks"], "model": one["model"]} for one in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"cannot read {path}: {error}") from error


def why_exploratory(plan: Registration, path: Path, attempt: Attempt) -> list[str]:
    """Return the reasons why a test is exploratory; empty if it is confirmatory. Ask before the folder is written to."""
    reasons = []
    if attempt.looks != plan.looks:
        reasons.append(f"units {_text(attempt.looks)} are not those registered ({_text(plan.looks)})")
    if identity_spec(attempt.model) not in map(identity_spec, plan.models):
        reasons.append(f"{identity_spec(attempt.model)} is not among the registered models")
    files = [one for one in attempt.folder.rglob("*") if one.is_file()] if attempt.folder.exists() else []
    if any(one.stat().st_mtime < plan.registered.timestamp() for one in files):
        reasons.append("the folder has files that are older than the registration")
    mine, entries = attempt.entry(), read_seen(path)
    if any((_same_test(one, mine) and one != mine) or one["looks"] != list(plan.looks) for one in entries):
        reasons.append("results of this plan were seen before, with another folder or number of units")
    if mine in entries and not (attempt.folder / LABEL).exists():
        reasons.append("results of this plan were seen before, and their folder is gone")
    return reasons


def _same_test(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["model"] == other["model"])


def _text(looks: Sequence[int]) -> str:
    return ",".join(map(str, looks))
