"""The result of a qualification as a file: in the folder of each run, and in the user's cache, by model and settings.

The file holds numbers, and names from fixed lists; sentences are made from them. A file from elsewhere adds no text of its own.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parley.analysis.qualify.questions import WAYS
from parley.analysis.qualify.verdict import IGNORES, RANKS, UNREADABLE, WayVerdict, best_way
from parley.llm.errors import UserError
from parley.llm.request import Backend, identity_text
from parley.llm.seeding import digest
from parley.llm.typed import as_fields
from parley.llm.user_cache import user_cache
from parley.model.run_folder import QUALIFIED

ASIDE, FILE = QUALIFIED
"""In the folder of a run: the folder of the answers, and the file of the result."""
LONGEST_FILE = 20_000
"""Bytes of a file of results; ours have about 1,000."""


@dataclass(frozen=True)
class Qualification:
    """What a battery found about a model. topics: how many were asked about. short: whether the battery was a short one."""

    verdicts: tuple[WayVerdict, ...]
    topics: int
    short: bool

    @property
    def best(self) -> WayVerdict:
        """The way to ask this model."""
        return best_way(list(self.verdicts))

    @property
    def plays(self) -> bool:
        """Whether ratings depend on who the model plays, so that their changes may mean something."""
        return self.best.outcome not in (IGNORES, UNREADABLE)

    def write(self, path: Path) -> None:
        """Write the file; unknown numbers are null."""
        path.parent.mkdir(parents=True, exist_ok=True)
        values = {"topics": self.topics, "short": self.short, "ways": [_plain(one) for one in self.verdicts]}
        path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def read_qualification(path: Path) -> Qualification | None:
    """Return the result in a file; None if there is no file. Errors: UserError for a file that is no such result."""
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise ValueError("the file is too long")
        values = json.loads(path.read_text(encoding="utf-8"))
        verdicts = tuple([_verdict(one) for one in values["ways"]])
        if not verdicts:
            raise ValueError("no way was asked")
        return Qualification(verdicts, int(values["topics"]), bool(values["short"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UserError) as error:
        what = f"{path} is not the result of a qualification ({error})"
        raise UserError(f"{what}: remove it, or run again with another --out") from error


def kept_path(backend: Backend, society: str, seed: int) -> Path:
    """Return the file in the user's cache for a model as it is asked: its identity, with all settings, and the society."""
    return user_cache() / "qualify" / f"{digest(identity_text(backend), society, seed).hex()}.json"


def _plain(verdict: WayVerdict) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(verdict).items()
    }


def _verdict(values: dict[str, Any]) -> WayVerdict:
    known = {name: value for name, value in values.items() if value is not None}
    verdict = WayVerdict(**as_fields(WayVerdict, known))
    if verdict.way not in WAYS or verdict.outcome not in RANKS:
        raise ValueError(f"{str(verdict.way)[:20]!r} or {str(verdict.outcome)[:20]!r} is unknown")
    return verdict
