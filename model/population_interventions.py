"""Interventions in a population, one class per kind.

Keys and names are those of interventions in debates (model/interventions/): `round` is the step. Each class here is one
kind. Its `act` changes the population, and returns what it did in words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from parley.agents.laws import Codes, Floats
from parley.agents.speech import HEARD
from parley.environments.sparse_links import TABLE, contains, draw_unlinked, hearers, lowest_links, needs_no_table
from parley.llm.errors import UserError
from parley.llm.registry import Registry
from parley.model.interventions import INTERVENTIONS, intervention_spec, parse_interventions
from parley.model.interventions.base import ALL, LinkChange, Scheduled

if TYPE_CHECKING:
    from parley.model.population import PopulationModel

KINDS = Registry("intervention", __name__, "parley.population_interventions", ("act", "chosen"), frozen=True)
MOST_LINES = 100


class WithoutWords:
    """The kinds of a population, for `parse_interventions`."""

    @staticmethod
    def find(name: str) -> Any:
        """Return the class of a kind. Errors: UserError, for a kind of debates with the reason."""
        if name not in KINDS and name in INTERVENTIONS.names():
            why = INTERVENTIONS.find(name).wordless
            raise UserError(f"{name} is not possible in a population, because {why}")
        return KINDS.find(name)


class Happened(NamedTuple):
    """An intervention that happened: before which step, its place in the list (from 1), kind, how many people it reached,
    what it did, its text, and how it is written on a command line.
    """

    step: int
    number: int
    kind: str
    people: int
    effect: str
    text: str
    spec: str


@dataclass(frozen=True, kw_only=True)
class PopulationIntervention(Scheduled, ABC):
    """The base class: something happens to people of a population before a step.

    round  the step before which it happens, from 1
    to     parties, or names of nodes of the user's graph (default: all people)
    share  the share of these people, drawn from the seed, kind, round and `to`
    every  0: once. n: again after every n steps, to the same people
    """

    def check(self, population: PopulationModel) -> None:
        """Errors: UserError if it does not suit the population."""
        population.addressed(tuple([name for name in self.whom() if name != ALL]))

    @abstractmethod
    def act(self, population: PopulationModel, people: Codes) -> str:
        """Change the population, and return what was done in words ("" if the kind says it). people: whom it reaches."""

    def chosen(self, population: PopulationModel) -> Codes:
        """Return the people whom it reaches, in order."""
        addressed = population.addressed(self.to)
        if self.share == 1:
            return addressed
        draws = population.draws(HEARD, self.kind, self.round, *self.to)
        number = min(int(self.share * len(addressed) + draws.random()), len(addressed))
        return np.sort(draws.choice(addressed, number, replace=False))


@dataclass(frozen=True, kw_only=True)
class Message(PopulationIntervention):
    """A line from outside that argues for an attitude. It moves its hearers in the step as a person with this attitude
    whom they hear would, under the law of the population. It is heard in addition to the feed.

    value  the attitude, 0-10; in several dimensions one for all of them, or one for each
    lines  how many such lines there are (1)
    by     the name of the speaker, for the report
    text   what is said, for the report and the figure
    """

    value: tuple[float, ...]
    lines: int = 1
    by: str = ""
    text: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.value or not all(0 <= value <= 10 for value in self.value):
            raise UserError(f"message: value is {_listed(self.value)}, but must be an attitude between 0 and 10")
        if not 1 <= self.lines <= MOST_LINES:
            raise UserError(f"message: lines is {self.lines}, but must be between 1 and {MOST_LINES}")

    def grades(self, dimensions: int) -> Floats:
        """Return (lines, d) what the lines say. Errors: UserError for another number of dimensions."""
        return np.tile(_by_dimension(self.kind, "value", self.value, dimensions), (self.lines, 1))

    def act(self, population: PopulationModel, people: Codes) -> str:
        assert population.outside is not None
        population.outside.say(self, people)
        return f"{_listed(self.value)}" + (f", {self.lines} lines" if self.lines > 1 else "")


@dataclass(frozen=True, kw_only=True)
class Shock(PopulationIntervention):
    """Opinions move at once, by the same number of points, within 0 and 10. Stubborn people do not move.

    shift  points; in several dimensions one for all of them, or one for each. Discrete opinions go to a state, at random
    text   what happened, for the report and the figure
    """

    shift: tuple[float, ...]
    text: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.shift or not all(-10 <= shift <= 10 for shift in self.shift):
            raise UserError(f"shock: shift is {_listed(self.shift)}, but must be between -10 and 10 points")

    def check(self, population: PopulationModel) -> None:
        super().check(population)
        _by_dimension(self.kind, "shift", self.shift, population.dimensions)

    def act(self, population: PopulationModel, people: Codes) -> str:
        shift = _by_dimension(self.kind, "shift", self.shift, population.dimensions)
        population.shift(people, shift if population.dimensions > 1 else shift[0])
        return ", ".join(f"{shift:+g}" for shift in self.shift)


@dataclass(frozen=True, kw_only=True)
class _Switch(PopulationIntervention):
    """An intervention that sets a flag of people."""

    reaches_absent = True
    SETS: ClassVar[tuple[str, bool]]

    def act(self, population: PopulationModel, people: Codes) -> str:
        flag, value = self.SETS
        population.network.set_flag(flag, people, value)
        return ""


@dataclass(frozen=True, kw_only=True)
class Mute(_Switch):
    """From this step on no one reads these people. They read others, but have no meetings in a law where both move."""

    SETS = ("muted", True)


@dataclass(frozen=True, kw_only=True)
class Unmute(_Switch):
    """Muted people are read again."""

    SETS = ("muted", False)


@dataclass(frozen=True, kw_only=True)
class Join(_Switch):
    """These people come in; until then they are absent, from the start or since they left."""

    SETS = ("absent", False)


@dataclass(frozen=True, kw_only=True)
class Leave(_Switch):
    """These people are absent from this step on: they hear no one, no one reads them, and their opinion is missing."""

    SETS = ("absent", True)


@dataclass(frozen=True, kw_only=True)
class Links(LinkChange, PopulationIntervention):
    """People stop hearing others, or begin to hear them. Nothing is said to them."""

    def check(self, population: PopulationModel) -> None:
        super().check(population)
        people, others = (len(population.addressed(names)) for names in (self.to, self.hear))
        if self.change == "add" and people * others > TABLE and not needs_no_table(others, self.number):
            raise UserError(
                f"links: too many pairs of {people:,} people and {others:,} others: set fewer links (number=K)"
            )

    def act(self, population: PopulationModel, people: Codes) -> str:
        draws = population.draws(HEARD, self.kind, self.change, population.round + 1, *self.to, *self.hear)
        others = population.addressed(self.hear)
        pairs = (self._removed if self.change == "remove" else self._added)(population, people, others, draws)
        population.network.change(self.change, *pairs)
        return f"{self.change} {len(pairs[0]):,}"

    def _removed(
        self, population: PopulationModel, people: Codes, others: Codes, draws: np.random.Generator
    ) -> tuple[Codes, Codes]:
        """Return the links that vanish: hearers and whom they hear."""
        graph = population.graph
        rows, size = hearers(graph), graph.shape[0]
        chosen = _flags(size, people)[rows] & _flags(size, others)[graph.indices]
        if self.number:
            ranks = np.where(chosen, draws.random(graph.nnz), 1 + draws.random(graph.nnz))
            chosen &= lowest_links(graph, ranks, self.number)
        sources, targets = rows[chosen], graph.indices[chosen].astype(np.int64)
        return self._with_reverse(sources, targets, contains(graph, targets, sources), size)

    def _added(
        self, population: PopulationModel, people: Codes, others: Codes, draws: np.random.Generator
    ) -> tuple[Codes, Codes]:
        """Return the links that appear: hearers and whom they will hear."""
        graph = population.graph
        sources, targets = draw_unlinked(graph, people, others, self.number, draws)
        return self._with_reverse(sources, targets, ~contains(graph, targets, sources), graph.shape[0])

    def _with_reverse(self, sources: Codes, targets: Codes, possible: Any, size: int) -> tuple[Codes, Codes]:
        """Return the pairs, with `both` also those in the other direction where possible; each pair once."""
        if not self.both:
            return sources, targets
        reverse = targets[possible] * size + sources[possible]
        pairs = np.union1d(sources * size + targets, reverse)
        return pairs // size, pairs % size


def parse_population_interventions(given: str | Iterable[Any], steps: int) -> tuple[PopulationIntervention, ...]:
    """Read interventions of a population. Errors: UserError, also for one after the last step."""
    interventions: tuple[PopulationIntervention, ...] = parse_interventions(given, WithoutWords)
    for intervention in interventions:
        if not isinstance(intervention, PopulationIntervention):
            WithoutWords.find(intervention.kind)
            raise UserError(
                f"{intervention.kind}: an intervention of debates does not work in a population: write the "
                "intervention as text"
            )
        if intervention.round > steps:
            raise UserError(f"{intervention.kind}: round={intervention.round} comes after the last step, {steps}")
    return interventions


def absent_first(interventions: Sequence[PopulationIntervention], population: PopulationModel) -> Codes:
    """Return the people whose first intervention of presence is a join: they are absent from the start."""
    is_decided = np.zeros(len(population.codes), dtype=np.bool_)
    absent = is_decided.copy()
    for intervention in sorted(interventions, key=lambda intervention: intervention.round):
        if isinstance(intervention, Join | Leave):
            people = intervention.chosen(population)
            absent[people[~is_decided[people]]] = isinstance(intervention, Join)
            is_decided[people] = True
    return np.flatnonzero(absent)


def happened(intervention: PopulationIntervention, number: int, step: int, people: Codes, effect: str) -> Happened:
    """Return the row of an intervention that reached these people."""
    return Happened(
        step,
        number,
        intervention.kind,
        len(people),
        effect,
        getattr(intervention, "text", ""),
        intervention_spec(intervention),
    )


def _by_dimension(kind: str, key: str, values: tuple[float, ...], dimensions: int) -> Floats:
    """Return (d,) values. Errors: UserError unless there is one, or one for each dimension."""
    if len(values) not in (1, dimensions):
        raise UserError(
            f"{kind}: {key} has {len(values)} numbers, but agents have {dimensions} opinions: give one number, or "
            "one number for each opinion"
        )
    return np.broadcast_to(np.array(values), (dimensions,))


def _flags(size: int, people: Codes) -> Any:
    flags = np.zeros(size, dtype=np.bool_)
    flags[people] = True
    return flags


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)
