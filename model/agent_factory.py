"""Makes the agents of a model: the seat that each one takes, the mediator of a room, and the representatives of members.

A representative writes critiques in the last episode of a session. In the episodes before it every participant writes for itself:
that is what a representative may know, so that none learns from what a representative wrote.
"""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import mesa

from parley.agents.agent import DebateAgent, Debater
from parley.agents.mediators import open_mediator
from parley.agents.mediators.base import NAME as MEDIATOR_NAME
from parley.agents.mediators.base import MediatorAgent
from parley.agents.network_agent import NetworkDebater
from parley.agents.participant import Participant
from parley.agents.persona import Persona, demographics, genders, introduction
from parley.agents.platform_agent import PlatformDebater
from parley.agents.probe import Probe
from parley.agents.proxy_seat import ProxySeat
from parley.agents.question import Question
from parley.agents.resident import Resident
from parley.agents.society import Society
from parley.agents.surrogate_agent import SurrogateAgent
from parley.agents.traits import PLAIN
from parley.environments.base import MEDIATOR as MEDIATOR_ID
from parley.environments.base import Networked
from parley.environments.places import Places
from parley.environments.platform import Platform
from parley.llm.backends import identity_spec
from parley.llm.backends.oracle.phrases import topic_bank
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream
from parley.model.casting import REFERENCE, RoomSeating, SeatPlace
from parley.model.events import Endowed, Event, OwnModel, Posed, Seated
from parley.model.model_shares import voice_of
from parley.model.network_round import initial_link_events
from parley.model.scenario import MEDIATOR, REPRESENTATIVE
from parley.model.scenario_blocks import People
from parley.model.surrogate_seats import surrogate_for
from parley.model.trait_assignment import starting_belief

if TYPE_CHECKING:
    from parley.agents.topic import Topic
    from parley.llm.request import Backend
    from parley.model.debate import DebateModel
    from parley.model.room import RoomState
    from parley.model.scenario import Scenario


AgentClass = type[DebateAgent] | Mapping[str, type[DebateAgent]] | None
"""One class for all agents, or one per party."""


def make_agent(model: DebateModel, seating: RoomSeating, number: int) -> SeatedAgent:
    """Make the agent of a place: a surrogate, or an agent in the kind of seat that the room has."""
    place = seating.places[number]
    if seating.group != REFERENCE and _surrogate_file(model, place):
        return SurrogateSeat(model, seating, number)
    kind: Any = PrivateSeat if seating.mediated else NetworkSeat if seating.links else DebateSeat
    kind = next((SEATS[base] for base in type(model.environment).__mro__ if base in SEATS), kind)
    if hasattr(model.environment, "seat"):
        kind = model.environment.seat()
    own_class = model.agent_classes.get(place.persona.party)
    agent: SeatedAgent = (_combined(own_class, kind) if own_class else kind)(model, seating, number)
    return agent


def make_mediator(model: DebateModel, seating: RoomSeating, members: list[int]) -> MediatorAgent | None:
    """Make the mediator of a room; None in a room without one."""
    return mediator_of(model, model.setup.subject.question(seating.topic), members) if seating.mediated else None


def mediator_of(model: DebateModel, question: Question, members: Sequence[int]) -> MediatorAgent:
    """Make the mediator of these people, on a question."""
    policy, speaks = (
        open_mediator(model.setup.speech.mediator),
        (_adapter_of(model, MEDIATOR), named_voice(model, MEDIATOR)),
    )
    return MediatorAgent(policy, question, members, model.style.sampling, *speaks)


class _Counters(WeakKeyDictionary):
    """Agent ids per model. It does not keep the model alive, as Mesa 3.3 does."""

    def __getitem__(self, model: mesa.Model) -> Iterator[int]:
        if model not in self:
            self[model] = itertools.count(1)
        counter: Iterator[int] = super().__getitem__(model)
        return counter


def skip_ids(model: mesa.Model, count: int) -> None:
    """Leave out the ids of agents that are made in another process, so that those here have the ids of the whole run."""
    if hasattr(model, "agent_id_counter"):  # Mesa 3.5
        model.agent_id_counter += count
    else:
        deque(itertools.islice(SeatedAgent._ids[model], count), maxlen=0)


class SeatedAgent(DebateAgent):
    """An agent with a seat in a room of the model."""

    _ids = _Counters()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} ({self.party}) in {self.room}>"

    def remove(self) -> None:
        """Take the agent out of the model (Mesa's `Agent.remove`): it is absent from its room from its next turn on."""
        super().remove()
        self.absent = True

    def assign_seat(self, seating: RoomSeating, number: int) -> None:
        """Set the room, group, seat and party of the agent, and assign the traits of its seat."""
        place = seating.places[number]
        self.room, self.group, self.seat, self.party = seating.room, seating.group, place.seat, place.persona.party
        setup, rooms = self.model.setup, seating.group != REFERENCE
        traits = setup.trait_assignment.of(place, seating.repetition)
        belief = starting_belief(setup, seating.repetition, number, len(seating.places)) if rooms else ""
        self.assign_traits(traits._replace(belief=belief) if belief else traits)

    def archetype_key(self, probe: Probe) -> str:
        """Return whose survey answers may be its own: agents of the same kind and group. Further probes are never shared."""
        setup = self.model.setup
        kind = super().archetype_key(probe) if setup.people.archetypes and probe.name == setup.surveys.probe else ""
        return f"{self.group}|{kind}" if kind else ""

    @property
    def attitude(self) -> float | None:
        """The last rating on the topic's axis (0-10); None if it is missing."""
        rating = self.ratings.get(self.model.setup.surveys.probe)
        return rating.attitude if rating else None


def seat_and_topic(model: DebateModel, seating: RoomSeating, number: int) -> tuple[SeatPlace, Topic]:
    """Return a seat of a room, and the topic in the language of the person who sits there."""
    place = seating.places[number]
    return place, model.setup.subject.topic_named(seating.topic, place.persona.language)


class DebateSeat(SeatedAgent, Debater):
    """A seat at a table where all agents hear each other."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        others = [other for other in seating.present if other.name != place.persona.name]
        names, facts = [other.name for other in others], describe_others(others, model.setup.people, topic.society)
        speaks = speaks_as(model, seating, number)
        super().__init__(model, place.persona, topic, names, model.style, *speaks, facts)
        self.assign_seat(seating, number)


class NetworkSeat(SeatedAgent, NetworkDebater):
    """A seat in a network. The agent knows those whom it hears."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        assert seating.links is not None
        others = [seating.places[other].persona for other in seating.links.hears[number]]
        names, facts = [other.name for other in others], describe_others(others, model.setup.people, topic.society)
        network = len(seating.places), cast(Networked, model.environment).changing
        speaks = speaks_as(model, seating, number)
        super().__init__(model, place.persona, topic, names, *network, model.style, *speaks, facts)
        self.assign_seat(seating, number)


class PlatformSeat(NetworkSeat, PlatformDebater):
    """A seat on a social medium."""


class PrivateSeat(SeatedAgent, Participant):
    """A seat in a group that deliberates in private."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        size = len(seating.places)
        speaks = speaks_as(model, seating, number)
        super().__init__(model, place.persona, topic, size, model.style, *speaks)
        self.assign_seat(seating, number)


class ResidentSeat(SeatedAgent, Resident):
    """A seat in a population that meets in several places."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        super().__init__(model, place.persona, topic, model.style, *speaks_as(model, seating, number))
        self.assign_seat(seating, number)


SEATS: Mapping[type, type[SeatedAgent]] = {Platform: PlatformSeat, Places: ResidentSeat}
"""The seats of environments, and of classes made from them, in which agents do more than speak."""


class SurrogateSeat(SeatedAgent, SurrogateAgent):
    """A seat that a surrogate plays."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        (place, topic), setup = seat_and_topic(model, seating, number), model.setup
        persona = place.persona
        response = model.responses[_surrogate_file(model, place), persona.party, seating.topic]
        grade = partial(_grade, topic.slug) if response.graded else partial(model.attitude_of_speaker, seating.room)
        super().__init__(model, persona, topic, model.style, response, grade, setup.surveys.probe)
        self.assign_seat(seating, number)


def _grade(topic: str, name: str, text: str) -> float | None:
    """Return the grade of a line by the oracle's sentences."""
    bank = topic_bank(topic)
    return bank.grade(text) if bank else None


@cache
def _combined(user_class: type[DebateAgent], kind: type[SeatedAgent]) -> type[Any]:
    """Return a class for an agent class of the user in this kind of seat. The methods of the user come first."""
    return type(user_class.__name__, (user_class, kind), {})


def agent_classes(given: AgentClass, parties: Iterable[str], society: Society) -> dict[str, type[DebateAgent]]:
    """Return the agent class of each party that has one of the user's; `first` and `second` are the society's debaters.

    Errors: UserError on another party or another class.
    """
    party_names = list(dict.fromkeys(parties))
    classes = dict(given) if isinstance(given, Mapping) else dict.fromkeys(party_names, given) if given else {}
    named = {society.seat(party): kind for party, kind in classes.items()}
    for party, kind in named.items():
        if party not in party_names:
            raise unknown_name("party of agent_class", party, party_names)
        if not (isinstance(kind, type) and issubclass(kind, DebateAgent)):
            raise UserError(f"agent_class of {party} is {kind!r}, but must be a class made from parley.Agent")
    return named


def _surrogate_file(model: DebateModel, place: SeatPlace) -> str:
    """The file of the surrogate that plays a seat; "" where a model speaks."""
    return surrogate_for(model.surrogate_files, model.voices, place.seat, place.persona.party)


def describe_others(others: Sequence[Persona], people: People, society: Society) -> str:
    """Return what an agent knows about the others, by the fields `disclose` and `introduce`."""
    facts = [genders(others, society.language)] if people.disclose == "gender" else []
    facts += [demographics(others, society)] if people.disclose == "demographics" else []
    facts += [introduction(others, people.introduce, society.language)] if people.introduce != "nothing" else []
    return " ".join(filter(None, facts))


def _adapter_of(model: DebateModel, *names: str) -> str:
    """The adapter of the first name that has one: a seat before its party; "" without one."""
    return next((model.adapters[name] for name in names if name in model.adapters), "")


def speaks_as(model: DebateModel, seating: RoomSeating, number: int) -> tuple[str, str]:
    """Return adapter and voice of an agent. Agents of the reference sit in no debate, so no share of the models falls on them."""
    place, shares = seating.places[number], {} if seating.group == REFERENCE else model.setup.share_by_seat
    return _adapter_of(model, place.seat, place.persona.party), voice_of(seating, number, model.voices, shares)


def named_voice(model: DebateModel, name: str) -> str:
    """Return the voice of one without a seat, such as a mediator: its name, where it has a model of its own, else ""."""
    return name if name in model.voices else ""


def represent_members(model: DebateModel, rooms: Sequence[RoomState]) -> None:
    """Give representatives to one member, or to all, in the last room of every session."""
    if model.setup.people.represented == "none":
        return
    sessions: dict[str, list[RoomState]] = defaultdict(list)
    for room in rooms:
        sessions[model.seatings[room.id].session].append(room)
    for *earlier, last in sessions.values():
        numbers = list(last.members)
        if model.setup.people.represented == "one":
            numbers = [stream(model.setup.seed, REPRESENTATIVE, last.id).choice(numbers)]
        last.proxies = {number: _representative(model, last, earlier, number) for number in numbers}


def _representative(model: DebateModel, room: RoomState, earlier: Sequence[RoomState], number: int) -> ProxySeat:
    """The representative of a member. It may know what the same person, at the same place, wrote in earlier rooms."""
    member, place, subject = room.members[number], list(room.members).index(number), model.setup.subject
    past = [(subject.question(before.topic), list(before.members.values())[place]) for before in earlier]
    written = [(question, participant) for question, participant in past if isinstance(participant, Participant)]
    assert isinstance(member, Participant)
    assert all(participant.persona == member.persona for _, participant in written)
    speaks, people = (_adapter_of(model, REPRESENTATIVE), named_voice(model, REPRESENTATIVE)), model.setup.people
    return ProxySeat(member, subject.question(room.topic), written, people.knowledge, *speaks, people.represents)


def stand_in_for_people(model: DebateModel, rooms: Sequence[RoomState]) -> None:
    """Give every person of a deliberation the representative that writes its critiques while it is away."""
    speaks = _adapter_of(model, REPRESENTATIVE), named_voice(model, REPRESENTATIVE)
    for room in rooms:
        for number, member in room.members.items():
            if member.voice in room.context.people and isinstance(member, Participant):
                question, knows = model.setup.subject.question(room.topic), model.setup.people.knowledge
                room.stand_ins[number] = ProxySeat(member, question, (), knows, *speaks)


def loaded_adapters(setup: Scenario, backend: Backend) -> dict[str, str]:
    """The adapter of each party that has one. Errors: UserError when the model does not have it."""
    adapters, loaded = setup.adapter_by_party, dict(backend.identity).get("adapters", {})
    for adapter in adapters.values():
        if adapter not in loaded:
            raise unknown_name("adapter", adapter, loaded)
    return adapters


def seating_events(model: DebateModel, room: RoomState) -> Iterator[Event]:
    """The question of the room, if it was drawn, then who is seated, with the mediator last."""
    seating, place = model.seatings[room.id], (room.id, room.topic, room.group, room.repetition)
    if model.setup.subject.questions:
        question = model.setup.subject.question(room.topic)
        words = question.id, question.question, question.statement, question.against, question.topic, question.split
        yield Posed(room.id, seating.session, seating.episode, *words)
    for number, agent in room.members.items():
        persona, traits = agent.persona, agent.character
        yield Seated(number, *place, room.seats[number], persona.party, persona.id, agent.name)
        if traits != PLAIN:
            told = traits.role, dict(traits.traits), traits.confirmation_bias, traits.belief
            yield Endowed(number, room.id, *told)
        if agent.voice not in ("", room.seats[number], persona.party):
            if agent.voice not in model.voices:  # an agent class of a user set another value
                raise unknown_name(f"voice of {agent.name}", agent.voice, model.voices)
            yield OwnModel(number, room.id, identity_spec(model.voices[agent.voice]))
    if room.mediator or getattr(model.environment, "mediated", False):
        yield Seated(MEDIATOR_ID, *place, MEDIATOR, MEDIATOR, "", MEDIATOR_NAME)
    yield from initial_link_events(room, seating)
