"""Runs one scenario with a setting, or with none, each in a folder of its own, and measures the outcome in each room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.society import DEFAULT
from parley.analysis.metrics import broken_replies
from parley.analysis.outcomes import RATED, Outcome, find_outcome
from parley.analysis.qualify.before_run import qualified_run
from parley.analysis.tables import Tables, load
from parley.llm.budget import Budget, Ledger
from parley.llm.errors import UserError, unknown_name
from parley.llm.journal import own_usage
from parley.llm.request import Backend
from parley.llm.router import open_all
from parley.model.casting import REFERENCE, RoomSeating, seat_rooms
from parley.model.files import JOURNAL
from parley.model.progress import Progress, bar, summary_line
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

from .audience import Audience, most_of_a_party, people_in
from .space import Objective, Setting, Space

FRESH = {"cast": "fresh"}


@dataclass(frozen=True)
class RoomOutcome:
    """Measures the outcome of an objective in each room of a run."""

    measure: Outcome
    party: str = ""

    def __call__(self, tables: Tables) -> pd.DataFrame:
        """Return a row per room: topic, repetition, group, room, value (NaN: missing), reason."""
        if self.party:
            of_party = {name: _of_party(getattr(tables, name), self.party) for name in RATED}
            tables = replace(tables, **of_party)
        columns = ["topic", "repetition", "group", "room", "value", "reason"]
        return self.measure.measure(tables)[columns]


def _of_party(ratings: pd.DataFrame, party: str) -> pd.DataFrame:
    return ratings[ratings["party"] == party]


def outcome_of(objective: Objective, base: Scenario) -> RoomOutcome:
    """Return the measure of an objective. Errors: UserError where no room of this scenario can have it."""
    measure = find_outcome(objective.outcome)
    measure.check(base)
    if not objective.party:
        return RoomOutcome(measure)
    if measure.source not in RATED:
        raise UserError(
            f"objective: {measure.label} is measured for whole rooms: leave out party, or choose attitudes or "
            "probes.QUESTION"
        )
    party, parties = base.society.seat(objective.party), [name for name in base.parties if name != DEFAULT]
    if party not in parties:
        raise unknown_name("party of objective", objective.party, parties)
    return RoomOutcome(measure, party)


def with_new_people(base: Scenario) -> Scenario:
    """Return the scenario with no one in two rooms, where its personas are enough; else as it is.

    A search tests on people whom it has not met, so of the castings that draw people `fresh` is used in place of `circle`.
    """
    if base.people.cast != "circle":
        return base
    fresh = base.with_settings(FRESH)
    try:
        people = [people_of(rooms) for rooms in _by_repetition(fresh)]
    except UserError:
        return base
    return fresh if len(set().union(*people)) == sum(map(len, people)) else base


def with_people_for_all(base: Scenario, audiences: Sequence[Audience]) -> Scenario:
    """Return the scenario in which each repetition has its own people in every audience, where personas are enough.

    Audiences share the people of a repetition, so that they are compared on the same people, and no one of a new repetition was
    in any audience of the search. Else the scenario is as it is.
    """
    if base.people.cast != "circle":
        return base
    block = most_of_a_party([base.with_settings(dict(audience)) for audience in audiences])
    listed = base.with_settings({"cast": "listed", "block": block})
    seen: dict[tuple[str, ...], int] = {}
    for audience in audiences:
        scenario = listed.with_settings(dict(audience))
        try:
            rooms = _by_repetition(scenario)
        except UserError:
            return base
        for repetition, together in enumerate(rooms):
            for person in people_of(together):
                if seen.setdefault((scenario.people.personas, *person), repetition) != repetition:
                    return base
    return listed


def _by_repetition(scenario: Scenario) -> list[list[RoomSeating]]:
    """Return the rooms that debate, by repetition."""
    rooms: dict[int, list[RoomSeating]] = {}
    for seating in seat_rooms(scenario):
        if seating.group != REFERENCE:
            rooms.setdefault(seating.repetition, []).append(seating)
    return list(rooms.values())


def people_of(rooms: Sequence[RoomSeating]) -> set[tuple[str, str]]:
    """Return party and id of all people in some rooms but Defaults, who have no persona."""
    places = [place.persona for room in rooms for place in room.places]
    return {(person.party, person.id) for person in places if person.party != DEFAULT}


@dataclass(frozen=True)
class Rooms:
    """The rooms of a search, and after them the new ones. searched, new: repetitions."""

    base: Scenario
    searched: int
    new: int

    @cached_property
    def all(self) -> Scenario:
        """The scenario with all of them, without an intervention."""
        return self.base.with_settings({"repetitions": self.searched + self.new, "interventions": ()})

    @cached_property
    def first(self) -> Scenario:
        """The scenario with those of the search alone."""
        return self.all.with_settings({"repetitions": self.searched})

    @cached_property
    def names(self) -> list[tuple[str, ...]]:
        """The names of the new rooms, by repetition."""
        return [tuple([room.room for room in rooms]) for rooms in _by_repetition(self.all)[self.searched :]]

    @cached_property
    def people(self) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
        """The people of the rooms of the search, and those of the new ones: set of personas, party and id."""
        rooms, personas = _by_repetition(self.all), self.base.people.personas
        before, after = (people_of([room for many in persons for room in many])
                         for persons in (rooms[: self.searched], rooms[self.searched :]))  # fmt: skip
        return {(personas, *person) for person in before}, {(personas, *person) for person in after}

    @property
    def met(self) -> tuple[int, int]:
        """How many people of the new rooms sit in rooms of the search too, and how many there are."""
        return count_met([self])

    @cached_property
    def size(self) -> int:
        """How many people are in the rooms of one repetition and topic."""
        return people_in(self.base)

    @cached_property
    def _by_audience(self) -> dict[Audience, Rooms]:
        return {(): self}

    def of(self, audience: Audience) -> Rooms:
        """Return the rooms with an audience. Errors: UserError for one that the scenario cannot have."""
        if audience not in self._by_audience:
            self._by_audience[audience] = replace(self, base=self.base.with_settings(dict(audience)))
        return self._by_audience[audience]

    def with_setting(self, space: Space, setting: Setting) -> Scenario:
        """Return the rooms of the search with a setting."""
        return self.first.with_settings({"interventions": (space.intervention(setting),)})

    def with_new_settings(self, space: Space, settings: Sequence[Setting | None]) -> Scenario:
        """Return all rooms, the new ones with a setting each, by repetition (None: without an intervention)."""
        made: dict[Setting, tuple[str, ...]] = {}
        for setting, names in zip(settings, self.names, strict=True):
            if setting is not None:
                made[setting] = (*made.get(setting, ()), *names)
        acts = tuple([space.intervention(setting, names) for setting, names in made.items()])
        return self.all.with_settings({"interventions": acts})


def count_met(audiences: Sequence[Rooms]) -> tuple[int, int]:
    """Return how many people of the new rooms of all audiences sit in rooms of the search of any, and how many there are."""
    before, after = (set().union(*people) for people in zip(*[rooms.people for rooms in audiences], strict=True))
    return len(before & after), len(after)


@dataclass
class Bench:
    """Runs scenarios in subfolders of a folder, within one budget for all. voices: models of interventions, by voice."""

    folder: Path
    outcome: RoomOutcome
    given: tuple[str, ...]
    budget: Budget
    voices: Mapping[str, str]
    qualify: bool
    way: str | None = None
    header: Any = None
    faults: dict[str, pd.DataFrame] = field(default_factory=dict)
    """What is wrong with replies of runs without an intervention, by the last part of their name: that of new rooms has all."""

    def run(self, name: str, scenario: Scenario, start: str = "") -> pd.DataFrame:
        """Run a scenario, or read it where it is finished; return its rooms as `RoomOutcome`.

        start: the run with whose replies it begins, so that nothing is asked twice. Errors: UserError when the budget is spent;
        the journals keep all replies.
        """
        began = self.folder / start if start else None
        spec = RunSpec(scenario, self.folder / name, self.given, self.budget, ledger=self._ledger, start=began)
        opened: Backend | None = self._models
        if self.qualify:
            spec, opened = qualified_run(spec, bar, opened, self.way)
            self.way = spec.scenario.surveys.asked
        with Progress(spec.scenario, name) as progress:
            outcome = run_scenario(spec, progress.calls, progress.step, opened)
        if not outcome.already:
            print(summary_line(spec.scenario, spec.folder, outcome), flush=True)  # noqa: T201
        if outcome.stopped:
            raise UserError(outcome.stopped)
        tables = load(spec.folder)
        self.header = self.header or tables.header
        if not scenario.interventions:
            self.faults[Path(name).name] = broken_replies.compute(tables)
        return self.outcome(tables)

    @cached_property
    def _models(self) -> Backend:
        return open_all(self.voices[""], {voice: spec for voice, spec in self.voices.items() if voice})

    @cached_property
    def _ledger(self) -> Ledger | None:
        """What all runs of the folder have spent, without what they began with; None where there is no limit."""
        if (self.budget.calls, self.budget.tokens, self.budget.cost) == (None, None, None):
            return None
        ledger = Ledger(self.budget)
        for path in sorted(self.folder.rglob(JOURNAL)):
            calls, used = own_usage(path)
            ledger.spend(calls, sum(map(sum, used.values())), self.budget.money(used))
        return ledger
