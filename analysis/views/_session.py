"""What one browser tab looks at: a run under way, or one that was loaded. Two tabs share nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import solara

from analysis.load import Tables, load, tables
from llm.errors import UserError
from model.live import Interview, Live
from model.scenario import Scenario, load_preset, parse_settings

RUNS = Path("runs")
_number = count(1)


@dataclass(frozen=True, eq=False)
class Shown:
    """What a view is given: the tables up to a round, and who can be asked."""

    tables: Tables
    round: int
    session: Session


class Session:
    """One tab. `version` grows with everything new, `seen` follows it a few times a second: what reads `seen` is drawn again.

    `error` is a line for the person who looks.
    """

    def __init__(self) -> None:
        self.seen = solara.reactive(0)
        self.live: Live | None = None
        self.loaded: Tables | None = None
        self.error, self.version = "", 0
        self._read: tuple[int, Tables | None] = (0, None)

    def start(self, preset: str, settings: str) -> None:
        """Set a run up; it waits for `play` or `step`."""
        self.close()
        try:
            scenario = chosen(preset, settings)
            folder = RUNS / f"app-{time.strftime('%Y%m%d-%H%M%S')}-{next(_number)}"
            self.live, self.loaded, self.error = Live(scenario, folder, self._new), None, ""
        except UserError as error:
            self.error = str(error)
        self._new()

    def open(self, folder: str) -> None:
        """Load a run folder. It is only read."""
        self.close()
        try:
            self.loaded, self.live, self.error = load(Path(folder)), None, ""
        except UserError as error:
            self.error = str(error)
        self._new()

    def play(self) -> None:
        if self.live:
            self.live.play()

    def step(self) -> None:
        if self.live:
            self.live.play(1)

    def pause(self) -> None:
        if self.live:
            self.live.pause()

    def close(self) -> None:
        """Let the run of this tab go."""
        if self.live:
            self.live.stop()

    def interview(self, agent: int, question: str) -> None:
        try:
            if self.live is None:
                raise UserError("a loaded run has nobody to ask: start one")
            self.live.interview(agent, question)
            self.error = ""
        except UserError as error:
            self.error = str(error)
        self._new()

    @property
    def interviews(self) -> list[Interview]:
        return self.live.interviews if self.live else []

    @property
    def tables(self) -> Tables | None:
        """Those of the record so far; None before anything was recorded."""
        if self.live is None:
            return self.loaded
        events = self.live.events
        if len(events) != self._read[0]:
            self._read = (len(events), tables(events))
        return self._read[1]

    @property
    def told(self) -> str:
        """How the run is, in a line."""
        if self.live is None:
            return "" if self.loaded is None else "loaded" if self.loaded.finished else "loaded, unfinished"
        live = self.live
        return f"{live.phase}, round {live.round} of {live.scenario.rounds}, {live.calls:,} of {live.total:,} calls"

    def _new(self) -> None:
        self.version += 1


def chosen(preset: str, settings: str) -> Scenario:
    """A preset with lines of key=value over it. Errors: UserError."""
    lines = [line for line in settings.splitlines() if line.strip()]
    return load_preset(preset).with_settings(parse_settings(lines))


def runs(folder: Path = RUNS) -> list[str]:
    """Folders with a record, the newest first."""
    found = {path.parent for path in folder.glob("**/record*.jsonl")}
    return [str(path) for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)]


def rooms(found: Any) -> dict[str, str]:
    """What each room is called in a list, by its id."""
    rows = found.agents.drop_duplicates("room").to_dict("records")
    return {row["room"]: f"{found.title(row['topic'])}, {row['group']}, room {row['repetition'] + 1}" for row in rows}
