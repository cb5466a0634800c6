"""Makes the agents of a model: who debates or deliberates, in which class and at which place, and who has a representative.

Representatives write in the last episode of a session. In those before it every participant writes for itself: that is what a
representative may know, so that none learns from what a representative wrote.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import mesa

from parley.agents.agent import DebateAgent, Debater
from parley.agents.mediators import open_mediator
from parley.agents.mediators.base import MediatorAgent
from parley.agents.network_agent import NetworkDebater
from parley.agents.participant import Participant
from parley.agents.persona import Persona, demographics, genders, introduction
from parley.agents.representative import ProxySeat
from parley.agents.surrogate_agent import SurrogateAgent
from parley.agents.topic import Probe
from parley.environments.base import Networked
from parley.llm.backends.oracle.phrases import topics
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream
from parley.model.casting import REFERENCE, RoomSeating, SeatPlace
from parley.model.scenario import MEDIATOR, REPRESENTATIVE, Scenario
from parley.model.surrogate_seats import surrogate_for

if TYPE_CHECKING:
    from parley.model.debate import DebateModel
    from parley.model.room import RoomState


AgentClass = type[DebateAgent] | Mapping[str, type[DebateAgent]] | None
"""One for everybody, or by party."""


def make_agent(model: DebateModel, seating: RoomSeating, number: int) -> SeatedAgent:
    """The agent of a place."""
    place = seating.places[number]
    if seating.group != REFERENCE and _surrogate(model, place):
        return SurrogateSeat(model, seating, number)
    kind: Any = PrivateSeat if seating.mediated else NetworkSeat if seating.links else DebateSeat
    own = model.agent_classes.get(place.persona.party)
    placed: SeatedAgent = (_combined(own, kind) if own else kind)(model, seating, number)
    return placed


def make_mediator(model: DebateModel, seating: RoomSeating, members: list[int]) -> MediatorAgent | None:
    """The mediator of a room, where it has one."""
    if not seating.mediated:
        return None
    policy, question = open_mediator(model.setup.speech.mediator), model.setup.subject.question(seating.topic)
    adapter, voice = (MEDIATOR if MEDIATOR in known else "" for known in (model.adapters, model.voices))
    return MediatorAgent(policy, question, members, model.style.sampling, model.adapters.get(adapter, ""), voice)


class _Counters(WeakKeyDictionary):
    """Agent numbers per model without keeping the model alive (mesa 3.3 keeps every model that ever had agents)."""

    def __getitem__(self, model: mesa.Model) -> Iterator[int]:
        if model not in self:
            self[model] = itertools.count(1)
        counter: Iterator[int] = super().__getitem__(model)
        return counter


class SeatedAgent(DebateAgent):
    """A member with its place in the model."""

    _ids = _Counters()

    def assign_seat(self, seating: RoomSeating, number: int) -> None:
        """Note the place of the agent, and assign the traits of that place."""
        place = seating.places[number]
        self.room, self.group, self.seat, self.party = seating.room, seating.group, place.seat, place.persona.party
        self.assign_traits(self.model.setup.trait_assignment.of(place, seating.repetition))

    def kind(self, probe: Probe) -> str:
        """Its kind, among those of its group, if answers are shared: company matters. Further probes are asked of everybody."""
        setup = self.model.setup
        kind = super().kind(probe) if setup.people.archetypes and probe.name == setup.surveys.probe else ""
        return f"{self.group}|{kind}" if kind else ""

    @property
    def attitude(self) -> float | None:
        """The last rating on the topic's 0-10 axis, or None when there is none."""
        rating = self.ratings.get(self.model.setup.surveys.probe)
        return rating.attitude if rating else None


class DebateSeat(SeatedAgent, Debater):
    """A seat at a table where everybody hears everybody."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, setup = seating.places[number], model.setup
        others = [other for other in seating.present if other.name != place.persona.name]
        names, told = (
            [other.name for other in others],
            _describe_others(others, setup.people.disclose, setup.people.introduce),
        )
        topic, speaks = setup.subject.topic(seating.topic), _speaks(model, place)
        super().__init__(model, place.persona, topic, names, model.style, *speaks, told)
        self.assign_seat(seating, number)


class NetworkSeat(SeatedAgent, NetworkDebater):
    """A seat in a network, which knows those whom it hears."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, setup, links = seating.places[number], model.setup, seating.links
        assert links is not None
        heard = [seating.places[other].persona for other in links.hears[number]]
        told = _describe_others(heard, setup.people.disclose, setup.people.introduce)
        topic, speaks = setup.subject.topic(seating.topic), _speaks(model, place)
        who = [one.name for one in heard], len(seating.places), cast(Networked, model.environment).changing
        super().__init__(model, place.persona, topic, *who, model.style, *speaks, told)
        self.assign_seat(seating, number)


class PrivateSeat(SeatedAgent, Participant):
    """A seat in a group that deliberates in private."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seating.places[number], model.setup.subject.topic(seating.topic)
        people, speaks = len(seating.places), _speaks(model, place)
        super().__init__(model, place.persona, topic, people, model.style, *speaks)
        self.assign_seat(seating, number)


class SurrogateSeat(SeatedAgent, SurrogateAgent):
    """A seat that a surrogate holds."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, setup = seating.places[number], model.setup
        topic, persona = setup.subject.topic(seating.topic), place.persona
        response = model.responses[_surrogate(model, place), persona.party, seating.topic]
        grade = partial(_graded, topic.slug) if response.graded else partial(model.previous_attitude, seating.room)
        super().__init__(model, persona, topic, model.style, response, grade, setup.surveys.probe)
        self.assign_seat(seating, number)


def _graded(topic: str, name: str, text: str) -> float | None:
    """The grade of a line by the oracle's sentences."""
    return topics()[topic].grade(text)


@cache
def _combined(own: type[DebateAgent], kind: type[SeatedAgent]) -> type[Any]:
    """An agent of one's own in a seat of this kind: what it defines comes first."""
    return type(own.__name__, (own, kind), {})


def agent_classes(given: AgentClass, parties: Iterable[str]) -> dict[str, type[DebateAgent]]:
    """The agent's class of each party that has one of its own. Errors: UserError on another party, or what is no agent."""
    known = list(dict.fromkeys(parties))
    own = dict(given) if isinstance(given, Mapping) else dict.fromkeys(known, given) if given else {}
    for party, kind in own.items():
        if party not in known:
            raise unknown_name("party of agent_class", party, known)
        if not (isinstance(kind, type) and issubclass(kind, DebateAgent)):
            raise UserError(f"agent_class of {party} must be a class made from parley.Agent, not {kind!r}")
    return own


def _surrogate(model: DebateModel, place: SeatPlace) -> str:
    """The file of the surrogate that holds a place; "" where a model is asked."""
    return surrogate_for(model.stand_ins, model.voices, place.seat, place.persona.party)


def _describe_others(others: Sequence[Persona], disclose: str, introduce: str) -> str:
    """What an agent is told of the others."""
    facts = {"gender": genders, "demographics": demographics}
    told = [facts[disclose](others)] if disclose in facts else []
    return " ".join(filter(None, [*told, introduction(others, introduce) if introduce != "nothing" else ""]))


def _speaks(model: DebateModel, place: SeatPlace) -> tuple[str, str]:
    """The adapter and the voice that somebody speaks through."""
    adapter, voice = (_own(known, place) for known in (model.adapters, model.voices))
    return model.adapters.get(adapter, ""), voice


def _own(known: Mapping[str, str], place: SeatPlace) -> str:
    """Under which name, its seat's or its party's, something is kept for a place; "" where nothing is."""
    return next((name for name in (place.seat, place.persona.party) if name in known), "")


def represent_members(model: DebateModel, rooms: Sequence[RoomState]) -> None:
    """Give the last room of every session its representatives, one or all."""
    if model.setup.people.represented == "none":
        return
    sessions: dict[str, list[RoomState]] = defaultdict(list)
    for room in rooms:
        sessions[model.seatings[room.id].session].append(room)
    for *before, last in sessions.values():
        numbers = list(last.members)
        if model.setup.people.represented == "one":
            numbers = [stream(model.setup.seed, REPRESENTATIVE, last.id).choice(numbers)]
        last.proxies = {number: _proxy(model, last, before, number) for number in numbers}


def _proxy(model: DebateModel, room: RoomState, before: Sequence[RoomState], number: int) -> ProxySeat:
    """The representative of a member, with the same person in the rooms before: it sits at the same place there."""
    member, place, setup = room.members[number], list(room.members).index(number), model.setup
    past = [(setup.subject.question(one.topic), list(one.members.values())[place]) for one in before]
    own = [(question, one) for question, one in past if isinstance(one, Participant)]
    assert isinstance(member, Participant)
    assert all(one.persona == member.persona for _, one in own)
    voice = REPRESENTATIVE if REPRESENTATIVE in model.voices else ""
    adapter = model.adapters.get(REPRESENTATIVE, "")
    return ProxySeat(member, setup.subject.question(room.topic), own, setup.people.knowledge, adapter, voice)


def concurrent_batches(setup: Scenario, rooms: Sequence[RoomState]) -> list[list[RoomState]]:
    """The rooms of a round as they are held: all at once, unless representatives are told the critiques of the episodes before.

    Those are written in the same round, and so the last episodes come after the others when they have critiques to write.
    """
    later = [room.id for room in rooms if any(proxy.ready for proxy in room.proxies.values())]
    if "C" not in setup.people.knowledge or not later:
        return [list(rooms)]
    return [[room for room in rooms if (room.id in later) == last] for last in (False, True)]
