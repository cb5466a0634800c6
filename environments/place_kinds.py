"""Kinds of places, a class each; `topology=rooms,size=4 + network` chooses two (environments/places.py).

A place says who sits together, and which environment decides who hears whom there. Two options are common to all:

    who    the parties that take part (none: all)
    share  the share of these people that takes part, drawn at the beginning of a stage (1)

The other fields of a class are its own options.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import Annotated, Any, Literal

from parley.agents.act_names import ACTS, Act
from parley.environments.activation import ACTIVATION
from parley.environments.base import Environment, Order, in_range
from parley.environments.graphs import GRAPHS
from parley.environments.mediated import Mediated as MediatedGroup
from parley.environments.network import Network as LinkedNetwork
from parley.environments.platform import Platform
from parley.environments.recommenders import RECOMMENDERS
from parley.environments.rewiring import REWIRING
from parley.environments.round_table import RoundTable
from parley.environments.rules import RULES
from parley.llm.registry import Registry, name_of

PLACES = Registry("place", __name__, "parley.places", ("seat_people", "environment"))
FEWEST = 2
"""How many people a share of a place has at least, if there are as many."""
Seated = list[tuple[int, ...]]
"""Who sits together: the people of each table, in seat order."""


@dataclass(frozen=True)
class Place(ABC):
    """The base class of kinds of places."""

    who: tuple[str, ...] = ()
    share: float = 1.0

    def __post_init__(self) -> None:
        in_range(0, 1, share=self.share)
        if not self.share:
            raise ValueError("share is 0, so nobody is in this place: leave the place out")

    @property
    def kind(self) -> str:
        """Its name in a topology."""
        return name_of(type(self))

    @abstractmethod
    def environment(self, parties: Sequence[str]) -> Environment:
        """Return who hears whom at a table of people of these parties."""

    @abstractmethod
    def seat_people(self, parties: Mapping[int, str], rng: Random) -> Seated:
        """Return who sits together. parties: that of each person who takes part, in seat order."""

    def participants(self, parties: Mapping[int, str], who: Sequence[str], rng: Random) -> dict[int, str]:
        """Return the people of these parties (none: of all) who take part, with their parties, in seat order."""
        invited = [person for person, party in parties.items() if not who or party in who]
        if self.share < 1:
            number = max(min(FEWEST, len(invited)), round(self.share * len(invited)))
            drawn = set(rng.sample(invited, number))
            invited = [person for person in invited if person in drawn]
        return {person: parties[person] for person in invited}

    def _options(self) -> dict[str, Any]:
        """Return its own options by name."""
        common = {option.name for option in fields(Place)}
        return {option.name: getattr(self, option.name) for option in fields(self) if option.name not in common}


@dataclass(frozen=True)
class Rooms(Place):
    """Round tables of `size` people or some more; everyone at a table speaks once a round, and all others there hear it.

    seating: who sits together. mixed (each table has its share of every party), party (people of one party), random
    order: as for the environment round_table
    """

    size: int = 5
    seating: Literal["mixed", "party", "random"] = "mixed"
    order: Order = "random_first"

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range(FEWEST, 1e6, size=self.size)

    def environment(self, parties: Sequence[str]) -> RoundTable:
        return RoundTable(tuple(parties), self.order)

    def seat_people(self, parties: Mapping[int, str], rng: Random) -> Seated:
        return dealt(parties, self.size, self.seating, rng)


@dataclass(frozen=True)
class Echo(Rooms):
    """Rooms in which people of one party are among themselves."""

    seating: Literal["mixed", "party", "random"] = "party"


@dataclass(frozen=True)
class Mediated(Place):
    """Groups of `size` people or some more who deliberate in private, each with a mediator. seating: as in rooms."""

    size: int = 5
    seating: Literal["mixed", "party", "random"] = "mixed"

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range(FEWEST, 1e6, size=self.size)

    def environment(self, parties: Sequence[str]) -> MediatedGroup:
        return MediatedGroup(tuple(dict.fromkeys(parties)), len(parties))

    def seat_people(self, parties: Mapping[int, str], rng: Random) -> Seated:
        return dealt(parties, self.size, self.seating, rng)


class OfAll(Place):
    """The base class of places in which all who take part are together."""

    def seat_people(self, parties: Mapping[int, str], rng: Random) -> Seated:
        return [tuple(parties)] if parties else []


@dataclass(frozen=True)
class Network(OfAll):
    """One network of all who take part; its options are those of the environment network."""

    graph: Annotated[str, GRAPHS] = "small_world,degree=6"
    rule: Annotated[str, RULES] = "neighbours"
    activation: Annotated[str, ACTIVATION] = "every"
    rewiring: Annotated[str, REWIRING] = "none"
    timing: Literal["simultaneous", "sequential"] = "simultaneous"
    order: Order = "reshuffled"

    def environment(self, parties: Sequence[str]) -> LinkedNetwork:
        return LinkedNetwork(tuple(dict.fromkeys(parties)), len(parties), **self._options())


@dataclass(frozen=True)
class Medium(OfAll):
    """One social medium of all who take part; its options are those of the environment platform."""

    graph: Annotated[str, GRAPHS] = "small_world,degree=6"
    recommender: Annotated[str, RECOMMENDERS] = "hot"
    reach: Literal["followed", "all"] = "followed"
    length: int = 5
    lasting: int = 3
    pool: int = 200
    acts: tuple[Act, ...] = tuple(ACTS)
    activation: Annotated[str, ACTIVATION] = "every"
    order: Order = "reshuffled"

    def environment(self, parties: Sequence[str]) -> Platform:
        return Platform(tuple(dict.fromkeys(parties)), len(parties), **self._options())


def dealt(parties: Mapping[int, str], size: int, seating: str, rng: Random) -> Seated:
    """Deal people onto tables of `size` or some more, whose sizes differ by one at most (with `party`: within each party).

    >>> dealt({1: "red", 2: "red", 3: "blue", 4: "blue"}, 2, "party", Random(1))
    [(1, 2), (3, 4)]
    """
    of_party: dict[str, list[int]] = {}
    for person, party in parties.items():
        of_party.setdefault("" if seating == "random" else party, []).append(person)
    shuffled = [rng.sample(people, len(people)) for people in of_party.values()]
    decks = shuffled if seating == "party" else [[person for people in shuffled for person in people]]
    place_of = {person: place for place, person in enumerate(parties)}
    tables: Seated = []
    for deck in decks:
        count = max(1, len(deck) // size)
        tables += (
            [tuple(sorted(deck[first::count], key=place_of.__getitem__)) for first in range(count)] if deck else []
        )
    return tables
