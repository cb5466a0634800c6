"""DebateModel: every room of a scenario in one Mesa model.

A step is one round: every agent of every room speaks once, in the order that the environment makes of Mesa's AgentSets;
then everybody is asked. One `step` in order:
1. what is due of the timetable of interventions is done;
2. each room's turns are drawn (environment) and held as a conversation (all rooms side by side, through the driver);
3. the survey is held, if one is due;
4. the events are recorded, room by room in seating order;
5. the DataCollector collects.

Works alike on Mesa 3.3 and 3.5. An exception (of an agent, an environment, a reporter or a backend) is raised where it happens,
in the constructor or in `step`; `error` keeps it, and no further round is held. With `collect_errors` it is not raised:
`error` and the column `stopped` tell it (for `mesa.batch_run`, which an exception would end; docs/sweeps.md). A reporter that
raises is raised always: without it there is no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import partial
from typing import Any, cast

import mesa

from parley.agents.topic import forecast_probe
from parley.agents.traits import PLAIN
from parley.environments.base import MEDIATOR, Networked, Room
from parley.llm.answer_sharing import AnswerSharing
from parley.llm.backends import is_scripted
from parley.llm.driver import Conversation, Progress, drive
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Backend, Request, identity_text
from parley.llm.router import open_all
from parley.llm.seeding import stream
from parley.model.agent_factory import (
    AgentClass,
    DebateSeat,
    SeatedAgent,
    agent_classes,
    concurrent_batches,
    make_agent,
    make_mediator,
    represent_members,
)
from parley.model.casting import REFERENCE, RoomSeating, seat_rooms
from parley.model.custom import Topology, scenario_on
from parley.model.events import Endowed, Event, Posed, Seated
from parley.model.interventions import Intervention, initially_absent, intervene
from parley.model.missing_replies import MissingTally
from parley.model.network_round import build_social_graph, initial_link_events, network_grid, run_network_round
from parley.model.recorder import NullRecorder, Recorder
from parley.model.reporters import AGENT_REPORTERS, attitudes_by_party, reporters
from parley.model.room import RoomState, RunContext
from parley.model.round import run_round
from parley.model.scenario import MEDIATOR as PARTY
from parley.model.scenario import Scenario
from parley.model.surrogate_seats import load_surrogates
from parley.model.surveys import run_closing, run_questionnaire, run_surveys
from parley.model.trait_assignment import alternate_sides
from parley.model.validation import check_taught

QUICK = 2
"""Repetitions of a preset given by name when none are asked for, so that `DebateModel()` is a matter of a second."""


class DebateModel(mesa.Model):
    """All rooms of a scenario in one Mesa model, advancing together. A step is one round, and every agent speaks once in it.

    Parameters
    ----------
    preset : str or Scenario
        The name of a preset (`parley.preset_names()`), the path of a .toml preset, or a Scenario.
    topics : str, optional
        Topics, with commas; None leaves the preset's.
    repetitions : int, optional
        Rooms per topic and group (2 for a preset given by name).
    rounds : int, optional
        Rounds of a debate.
    llm : str, optional
        The model that speaks: `"oracle"`, `"pocket"`, `"openai:MODEL"`, ...
    rng : int, optional
        The seed: the same seed gives the same debates.
    agent_class : type or dict, optional
        A subclass of `Agent` for everybody, or one by party. Its `instruction(form)` says what the agents are told.
    topology : networkx.Graph, sparse array or callable, optional
        Who hears whom, for scenarios of a network; a function gets the number of agents. A directed link a -> b means that a
        hears b. A node with the attribute `party` (and `persona`) is that person.
    model_reporters, agent_reporters : dict, optional
        Further columns of the DataCollector: functions of the model, or of an agent, by name.
    backend : Backend, optional
        What answers the requests, in place of `llm`.
    recorder : Recorder, optional
        What hears every event; by default nothing is recorded.
    progress : callable, optional
        Called with the number of calls that were answered.
    collect_errors : bool
        Keep what stops the model in `error` instead of raising it (for `mesa.batch_run`); `run()` raises it all the same.
    keep_going : bool
        Go on where almost no reply can be read, which is an error otherwise.
    **fields
        Any other field of the scenario or of its environment by name: `memory="last:12"`, `frame="conversation"`,
        `interventions=[parley.Message(round=2, by="Ann", text="Think of the cost.")]`.

    Attributes
    ----------
    setup : Scenario
        The scenario as it is run.
    datacollector : mesa.DataCollector
        A row per round, and per agent and round: attitudes on the axis from 0 to 10, None where one is missing.
    error : Exception or None
        What stopped the model.

    Raises
    ------
    UserError
        A field, a graph, a class or a model is wrong. Any other exception, of an agent or a reporter of your own too, is raised
        where it happens.

    Notes
    -----
    For `mesa.batch_run` pass parameters by name; seeds as {"rng": [1, 2]} on Mesa 3.3 or rng=[1, 2] on 3.5 (docs/sweeps.md).

    Examples
    --------
    >>> model = parley.DebateModel("two_way", topics="racism", llm="oracle", rng=1)  # doctest: +SKIP
    >>> model.run()  # doctest: +SKIP
    >>> model.datacollector.get_agent_vars_dataframe()["attitude"]  # doctest: +SKIP
    """

    def __init__(
        self,
        preset: str | Scenario = "three_way",
        topics: str | None = None,
        repetitions: int | None = None,
        rounds: int | None = None,
        llm: str | None = None,
        rng: int | None = None,
        *,
        agent_class: AgentClass = None,
        topology: Topology | None = None,
        model_reporters: Mapping[str, Callable[[DebateModel], Any]] | None = None,
        agent_reporters: Mapping[str, Callable[[Any], Any]] | None = None,
        backend: Backend | None = None,
        recorder: Recorder | None = None,
        progress: Progress | None = None,
        collect_errors: bool = False,
        keep_going: bool = False,
        **fields: Any,
    ):
        named = {"topics": topics, "repetitions": repetitions, "rounds": rounds, "llm": llm}
        self.setup = _scenario(preset, named | fields, rng, topology)
        super().__init__(rng=self.setup.seed)
        self.agent_classes = agent_classes(agent_class, self.setup.parties)
        self.style = self.setup.style
        self.environment = self.setup.environment
        self.voices = self.setup.llm_by_party
        self._models = {"": self.setup.models.llm} | {
            one: llm for one, llm in self.voices.items() if not is_scripted(llm)
        }
        opened = backend if backend is not None else open_all(self.setup.models.llm, self.voices)
        self.backend = AnswerSharing(opened, self.setup.people.archetypes) if self.setup.people.archetypes else opened
        self.adapters = _adapters(self.setup, self.backend)
        check_taught(self.setup, self.backend)
        self.recorder: Recorder = recorder if recorder is not None else NullRecorder()
        self.progress = progress
        self.round = 0
        self.error: Exception | None = None
        self.collect_errors, self.keep_going, self.tally = collect_errors, keep_going, MissingTally()
        self.context = RunContext(
            self.setup.seed, None if isinstance(self.recorder, NullRecorder) else self._key, self.setup.surveys.asks
        )
        self._identity = identity_text(self.backend)
        self._felt: dict[int, float | None] = {}
        self._grid: tuple[int, Any] = (-1, None)
        self.stand_ins, self.responses = self.setup.surrogate_by_party, load_surrogates(self.setup)
        self.rooms = self._seat()
        _refuse_unknown_rooms(self.setup.interventions, self._debating())
        represent_members(self, self.rooms)
        for room in self._debating():
            for agent in initially_absent(self.setup.interventions, room, self.setup.seed):
                room.members[agent].absent = True
        self.datacollector = mesa.DataCollector(
            model_reporters=reporters(self) | dict(model_reporters or {}),
            agent_reporters=AGENT_REPORTERS | dict(agent_reporters or {}),
        )
        self._guarded(self._open)

    def step(self) -> None:
        """One round. The step after the last one (or after an error) does nothing but turn `running` off.

        Not the last round itself: Mesa 3.3's batch_run reports the last collected row but one.
        """
        if self.over:
            self.running = False
        else:
            self._guarded(self._round)

    @property
    def grid(self) -> Any:
        """The networked rooms as a space of Mesa's with the links as they are now, for drawing; None where there are none."""
        if self._grid[0] != self.round:
            self._grid = self.round, network_grid(self, self.rooms, {agent.unique_id: agent for agent in self.agents})
        return self._grid[1]

    @property
    def over(self) -> bool:
        """True when no round is left to hold, or an error keeps from holding it."""
        return self.error is not None or self.round >= self.setup.rounds

    def step_in(self, one: Intervention) -> None:
        """Put an intervention on the timetable, before a round to come.

        From now on `setup` is that of a run that had it from the start: the same past, the same future.

        Parameters
        ----------
        one : Intervention
            Such as `parley.Moderator(round=3, text="civility")`.

        Raises
        ------
        UserError
            The round is over, or it needs a model that is not open. Nothing has changed then.
        """
        if not self.round < one.round <= self.setup.rounds:
            raise UserError(f"{one.kind} before round {one.round}: there is no such round to come")
        _refuse_unknown_rooms([one], self._debating())
        setup = self.setup.with_settings({"interventions": (*self.setup.interventions, one)})
        if setup.llm_by_party != self.voices:
            raise UserError("a new model must be known before the run starts: name it with --intervene")
        if self._away(setup) != self._away(self.setup):
            raise UserError(f"{one.kind}: this agent is already in the room")
        self.setup = setup

    def _away(self, setup: Scenario) -> set[int]:
        """Who is not there at the start."""
        return {agent for room in self._debating() for agent in initially_absent(setup.interventions, room, setup.seed)}

    def run(self) -> None:
        """Step to the end. Raises what stopped the model, if anything did."""
        while self.running:
            self.step()
        if self.error:
            raise self.error

    def _guarded(self, phase: Callable[[], None]) -> None:
        try:
            phase()
        except Exception as error:
            self.error = error
            if not self.collect_errors:
                raise
        self.standing = attitudes_by_party(self)
        self.datacollector.collect(self)

    def _open(self) -> None:
        self.recorder.write(self._seated())
        self._survey(self.rooms)
        if "D" in self.setup.people.knowledge:
            asked = [room for room in self.rooms if room.proxies]
            self._hold([run_questionnaire(room, self.round, self.setup.surveys.asks, self.context) for room in asked])
        if self.setup.surveys.forecast and self.setup.surveys_after(0):
            self._foretell()
        if self.setup.people.sides == "opposed":
            self._take_sides()

    def _foretell(self) -> None:
        """Ask everybody who debates what it expects to answer at the end."""
        asks, context, subject = self.setup.surveys.asks, self.context, self.setup.subject
        main = self.setup.surveys.probe
        probes = {topic: subject.topic(topic).probe(main) for topic in {room.topic for room in self.rooms}}
        told = [(room, forecast_probe(probes[room.topic], self.setup.speech.frame)) for room in self._debating()]
        self._hold([run_surveys(room, 0, [probe], asks, context) for room, probe in told])

    def _take_sides(self) -> None:
        """Tell who will speak what to argue for: the side on the topic's axis as the one for or against its claim."""
        silent = getattr(self.environment, "silent", 0)
        for room in self._debating():
            members = [member for member in room.members.values() if isinstance(member, DebateSeat)]
            debaters = members[: len(members) - silent]
            claims = self.setup.subject.topic(room.topic).probe("agreement").polarity
            for member, side in zip(debaters, alternate_sides([one.attitude for one in debaters]), strict=True):
                member.assign_side(None if side is None else side == claims)

    def _round(self) -> None:
        self.round += 1
        debating = self._debating()
        asked = [agent for agent in self.agents if agent.ratings]
        self._felt = {agent.unique_id: agent.attitude for agent in asked}
        for agent in asked:  # nobody keeps an older rating: an attitude that was not asked for is None
            agent.ratings = {}
        self._intervene(debating)
        for lot in concurrent_batches(self.setup, debating):
            self._hold([self._held(room) for room in lot])
        self._survey(debating)
        if self.round == self.setup.rounds:
            self._close(debating)

    def _debating(self) -> list[RoomState]:
        return [room for room in self.rooms if room.group != REFERENCE]

    def _intervene(self, rooms: Sequence[RoomState]) -> None:
        """Do what is due before this round; a planner goes by the last survey."""
        timetable = self.setup.interventions
        if timetable:
            self._hold([intervene(timetable, room, self.round, self._felt.get, self.context) for room in rooms])

    def _held(self, room: RoomState) -> Conversation[list[Event]]:
        view = Room(tuple(room.members), self._shuffled[room.id], partial(self._reshuffled, room.id), room.society)
        asked = self.setup.reply_form(self.round)
        if room.society:
            network = cast(Networked, self.environment)
            return run_network_round(room, network, view, self.round, self.context, asked)
        return run_round(room, self.environment.turns(view, self.round), self.round, self.context, asked)

    def _survey(self, rooms: Sequence[RoomState]) -> None:
        """Ask, if a survey is due."""
        if self.setup.surveys_after(self.round):
            asks = self.setup.surveys.asks
            probes = {
                room.topic: self.setup.surveys.survey_probes(self.setup.subject.topic(room.topic)) for room in rooms
            }
            self._hold([run_surveys(room, self.round, probes[room.topic], asks, self.context) for room in rooms])

    def _close(self, rooms: Sequence[RoomState]) -> None:
        """The end of private deliberations; the questionnaire is for the last episode of a session, unless asked before."""
        if self.setup.surveys_after(self.round):
            last = self.setup.subject.episodes - 1 if "D" not in self.setup.people.knowledge else None
            told = [(room, self.seatings[room.id].episode == last) for room in rooms if room.chair]
            self._hold(
                [run_closing(room, self.round, self.setup.surveys.asks, items, self.context) for room, items in told]
            )

    def _hold(self, conversations: Sequence[Conversation[list[Event]]]) -> None:
        found, voices = MissingTally(), {agent.unique_id: agent.voice for agent in self.agents} if self.voices else {}
        for events in drive(conversations, self.backend, self.progress):
            self.recorder.write(events)
            found.hear(events, voices, self._models)
        earlier = set(self.tally.asked)
        self.tally.add(found)
        if not self.keep_going:
            found.check(earlier, self._models, self.context.details)

    def _seat(self) -> list[RoomState]:
        """Make the agents and let Mesa group and shuffle them: one AgentSet a room, each with a random stream of its own."""
        self.seatings = {seating.room: seating for seating in seat_rooms(self.setup)}
        for seating in self.seatings.values():
            for number in range(len(seating.places)):
                make_agent(self, seating, number)
        self.seated = dict(self.agents.groupby("room").groups)
        self._named = {(one.room, one.name): one.unique_id for one in self.agents} if self.responses else {}
        for room, members in self.seated.items():
            members.random = stream(self.setup.seed, "order", room)
        self._shuffled = {room: _ids(members.shuffle()) for room, members in self.seated.items()}
        return [self._room(self.seatings[room], list(members)) for room, members in self.seated.items()]

    def _room(self, seating: RoomSeating, members: Sequence[SeatedAgent]) -> RoomState:
        by_id = {member.unique_id: member for member in members}
        seats = {number: member.seat for number, member in by_id.items()}
        room = RoomState(seating.room, seating.topic, seating.group, seating.repetition, dict(by_id), seats)
        room.chair = make_mediator(self, seating, list(by_id))
        room.society = build_social_graph(seating, list(by_id), self.setup.seed, lambda agent: self._felt.get(agent))
        room.each_turn = self.setup.surveys.turn_probes(self.setup.subject.topic(seating.topic))
        return room

    def previous_attitude(self, room: str, name: str, text: str) -> float | None:
        """The attitude of somebody in a room at the survey before; None where it gave none, or is nobody there."""
        return self._felt.get(self._named[room, name]) if (room, name) in self._named else None

    def _reshuffled(self, room: str) -> tuple[int, ...]:
        self.seated[room].random = stream(self.setup.seed, "order", room, self.round)
        return _ids(self.seated[room].shuffle())

    def _seated(self) -> list[Event]:
        return [event for room in self.rooms for event in self._present(room)]

    def _present(self, room: RoomState) -> Iterator[Event]:
        """What the room is about, where that was drawn, and who sits there; the mediator last."""
        seating, place = self.seatings[room.id], (room.id, room.topic, room.group, room.repetition)
        if self.setup.subject.questions:
            yield Posed(room.id, seating.session, seating.episode, *astuple(self.setup.subject.question(room.topic)))
        for number, agent in room.members.items():
            persona = agent.persona
            yield Seated(number, *place, room.seats[number], persona.party, persona.id, agent.name)
            if agent.character != PLAIN:
                given = agent.character
                yield Endowed(number, room.id, given.role, dict(given.traits), given.confirmation_bias)
        if room.chair:
            yield Seated(MEDIATOR, *place, PARTY, PARTY, "", room.chair.name)
        yield from initial_link_events(room, seating)

    def _key(self, request: Request) -> bytes:
        return request.key(self._identity, self.backend.seedless(request))


def _scenario(preset: str | Scenario, given: Mapping[str, Any], rng: int | None, topology: Topology | None) -> Scenario:
    """The scenario with the fields that are given (None: not given)."""
    own: dict[str, Any] = {"repetitions": QUICK} if isinstance(preset, str) else {}
    own |= {} if rng is None else {"seed": int(rng)}
    return scenario_on(preset, own | {name: value for name, value in given.items() if value is not None}, topology)


def _adapters(scenario: Scenario, backend: Backend) -> dict[str, str]:
    """The adapter of each party that has one. Errors: UserError when the model does not have it."""
    wanted, loaded = scenario.adapter_by_party, dict(backend.identity).get("adapters", {})
    for adapter in wanted.values():
        if adapter not in loaded:
            raise unknown_name("adapter", adapter, loaded)
    return wanted


def _refuse_unknown_rooms(interventions: Iterable[Intervention], rooms: Iterable[RoomState]) -> None:
    known = {room.id for room in rooms}
    for one in interventions:
        for room in one.rooms:
            if room not in known:
                raise unknown_name(f"room of {one.kind}", room, known)


def _ids(agents: Any) -> tuple[int, ...]:
    return tuple([agent.unique_id for agent in agents])
