"""What one browser tab looks at: a run of this server, or a run that was loaded from its folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import solara

from parley.analysis.formatting import REFERENCE
from parley.analysis.serving.own_files import check_named
from parley.analysis.views._runs import registry, resume
from parley.llm.errors import UserError

if TYPE_CHECKING:
    from parley.analysis.tables import Tables
    from parley.model.events import Event
    from parley.model.interactive_run import InteractiveRun, Interview, SteppedIn
    from parley.model.interventions.base import Intervention

__all__ = ["Draft", "Person", "Session", "Shown", "debates", "rooms", "surveyed"]
HELD = 100_000_000
"""Bytes of a record up to which its events are kept in memory: some 300,000 events."""
Person = tuple[str, int]
"""An agent of the run shown: its room and its number."""
_read: WeakKeyDictionary[InteractiveRun, tuple[int, Tables]] = WeakKeyDictionary()
"""The tables of each run under way, with the number of events they are of. All tabs share them."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What a view gets: the tables and events of the run, the last round to show, and the tab's session."""

    tables: Tables
    round: int
    session: Session
    events: Sequence[Event] = ()


@dataclass(frozen=True)
class Draft:
    """The next run as the form has it: a preset, the settings over it, the limits, and the price of a model on a server.

    `origin` is what the form began with, so that changed fields can be marked; `source` says where that came from. `checked`:
    whether a new model is checked before its first run.
    """

    preset: str
    given: Mapping[str, str]
    origin: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    most_calls: int | None = None
    most_cost: float | None = None
    price: tuple[float, float] | None = None
    paused: bool = False
    checked: bool = True


class Session:
    """One tab. `seen` follows `version` a few times a second; a component that reads `seen` is then drawn again.

    `error` is a line for the reader. `draft` is the form of the next run, which is not the run shown. `person` is the agent
    whose panel is open, as a room and a number. `tab` is the title of the view shown, `room` the room of the conversation, and
    `round` the round at which the reader stopped (-1: the last one).
    """

    def __init__(self) -> None:
        self.seen: solara.Reactive[Any] = solara.reactive(None)
        self.draft: solara.Reactive[Draft | None] = solara.reactive(None)
        self.person: solara.Reactive[Person | None] = solara.reactive(None)
        self.tab, self.room, self.round = solara.reactive(""), solara.reactive(""), solara.reactive(-1)
        self.folder: Path | None = None
        self.loaded: Tables | None = None
        self.error, self.pace = "", 0.0
        self._events: Sequence[Event] = ()
        self._changes = 0

    @property
    def live(self) -> InteractiveRun | None:
        """The run of this server that the tab looks at; None for a run that was loaded from its folder."""
        return registry().get(self.folder) if self.folder and self.loaded is None else None

    @property
    def version(self) -> Any:
        """Something that differs whenever there is something new to show."""
        live = self.live
        return (self._changes, str(self.folder), id(live), live.version if live else 0, live.phase if live else "")

    def open(self, folder: str) -> None:
        """Look at a run: at that of this server if it has one in the folder, else load the folder, read-only."""
        self.look(folder)
        live = self.live
        if self.is_run and (live is None or (not live.events and not live.alive)):
            self._try(self._load)
        self._new()

    def look(self, folder: str, problem: str = "") -> None:
        """Look at a folder of which nothing is loaded. problem: why it is not opened."""
        self.person.set(None)
        self.tab.set("")
        self.room.set("")
        self.round.set(-1)
        self.folder, self.loaded, self._events, self.error = Path(folder), None, (), problem

    @property
    def is_run(self) -> bool:
        """Whether the folder is that of a run: of this server, or with a record."""
        from parley.model.scenario_run import record_of

        folder = self.folder
        return folder is not None and (registry().get(folder) is not None or record_of(folder).is_file())

    def resume(self) -> None:
        """Go on with an unfinished run: every reply that it has is kept, and only the rest is asked."""

        def go_on() -> None:
            assert self.folder
            resume(self.folder)
            self.loaded, self._events = None, ()

        self._try(go_on)

    def play(self, rounds: float = math.inf) -> None:
        """Run to the end, or some rounds."""
        if self.live:
            self.live.pace = self.pace
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

    def stop(self) -> None:
        """Stop the run that is shown. It can be resumed."""
        if self.live:
            self.live.stop()

    def look_at(self, person: Sequence[Any] | None) -> None:
        """Open the panel of an agent, or close it."""
        self.person.set((str(person[0]), int(person[1])) if person else None)

    def interview(self, agent: int, question: str) -> None:
        """Ask an agent of a run under way."""
        self._try(lambda: self._running("cannot answer questions").interview(agent, question))

    def step_in(self, values: Mapping[str, Any]) -> None:
        """Add an intervention before the next round. values: its keys as in a preset, without the round."""
        from parley.model.interventions import parse_intervention

        def add() -> None:
            check_named(values, "the form of this page")
            self._running("cannot be changed").add_intervention(parse_intervention({"round": 1, **values}))

        self._try(add)

    def take_back(self, intervention: Intervention) -> None:
        """Remove an intervention of the page before its round."""
        self._try(lambda: self._running("cannot be changed").take_back(intervention))

    @property
    def interviews(self) -> list[Interview]:
        return self.live.interviews if self.live else []

    @property
    def pending(self) -> list[Interview]:
        """The questions without an answer so far."""
        return self.live.pending if self.live else []

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
        live = self.live
        if live is None:
            return self.loaded
        events = live.events
        if not events:
            return None
        if live not in _read or _read[live][0] != len(events):
            from parley.analysis.tables import tables

            _read[live] = (len(events), tables(events))
        return _read[live][1]

    @property
    def phase(self) -> str:
        """The phase of the run under way; empty where there is none."""
        return self.live.phase if self.live else ""

    def _load(self) -> None:
        from parley.model.scenario_run import record_of

        assert self.folder
        record = record_of(self.folder)
        changed = record.stat().st_mtime_ns if record.is_file() else 0
        self.loaded, self._events = _loaded(record, str(self.folder), changed)

    def _running(self, why: str) -> InteractiveRun:
        if self.live is None:
            raise UserError(f"a run that was loaded from a folder {why}: start a new run, or resume an unfinished run")
        return self.live

    def _try(self, act: Callable[[], object]) -> None:
        """Do it; where that fails, show why."""
        try:
            act()
            self.fail("")
        except UserError as error:
            self.fail(str(error))

    def fail(self, why: str) -> None:
        """Show why the last thing that was wanted did not happen."""
        self.error = why
        self._new()

    def _new(self) -> None:
        self._changes += 1


@lru_cache(maxsize=4)
def _loaded(record: Path, folder: str, changed: int) -> tuple[Tables, Sequence[Event]]:
    """Return the tables and the events of a record; those of the last few stay read. changed: when the record was."""
    from parley.analysis.tables import load, tables
    from parley.model.recorder import read_lines

    if record.is_file() and record.stat().st_size > HELD:
        return load(record), RecordedEvents(record)
    events = list(read_lines(record))
    return tables(events, folder), events


class RecordedEvents(Sequence["Event"]):
    """The events of a long record, which is read again whenever a view goes through them: they would fill the memory."""

    def __init__(self, record: Path):
        self.record = record

    def __iter__(self) -> Iterator[Event]:
        from parley.model.recorder import read_lines

        return read_lines(self.record)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]


def surveyed(tables: Tables) -> bool:
    """Return whether the run has attitudes to draw. (Positions of private deliberations have a view of their own.)"""
    from parley.analysis.deliberation.consensus_report import deliberates

    return tables.header.scenario["survey"] != "never" and bool(tables.groups) and not deliberates(tables)


def rooms(tables: Tables) -> dict[str, str]:
    """Return a title for each room, by its id: its number, then what differs between rooms, so that nothing else can be cut."""
    rows = tables.agents.drop_duplicates("room")
    topics, groups = rows["topic"].nunique() > 1, rows.loc[rows["group"] != REFERENCE, "group"].nunique() > 1
    return {str(row["room"]): _room_title(tables, row, topics, groups) for row in rows.to_dict("records")}


def debates(tables: Tables) -> dict[str, str]:
    """Return the rooms with a debate first, then those in which one agent alone answers the survey."""
    titles = rooms(tables)
    return dict(sorted(titles.items(), key=lambda room: f"/{REFERENCE}" in room[0]))


def _room_title(tables: Tables, row: Mapping[Any, Any], topics: bool, groups: bool) -> str:
    parts = [f"Room {row['repetition'] + 1}"]
    if topics:
        parts.append(tables.title(row["topic"]))
    if row["group"] == REFERENCE:
        parts.append(f"one agent alone ({row['seat']})")
    elif groups:
        from parley.model.titles import group_title

        parts.append(group_title(row["group"], tables.names))
    return ", ".join(parts)
