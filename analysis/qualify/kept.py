"""The result of a qualification as a file: in the folder of each run, and in the user's cache, by model and settings.

The file holds numbers, and names from fixed lists; sentences are made from them. A file from elsewhere adds no text of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from parley.agents.society import load_society
from parley.agents.topic import society_topics
from parley.analysis.qualify.questions import WAYS, Battery, battery_topics, questions
from parley.analysis.qualify.verdict import IGNORES, RANKS, UNREADABLE, OwnVoice, WayVerdict, best_way
from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.llm.typed import as_fields
from parley.llm.user_file import user_cache
from parley.model.run_folder import QUALIFIED

ASIDE, FILE = QUALIFIED
"""In the folder of a run: the folder of the answers, and the file of the result."""
LONGEST_FILE = 20_000
"""Bytes of a file of results; ours have about 1,000."""
NOTHING: dict[str, Any] = {"share": math.nan, "chance": math.nan, "p": math.nan}
"""What is null in a file where a short debate had no pair of lines."""


@dataclass(frozen=True)
class Qualification:
    """What a battery found about a model. topics: how many were asked about. short: whether the battery was a short one.

    lines: whether lines of the short debate go with ratings; None if there was no debate.
    """

    verdicts: tuple[WayVerdict, ...]
    topics: int
    short: bool
    lines: OwnVoice | None = None

    @property
    def best(self) -> WayVerdict:
        """The way to ask this model."""
        return best_way(list(self.verdicts))

    @property
    def plays(self) -> bool:
        """Whether ratings depend on who the model plays, so that their changes may mean something."""
        return self.best.outcome not in (IGNORES, UNREADABLE)

    def asked_in(self, way: str) -> Qualification:
        """Return what it says of a run that asks in one of WAYS; the whole result where that way was not tried."""
        return replace(
            self, verdicts=tuple([verdict for verdict in self.verdicts if verdict.way == way]) or self.verdicts
        )

    def write(self, path: Path) -> None:
        """Write the file; unknown numbers are null."""
        path.parent.mkdir(parents=True, exist_ok=True)
        ways, lines = [_plain(verdict) for verdict in self.verdicts], self.lines and _plain(self.lines)
        values = {"topics": self.topics, "short": self.short, "ways": ways, "lines": lines}
        path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def read_qualification(path: Path) -> Qualification | None:
    """Return the result in a file; None if there is no file. Errors: UserError for a file that is no such result."""
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise ValueError("the file is too long")
        values = json.loads(path.read_text(encoding="utf-8"))
        if not (verdicts := tuple([_verdict(way) for way in values["ways"]])):
            raise ValueError("no way was asked")
        lines = values.get("lines")
        voice = OwnVoice(**NOTHING | as_fields(OwnVoice, _known(lines))) if lines else None
        return Qualification(verdicts, int(values["topics"]), bool(values["short"]), voice)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, UserError) as error:
        what = f"{path} is not the result of a qualification ({error})"
        raise UserError(f"{what}: remove it, or run again with another --out") from error


def short_battery(society: str) -> Battery:
    """Return what a model is asked before its first run in a society. Errors: UserError where it has no topic for it."""
    loaded = load_society(society)
    topics = [loaded.qualified(name) for name in loaded.topics] or society_topics(loaded)
    return Battery(battery_topics(topics, [], short=True), short=True)


def spec_identity(spec: str, voices: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Return what identifies a model before it is opened: its spec, and those of the voices of others. For plans only."""
    return {"spec": identity_spec(spec), **{voice: identity_spec(other) for voice, other in voices.items()}}


def kept_path(identity: Mapping[str, Any], society: str) -> Path:
    """Return the file in the user's cache for a model as it is asked: its identity, the society, and the words of the questions.

    identity: with all settings that change a reply, as in the header of a record. Errors: UserError as `short_battery`.
    """
    battery = short_battery(society)
    texts = [[*question.request(battery.seed).messages, question.probe.prefix] for question in questions(battery)]
    key = digest(json.dumps(dict(identity), sort_keys=True), society, json.dumps(texts))
    return user_cache() / "qualify" / f"{key.hex()}.json"


def keep_qualification(folder: Path, identity: Mapping[str, Any], society: str) -> None:
    """Keep the result in a folder for the runs of its model; a short one does not take the place of a longer one."""
    qualification, kept = read_qualification(folder / FILE), kept_qualification(identity, society)
    if qualification and (kept is None or kept.short or not qualification.short):
        qualification.write(kept_path(identity, society))


def kept_qualification(identity: Mapping[str, Any], society: str) -> Qualification | None:
    """Return the kept result of a model; None without one, and for a damaged file or an unknown society."""
    try:
        return read_qualification(kept_path(identity, society))
    except UserError:
        return None


def _plain(verdict: WayVerdict | OwnVoice) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(verdict).items()
    }


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _verdict(values: dict[str, Any]) -> WayVerdict:
    verdict = WayVerdict(**as_fields(WayVerdict, _known(values)))
    if verdict.way not in WAYS or verdict.outcome not in RANKS:
        raise ValueError(f"{str(verdict.way)[:20]!r} or {str(verdict.outcome)[:20]!r} is unknown")
    return verdict
