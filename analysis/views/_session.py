"""What one browser tab looks at: a run under way, or one that was loaded. Two tabs share nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import solara

from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.tables import Tables, record_of, tables
from parley.llm.errors import UserError
from parley.model.events import Event
from parley.model.interactive_run import InteractiveRun, Interview, SteppedIn
from parley.model.interventions import parse_intervention
from parley.model.recorder import read_lines
from parley.model.scenario import load_preset

RUNS = Path("runs")
_number = count(1)


@dataclass(frozen=True, eq=False)
class Shown:
    """What a view is given: the record and its tables, the round to look at (all until then), and who can be asked."""

    tables: Tables
    round: int
    session: Session
    events: Sequence[Event] = ()


class Session:
    """One tab. `version` grows with everything new, `seen` follows it a few times a second: what reads `seen` is drawn again.

    `error` is a line for the person who looks.
    """

    def __init__(self) -> None:
        self.seen = solara.reactive(0)
        self.live: InteractiveRun | None = None
        self.loaded: Tables | None = None
        self.folder: Path | None = None
        self.error, self.version, self.pace = "", 0, 0.0
        self._events: Sequence[Event] = ()
        self._read: tuple[int, Tables | None] = (0, None)

    def start(self, preset: str, settings: Mapping[str, Any]) -> None:
        """Set a run up; it waits for `play` or `step`."""
        self.close()

        def begin() -> None:
            scenario = load_preset(preset).with_settings(settings)
            folder = RUNS / f"app-{time.strftime('%Y%m%d-%H%M%S')}-{next(_number)}"
            self.live = InteractiveRun(scenario, folder, self._new, given=tuple(settings))
            self.live.pace, self.folder, self.loaded, self._read = self.pace, folder, None, (0, None)

        self._tried(begin)

    def open(self, folder: str) -> None:
        """Load a run folder. It is only read."""
        self.close()

        def look() -> None:
            events = list(read_lines(record_of(Path(folder))))
            self.loaded, self._events = tables(events, folder), events
            self.live, self.folder = None, Path(folder)

        self._tried(look)

    def play(self) -> None:
        if self.live:
            self.live.play()

    def step(self) -> None:
        if self.live:
            self.live.play(1)

    def pause(self) -> None:
        if self.live:
            self.live.pause()

    def rest(self, seconds: float) -> None:
        """How long a run that goes on by itself rests between two rounds."""
        self.pace = seconds
        if self.live:
            self.live.pace = seconds

    def close(self) -> None:
        """Let the run of this tab go."""
        if self.live:
            self.live.stop()

    def interview(self, agent: int, question: str) -> None:
        self._tried(lambda: self._watched("has no agent to ask").interview(agent, question))

    def step_in(self, values: Mapping[str, Any]) -> None:
        """An intervention before the next round, its keys as in a preset; the round is found."""
        self._tried(
            lambda: self._watched("cannot be stepped into").add_intervention(parse_intervention({"round": 1, **values}))
        )

    @property
    def interviews(self) -> list[Interview]:
        return self.live.interviews if self.live else []

    @property
    def interventions(self) -> list[SteppedIn]:
        return self.live.interventions if self.live else []

    @property
    def events(self) -> Sequence[Event]:
        """The record so far."""
        return self.live.events if self.live else self._events

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
    def phase(self) -> str:
        """That of the run under way; nothing where there is none."""
        return self.live.phase if self.live else ""

    @property
    def told(self) -> str:
        """How the run is, in a line."""
        if self.live is None:
            told = "loaded" if self.loaded and self.loaded.finished else "loaded, unfinished"
            return "" if self.loaded is None else f"{told}: {self.folder}"
        live = self.live
        return f"{live.phase}, round {live.round} of {live.scenario.rounds}, {live.calls:,} of {live.total:,} calls"

    def _watched(self, why: str) -> InteractiveRun:
        if self.live is None:
            raise UserError(f"a loaded run {why}: start one")
        return self.live

    def _tried(self, act: Callable[[], object]) -> None:
        """Do it, or say in a line why not."""
        try:
            act()
            self.error = ""
        except UserError as error:
            self.error = str(error)
        self._new()

    def _new(self) -> None:
        self.version += 1


def runs(folder: Path | None = None) -> list[str]:
    """Folders with a record, the newest first."""
    found = {path.parent for path in (folder or RUNS).glob("**/record*.jsonl")}
    return [str(path) for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)]


def surveyed(found: Tables) -> bool:
    """Whether there are attitudes to draw; positions of private deliberations have a view of their own."""
    return found.header.scenario["survey"] != "never" and bool(found.groups) and not deliberates(found)


def rooms(found: Tables) -> dict[str, str]:
    """What each room is called in a list, by its id."""
    rows = found.agents.drop_duplicates("room").to_dict("records")
    return {row["room"]: f"{found.title(row['topic'])}, {row['group']}, room {row['repetition'] + 1}" for row in rows}
