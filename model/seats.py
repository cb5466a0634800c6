"""The agents of a model: who debates or deliberates, with its place there, for AgentSet selections and reporters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import mesa

from parley.agents.debater import Debater, Member
from parley.agents.mediator import Chair
from parley.agents.mediators import open_mediator
from parley.agents.neighbour import Neighbour
from parley.agents.participant import Participant
from parley.agents.persona import Persona, demographics, genders, introduced
from parley.agents.standin import StandIn
from parley.agents.topic import Probe
from parley.environments.base import Networked
from parley.llm.backends.oracle.banks import topics
from parley.llm.errors import UserError, unknown
from parley.model.scenario import MEDIATOR
from parley.model.seating import REFERENCE, Place, Table
from parley.model.standing_in import file_of

if TYPE_CHECKING:
    from parley.model.debate import DebateModel


AgentClass = type[Member] | Mapping[str, type[Member]] | None
"""One for everybody, or by party."""


class _Counters(WeakKeyDictionary):
    """Agent numbers per model without keeping the model alive (mesa 3.3 keeps every model that ever had agents)."""

    def __getitem__(self, model: mesa.Model) -> Iterator[int]:
        if model not in self:
            self[model] = itertools.count(1)
        counter: Iterator[int] = super().__getitem__(model)
        return counter


class Placed(Member):
    """A member with its place in the model."""

    _ids = _Counters()

    def take(self, table: Table, number: int) -> None:
        """Note where it sits."""
        place = table.places[number]
        self.room, self.group, self.seat, self.party = table.room, table.group, place.seat, place.persona.party
        self.endow(self.model.characters(place, table.repetition))

    def kind(self, probe: Probe) -> str:
        """Its kind, among those of its group, if answers are shared: company matters. Further probes are asked of everybody."""
        setup = self.model.setup
        kind = super().kind(probe) if setup.archetypes and probe.name == setup.probe else ""
        return f"{self.group}|{kind}" if kind else ""

    @property
    def attitude(self) -> float | None:
        """The last rating on the topic's 0-10 axis, or None when there is none."""
        rating = self.ratings.get(self.model.setup.probe)
        return rating.attitude if rating else None


class Seat(Placed, Debater):
    """A seat at a table where everybody hears everybody."""

    def __init__(self, model: DebateModel, table: Table, number: int):
        place, setup = table.places[number], model.setup
        others = [other for other in table.present if other.name != place.persona.name]
        names, told = [other.name for other in others], _told(others, setup.disclose, setup.introduce)
        topic, speaks = setup.subject(table.topic), _speaks(model, place)
        super().__init__(model, place.persona, place.persona.name, topic, names, model.manner, *speaks, told)
        self.take(table, number)


class NetworkSeat(Placed, Neighbour):
    """A seat in a network, which knows those whom it hears."""

    def __init__(self, model: DebateModel, table: Table, number: int):
        place, setup, links = table.places[number], model.setup, table.links
        assert links is not None
        heard = [table.places[other].persona for other in links.hears[number]]
        told = _told(heard, setup.disclose, setup.introduce)
        topic, speaks = setup.subject(table.topic), _speaks(model, place)
        who = [one.name for one in heard], len(table.places), cast(Networked, model.environment).changing
        super().__init__(model, place.persona, place.persona.name, topic, *who, model.manner, *speaks, told)
        self.take(table, number)


class PrivateSeat(Placed, Participant):
    """A seat in a group that deliberates in private."""

    def __init__(self, model: DebateModel, table: Table, number: int):
        place, topic = table.places[number], model.setup.subject(table.topic)
        people, speaks = len(table.places), _speaks(model, place)
        super().__init__(model, place.persona, place.persona.name, topic, people, model.manner, *speaks)
        self.take(table, number)


class StoodIn(Placed, StandIn):
    """A seat that a surrogate holds."""

    def __init__(self, model: DebateModel, table: Table, number: int):
        place, setup = table.places[number], model.setup
        topic, persona = setup.subject(table.topic), place.persona
        response = model.responses[_surrogate(model, place), persona.party, table.topic]
        grade = partial(_graded, topic.slug) if response.graded else partial(model.stood, table.room)
        super().__init__(model, persona, topic, model.manner, response, grade, setup.probe)
        self.take(table, number)


def _graded(topic: str, name: str, text: str) -> float | None:
    """The grade of a line by the oracle's sentences."""
    return topics()[topic].grade(text)


def seat(model: DebateModel, table: Table, number: int) -> Placed:
    """The agent of a place."""
    place = table.places[number]
    if table.group != REFERENCE and _surrogate(model, place):
        return StoodIn(model, table, number)
    kind: Any = PrivateSeat if table.mediated else NetworkSeat if table.links else Seat
    own = model.agent_classes.get(place.persona.party)
    placed: Placed = (_combined(own, kind) if own else kind)(model, table, number)
    return placed


@cache
def _combined(own: type[Member], kind: type[Placed]) -> type[Any]:
    """An agent of one's own in a seat of this kind: what it defines comes first."""
    return type(own.__name__, (own, kind), {})


def agent_classes(given: AgentClass, parties: Iterable[str]) -> dict[str, type[Member]]:
    """The agent's class of each party that has one of its own. Errors: UserError on another party, or what is no agent."""
    known = list(dict.fromkeys(parties))
    own = dict(given) if isinstance(given, Mapping) else dict.fromkeys(known, given) if given else {}
    for party, kind in own.items():
        if party not in known:
            raise unknown("party of agent_class", party, known)
        if not (isinstance(kind, type) and issubclass(kind, Member)):
            raise UserError(f"agent_class of {party} must be a class made from parley.Agent, not {kind!r}")
    return own


def _surrogate(model: DebateModel, place: Place) -> str:
    """The file of the surrogate that holds a place; "" where a model is asked."""
    return file_of(model.stand_ins, model.voices, place.seat, place.persona.party)


def _told(others: Sequence[Persona], disclose: str, introduce: str) -> str:
    """What somebody is told of the others."""
    facts = {"gender": genders, "demographics": demographics}
    told = [facts[disclose](others)] if disclose in facts else []
    return " ".join(filter(None, [*told, introduced(others, introduce) if introduce != "nothing" else ""]))


def chair(model: DebateModel, table: Table, members: list[int]) -> Chair | None:
    """The mediator of a room, where it has one."""
    if not table.mediated:
        return None
    policy, question = open_mediator(model.setup.mediator), model.setup.question(table.topic)
    adapter, voice = (MEDIATOR if MEDIATOR in known else "" for known in (model.adapters, model.voices))
    return Chair(policy, question, members, model.manner.sampling, model.adapters.get(adapter, ""), voice)


def _speaks(model: DebateModel, place: Place) -> tuple[str, str]:
    """The adapter and the voice that somebody speaks through."""
    adapter, voice = (_own(known, place) for known in (model.adapters, model.voices))
    return model.adapters.get(adapter, ""), voice


def _own(known: Mapping[str, str], place: Place) -> str:
    """Under which name, its seat's or its party's, something is kept for a place; "" where nothing is."""
    return next((name for name in (place.seat, place.persona.party) if name in known), "")
