"""What one browser tab looks at: a run under way, or a run that was loaded. Two tabs share nothing."""

from __future__ import annotations

import math
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
    """What a view gets: the tables and events of the run, the last round to show, and the tab's session."""

    tables: Tables
    round: int
    session: Session
    events: Sequence[Event] = ()


class Session:
    """One tab.

    `version` grows with everything new. `seen` follows it a few times a second; a component that reads `seen` is then drawn
    again. `error` is a line for the reader.
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

        self._try(begin)

    def open(self, folder: str) -> None:
        """Load a run folder, read-only."""
        self.close()

        def load() -> None:
            events = list(read_lines(record_of(Path(folder))))
            self.loaded, self._events = tables(events, folder), events
            self.live, self.folder = None, Path(folder)

        self._try(load)

    def play(self, rounds: float = math.inf) -> None:
        """Run to the end, or some rounds."""
        if self.live:
            self.live.play(rounds)

    def step(self) -> None:
        """Run one round."""
        self.play(1)

    def pause(self) -> None:
        """Stop after the calls under way."""
        if self.live:
            self.live.pause()

    def rest(self, seconds: float) -> None:
        """Set the pause between two rounds of a run that plays."""
        self.pace = seconds
        if self.live:
            self.live.pace = seconds

    def close(self) -> None:
        """Stop the run of this tab."""
        if self.live:
            self.live.stop()

    def interview(self, agent: int, question: str) -> None:
        """Ask an agent of a run under way."""
        self._try(lambda: self._running("cannot answer questions").interview(agent, question))

    def step_in(self, values: Mapping[str, Any]) -> None:
        """Add an intervention before the next round. values: its keys as in a preset, without the round."""
        self._try(
            lambda: self._running("cannot be changed").add_intervention(parse_intervention({"round": 1, **values}))
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
        """The tables of the record so far; None before anything was recorded."""
        if self.live is None:
            return self.loaded
        events = self.live.events
        if len(events) != self._read[0]:
            self._read = (len(events), tables(events))
        return self._read[1]

    @property
    def phase(self) -> str:
        """The phase of the run under way; empty where there is none."""
        return self.live.phase if self.live else ""

    @property
    def status(self) -> str:
        """The state of the run, in a line."""
        if live := self.live:
            return f"{live.phase}, round {live.round} of {live.scenario.rounds}, {live.calls:,} of {live.total:,} calls"
        if self.loaded is None:
            return ""
        return f"{'loaded' if self.loaded.finished else 'loaded, unfinished'}: {self.folder}"

    def _running(self, why: str) -> InteractiveRun:
        if self.live is None:
            raise UserError(f"a run that was loaded from a folder {why}: set up a new run")
        return self.live

    def _try(self, act: Callable[[], object]) -> None:
        """Do it; where that fails, show why."""
        try:
            act()
            self.error = ""
        except UserError as error:
            self.error = str(error)
        self._new()

    def _new(self) -> None:
        self.version += 1


def runs() -> list[str]:
    """Return the folders in runs/ with a record, the newest first."""
    folders = {path.parent for path in RUNS.glob("**/record*.jsonl")}
    return [str(path) for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)]


def surveyed(tables: Tables) -> bool:
    """Return whether the run has attitudes to draw. (Positions of private deliberations have a view of their own.)"""
    return tables.header.scenario["survey"] != "never" and bool(tables.groups) and not deliberates(tables)


def rooms(tables: Tables) -> dict[str, str]:
    """Return the title of each room, by its id."""
    rows = tables.agents.drop_duplicates("room").to_dict("records")
    return {row["room"]: f"{tables.title(row['topic'])}, {row['group']}, room {row['repetition'] + 1}" for row in rows}
