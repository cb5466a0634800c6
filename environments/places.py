"""places: the same people meet in several places, at once or one after another.

Options
    topology  the places: "rooms + network" at once, "rooms > network" in two stages, one after the other
    parties   the parties of the people, in turn (first, second: the two debaters of the society)
    size      how many people there are (20)

The kinds of places and their options are in environments/place_kinds.py: rooms, echo, mediated, network, medium. The fields of a
stage are in brackets behind its places: "rooms [rounds=2, topic=racism] > echo [rounds=1]". A preset may have a table [[stage]]
with `topology` and these fields for each stage instead; Python takes a list of such tables.

  - rounds: the rounds of the stage (0: stages share what is left of the scenario's rounds)
  - topic: the only topic that is debated in it (none: all topics of the scenario)
  - away: the share of people who miss it, drawn for each stage; they come back afterwards (0)
  - carry: what people remember of the stages before it: all, none, or (swapped) what another person of their party
  remembers: a control that shows whether it matters who lived through them (all)

In a round, the places of a stage come one after another, in their order; all tables of a place debate at the same time.
Who sits at two tables hears both, and carries what it heard from one to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Literal, NamedTuple

from parley.environments.base import Group, Room, Turn, counted, in_range, seats_in_turn
from parley.environments.place_kinds import FEWEST, PLACES, Place
from parley.environments.topologies import ALSO, split_outside, stage_tables
from parley.llm.registry import UserError, as_fields


@dataclass(frozen=True)
class Stage:
    """One stage: its places, for some rounds. The fields are explained at the top of this file."""

    topology: str = "rooms"
    rounds: int = 0
    topic: str = ""
    away: float = 0.0
    carry: Literal["all", "none", "swapped"] = "all"

    def __post_init__(self) -> None:
        in_range(0, 1e6, rounds=self.rounds)
        in_range(0, 0.95, away=self.away)
        if len(self.linked) > 1:
            raise ValueError(f"a stage can have one network or medium, not {' and '.join(self.linked)}")

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Its places, in their order. Errors: UserError."""
        return tuple([PLACES.get(spec.strip()) for spec in split_outside(self.topology, ALSO)])

    @property
    def linked(self) -> list[str]:
        """The kinds of its places in which links decide who hears whom."""
        return [place.kind for place in self.places if place.kind in ("network", "medium")]


MOST = 1e6
"""The most people."""


class Span(NamedTuple):
    """A stage with its first and its last round, on the clock of the run (from 1)."""

    number: int
    stage: Stage
    first: int
    last: int


def parse_stages(text: str) -> tuple[Stage, ...]:
    """Return the stages of a topology. Errors: UserError that names the place, the stage or the option."""
    return tuple([_make_stage(table) for table in stage_tables(text)])


def _make_stage(table: Mapping[str, str]) -> Stage:
    try:
        return Stage(**as_fields(Stage, table))
    except ValueError as error:
        raise UserError(f"stage {table['topology']}: {error}") from error


@dataclass(frozen=True)
class Places:
    """People who meet in several places; options: see the top of this file."""

    topology: str = "rooms,size=20"
    parties: tuple[str, ...] = ("first", "second")
    size: int = 20

    def __post_init__(self) -> None:
        if not self.parties:
            raise ValueError("parties must name at least one party")
        in_range(0, MOST, size=self.size)
        if self.size < max(2, len(set(self.parties))):
            raise ValueError(
                f"size must be at least {max(2, len(set(self.parties)))}: two agents, and at least one of each party"
            )
        for number, stage in enumerate(self.stages, 1):
            present = self.size - round(stage.away * self.size)
            if present < FEWEST:
                raise ValueError(
                    f"with away={stage.away:g}, stage {number} has no one left who talks: set a smaller share"
                )
            for place in stage.places:
                self._check_place(number, place, present)

    def groups(self) -> tuple[Group, ...]:
        seats = seats_in_turn(self.parties, self.size)
        return (Group(counted(seats), seats),)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        """Yield the turns of the first place as if all sat together there; model/places_round.py plays the places."""
        place = self.stages[0].places[0]
        return place.environment(seats_in_turn(self.parties, len(room.seated))).turns(room, round_)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages, in their order."""
        return parse_stages(self.topology)

    @property
    def places(self) -> tuple[Place, ...]:
        """The places of all stages."""
        return tuple([place for stage in self.stages for place in stage.places])

    def _any(self, trait: str) -> bool:
        """Return whether the environment of any place has this trait."""
        return any(getattr(place.environment(self._sample(place)), trait, False) for place in self.places)

    def _check_place(self, stage: int, place: Place, present: int) -> None:
        """Errors: ValueError where so few people cannot meet in this way."""
        try:
            place.environment(self._sample(place, present))
        except ValueError as error:
            raise ValueError(f"{place.kind} in stage {stage}: {error}, in the topology") from error

    def _sample(self, place: Place, present: int = 0) -> tuple[str, ...]:
        """Return the parties of the people at the smallest table of a place. present: how many people are there (0: all)."""
        everybody = seats_in_turn(self.parties, present or self.size)
        parties = dict(enumerate([party for party in everybody if not place.who or party in place.who] or everybody))
        tables = seated(place, parties, (), Random(0))
        return tuple([parties[person] for person in min(tables, key=len)])

    @property
    def by_attitude(self) -> bool:
        """Whether attitudes decide anything, so that there must be a survey after every round."""
        return self._any("by_attitude")

    @property
    def mediated(self) -> bool:
        """Whether people deliberate with a mediator in any stage."""
        return any(place.kind == "mediated" for place in self.places)

    @property
    def varies(self) -> bool:
        """Whether chance decides how many speak in a round."""
        return self._any("varies")

    def plan(self, rounds: int) -> tuple[Span, ...]:
        """Return the stages on a clock of so many rounds; stages without rounds share what the others leave.

        With fewer rounds than the stages have, the run ends before the last of them. Errors: ValueError for more rounds.
        """
        open_stages = sum(not stage.rounds for stage in self.stages)
        left = rounds - sum(stage.rounds for stage in self.stages)
        if left > 0 and not open_stages:
            raise ValueError(f"the stages have {rounds - left} rounds in all: set rounds={rounds - left}")
        left = max(left, open_stages)
        shares = iter([left // open_stages + (place < left % open_stages) for place in range(open_stages)])
        spans, last = list[Span](), 0
        for number, stage in enumerate(self.stages, 1):
            first, last = last + 1, last + (stage.rounds or next(shares))
            spans.append(Span(number, stage, first, min(last, rounds)))
        return tuple([span for span in spans if span.first <= max(rounds, 1)])

    def _rounds_of_topics(self, scenario: Any) -> list[list[Stage]]:
        """Return the stage of each round of each topic."""
        spans = self.plan(scenario.rounds)
        return [[span.stage for span in spans if span.stage.topic in ("", topic) for _ in range(span.first, span.last + 1)]
                for topic in scenario.subject.topic]  # fmt: skip

    def problems(self, scenario: Any) -> Iterator[str]:
        """Yield what does not fit together in a scenario, and what to set."""
        try:
            self.plan(scenario.rounds)
        except ValueError as error:
            yield str(error)
            return
        if len(scenario.subject.topic) > 1 and len({bool(stage.topic) for stage in self.stages}) > 1:
            yield "people debate one topic after another, or all at once: give every stage a topic, or none of them"
        for stage in self.stages:
            if stage.topic and stage.topic not in scenario.subject.topic:
                yield f"a stage is about {stage.topic}, and the topics are {', '.join(scenario.subject.topic)}: name it in topic"
        rounds = self._rounds_of_topics(scenario)
        longest = max(map(len, rounds))
        for intervention in scenario.interventions:
            if longest < intervention.round <= scenario.rounds:
                yield (f"{intervention.kind} before round {intervention.round} is too late: rounds are counted within a topic, "
                       f"and no topic has more than {longest}")  # fmt: skip
            then = [stages[intervention.round - 1] for stages in rounds if intervention.round <= len(stages)]
            if intervention.networked and then and not any(stage.linked for stage in then):
                yield (f"{intervention.kind} before round {intervention.round} changes links, and then people are in "
                       f"{then[0].topology}, which has none: choose a round of a stage with a network or medium")  # fmt: skip
        for party in [party for place in self.places for party in place.who]:
            if scenario.society.seat(party) not in self.parties:
                yield f"who={party}: these people are of {', '.join(self.parties)}: name one of these parties"
        if scenario.speech.format != "free":
            yield "a structured debate has opening and closing statements, and places have none: set format=free"
        if scenario.people.sides != "own":
            yield "people in several places argue for their own opinion: set sides=own"


def seated(place: Place, parties: Mapping[int, str], who: Sequence[str], draw: Random) -> list[tuple[int, ...]]:
    """Return who sits together at a place: first who takes part, then who sits with whom, from one stream of random numbers.

    parties: that of each person, in seat order. who: the parties that take part; none: all.
    """
    return place.seat_people(place.participants(parties, who, draw), draw)
