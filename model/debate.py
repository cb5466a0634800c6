"""DebateModel: all rooms of a scenario in one Mesa model. One step is one round.

A round runs in this order (`DebateModel._next_round`):
1. the interventions that are due act;
2. each room draws its turns from the environment and runs them; the driver runs all rooms at the same time;
3. agents are surveyed, if a survey is due; after the last round, deliberations are closed;
4. the DataCollector collects.
The recorder gets the events after each part, room by room in seating order.

The class works on Mesa 3.3 and 3.5. An exception of an agent, an environment, a reporter or a backend is raised in the
constructor or in `step`; it is kept in `error`, and no further round runs. With `collect_errors` it is not raised, because
an exception would end `mesa.batch_run` (docs/sweeps.md): `error` and the column `stopped` report it. An exception of a reporter
is always raised, because without it there is no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import mesa
import numpy as np

from parley.agents.memory import NoMemory, Retrieval
from parley.agents.probe import PHRASES, TURNS, Probe, forecast_probe
from parley.agents.topic import Topic
from parley.environments.base import Networked, Room
from parley.environments.platform import Platform
from parley.llm.answer_sharing import AnswerSharing
from parley.llm.backends import is_scripted
from parley.llm.driver import Conversation, Progress, drive
from parley.llm.errors import UserError, unknown_name
from parley.llm.exchange import Meeting
from parley.llm.request import Backend, Request, identity_text
from parley.llm.router import open_all
from parley.llm.seeding import stream
from parley.model import agent_factory, scenario
from parley.model.agent_factory import AgentClass, SeatedAgent, loaded_adapters
from parley.model.casting import REFERENCE, RoomSeating, seat_rooms
from parley.model.custom import Topology, scenario_on
from parley.model.events import Event
from parley.model.final_vote import run_vote
from parley.model.interventions import initially_absent, intervene
from parley.model.interventions.base import Intervention
from parley.model.missing_replies import ContextWatch, MissingTally
from parley.model.network_round import build_social_graph, network_grid, run_network_round
from parley.model.parts import Part
from parley.model.people import ask_consent, people_of
from parley.model.places_round import begin_stages, run_places_round
from parley.model.platform_round import run_platform_round
from parley.model.recorder import NullRecorder, Placed, Preview, Recorder
from parley.model.reporters import agent_reporters as asked_of_agents
from parley.model.reporters import attitudes_by_party, reporters
from parley.model.room import RoomState, RunContext, concurrent_rooms
from parley.model.round import run_round
from parley.model.scenario import Scenario
from parley.model.sent_texts import SentTexts
from parley.model.stage_clock import StageClock
from parley.model.stepping import SteppedModel, refuse_copy
from parley.model.surrogate_seats import load_surrogates
from parley.model.surveys import run_closing, run_interviews, run_questionnaire, run_surveys
from parley.model.trait_assignment import assign_sides
from parley.model.validation import check_taught

QUICK = 2
"""Default number of repetitions of a preset that is given by name, so that `DebateModel()` takes about a second."""


class DebateModel(SteppedModel):
    """All rooms of a scenario in one Mesa model. One step is one round, in which every agent speaks once.

    Parameters
    ----------
    preset : str or Scenario
        The name of a preset (`parley.preset_names()`), the path of a .toml preset, or a Scenario.
    topic : str, optional
        Topics, separated by commas. Default: those of the preset.
    repetitions : int, optional
        Rooms per topic and group. Default: 2 for a preset given by name.
    rounds : int, optional
        Rounds of a debate.
    llm : str, optional
        The model that speaks: `"oracle"`, `"pocket"`, `"openai:MODEL"`, ...
    rng : int or numpy.random.Generator, optional
        The random seed; a generator draws one. The same seed gives the same debates.
    agent_class : type or dict, optional
        A subclass of `Agent` for all agents, or one per party. Its `instruction(form)` is the last paragraph of the prompt.
    topology : networkx.Graph, sparse array or callable, optional
        Who hears whom, for scenarios of a network; a function gets the number of agents. In a directed graph, the link a -> b
        means that a hears b. The node attributes `party` and `persona` choose who sits at a node.
    model_reporters, agent_reporters, agenttype_reporters : dict, optional
        Further columns of the DataCollector: functions of the model, or of an agent, by name; by class of agent and name.
    backend : Backend, optional
        Answers the requests in place of `llm`.
    recorder : Recorder, optional
        Gets every event. By default nothing is recorded.
    progress : callable, optional
        Called with the number of calls that were answered.
    collect_errors : bool
        Keep an exception in `error` instead of raising it (for `mesa.batch_run`). `run()` raises it in any case.
    keep_going : bool
        Continue when almost no reply can be read. By default that is an error.
    part : Part, optional
        Run only the rooms of this part, whose agents have the ids of the whole run (model/workers.py).
    meeting : Meeting, optional
        Ask only this worker's part of the agents of the room, and learn from other workers what the others do.
    **kwargs
        Any other field of the scenario or of its environment by name: `memory="last:12"`, `frame="conversation"`,
        `interventions=[parley.Message(round=2, by="Ann", text="Think of the cost.")]`.

    Attributes
    ----------
    setup : Scenario
        The scenario that is run.
    datacollector : mesa.DataCollector
        One row per round, and one per agent and round: attitudes on the axis from 0 to 10, None where one is missing.
    error : Exception or None
        The exception that stopped the model.

    Raises
    ------
    UserError
        A field, a graph, a class or a model is wrong. Any other exception, for example of your own agent class, is raised
        where it happens.

    Notes
    -----
    For `mesa.batch_run` pass parameters by name; seeds as {"rng": [1, 2]} on Mesa 3.3 or rng=[1, 2] on 3.5 (docs/sweeps.md).

    Examples
    --------
    >>> model = parley.DebateModel("two_way", topic="racism", llm="oracle", rng=1)  # doctest: +SKIP
    >>> model.run()  # doctest: +SKIP
    >>> model.datacollector.get_agent_vars_dataframe()["attitude"]  # doctest: +SKIP
    """

    def __init__(
        self,
        preset: str | Scenario = "three_way",
        topic: str | None = None,
        repetitions: int | None = None,
        rounds: int | None = None,
        llm: str | None = None,
        rng: int | np.random.Generator | None = None,
        *,
        agent_class: AgentClass = None,
        topology: Topology | None = None,
        model_reporters: Mapping[str, Callable[[DebateModel], Any]] | None = None,
        agent_reporters: Mapping[str, Callable[[Any], Any]] | None = None,
        agenttype_reporters: Mapping[type, Mapping[str, Callable[[Any], Any]]] | None = None,
        backend: Backend | None = None,
        recorder: Recorder | None = None,
        progress: Progress | None = None,
        collect_errors: bool = False,
        keep_going: bool = False,
        part: Part | None = None,
        meeting: Meeting | None = None,
        **kwargs: Any,
    ):
        settings: dict[str, Any] = {"topic": topic, "repetitions": repetitions, "rounds": rounds, "llm": llm}
        seed = int(rng.integers(2**31)) if isinstance(rng, np.random.Generator) else None if rng is None else int(rng)
        settings |= {"seed": seed, **kwargs}
        settings = {name: value for name, value in settings.items() if value is not None}
        if isinstance(preset, str):
            settings.setdefault("repetitions", QUICK)
        self.setup = scenario_on(preset, settings, topology)
        people, models = self.setup.people, self.setup.models
        super().__init__(self.setup.seed, self.setup.rounds, collect_errors)
        self.agent_classes = agent_factory.agent_classes(agent_class, self.setup.parties, self.setup.society)
        self.style = self.setup.style
        self.environment = self.setup.environment
        self.voices = self.setup.llm_by_party
        self._models = {"": models.llm} | {voice: spec for voice, spec in self.voices.items() if not is_scripted(spec)}
        opened = backend if backend is not None else open_all(models.llm, self.voices)
        self.backend = AnswerSharing(opened, people.archetypes) if people.archetypes else opened
        self.adapters = loaded_adapters(self.setup, self.backend)
        check_taught(self.setup, self.backend)
        self.recorder: Recorder = recorder if recorder is not None else NullRecorder()
        self.part, self.meeting, self._phase = part, meeting, 0
        self.progress = progress
        self.keep_going, self.tally, self._context_watch = keep_going, MissingTally(), ContextWatch()
        self._identity = identity_text(self.backend)
        key = None if isinstance(self.recorder, NullRecorder) else self._journal_key
        self.context = RunContext(self.setup.seed, key, self.setup.surveys.asks)
        self.context.embedder = scenario.EMBEDDER if scenario.EMBEDDER in self.voices else ""
        self.context.people = people_of(self.voices)
        self.context.preview = self.recorder if isinstance(self.recorder, Preview) else None
        self._previous_attitudes: dict[int, float | None] = {}
        self._grid: tuple[int, Any] = (-1, None)
        self.surrogate_files, self.responses = self.setup.surrogate_by_party, load_surrogates(self.setup)
        self.rooms = self._make_rooms()
        self.debating_rooms = [room for room in self.rooms if room.group != REFERENCE]
        self.clock = StageClock.of(self.setup)
        self._check_rooms(self.setup.interventions)
        agent_factory.represent_members(self, self.rooms)
        agent_factory.stand_in_for_people(self, self.rooms)
        for room in self.debating_rooms:
            for agent in initially_absent(self.setup.interventions, room, self.setup.seed):
                room.members[agent].absent = True
        self.datacollector = mesa.DataCollector(
            model_reporters=reporters(self) | dict(model_reporters or {}),
            agent_reporters=asked_of_agents(self) | dict(agent_reporters or {}),
            agenttype_reporters=dict(agenttype_reporters or {}),
        )
        self._run_and_collect(self._before_first_round)

    __reduce_ex__ = refuse_copy

    def __repr__(self) -> str:
        setup, kind = self.setup, type(self).__name__
        return f"<{kind} {setup.name} on {setup.models.llm}, {len(self.rooms)} rooms, round {self.round} of {setup.rounds}>"

    @property
    def grid(self) -> Any:
        """The networked rooms as a space of Mesa with the current links, for drawing; None without networked rooms."""
        if self._grid[0] != self.round:
            self._grid = self.round, network_grid(self, [(room, self.seatings[room.id]) for room in self.rooms])
        return self._grid[1]

    def add_intervention(self, intervention: Intervention) -> None:
        """Add an intervention before a later round.

        From now on `setup` is the scenario with this intervention. A new run of that scenario gives the same debates.

        Parameters
        ----------
        intervention : Intervention
            Such as `parley.Moderator(round=3, text="civility")`.

        Raises
        ------
        UserError
            The round has begun, or the intervention needs a model that is not open. Then nothing has changed.
        """
        kind = intervention.kind
        if not self.round < intervention.round <= self.setup.rounds:
            raise UserError(
                f"{kind} cannot be added before round {intervention.round}, because that round has begun or does "
                "not exist: choose a round that has not begun"
            )
        self._check_rooms([intervention])
        setup = self.setup.with_settings({"interventions": (*self.setup.interventions, intervention)})
        if setup.llm_by_party != self.voices:
            raise UserError(
                "an intervention with a new model cannot be added to a started run: "
                "start the run again with --intervene"
            )
        for room in self.debating_rooms:
            absent = [initially_absent(version.interventions, room, version.seed) for version in (setup, self.setup)]
            if absent[0] != absent[1]:
                raise UserError(
                    f"{kind} cannot be added now, because this agent already takes part in the debate from its start"
                )
        self.setup = setup

    def remove_intervention(self, intervention: Intervention) -> None:
        """Take back an intervention that has not acted yet. Errors: UserError where its round has begun, or it is not planned."""
        if intervention not in self.setup.interventions or intervention.round <= self.round:
            raise UserError(
                f"{intervention.kind} before round {intervention.round} cannot be cancelled, because it has "
                "happened already"
            )
        remaining = list(self.setup.interventions)
        remaining.remove(intervention)
        self.setup = self.setup.with_settings({"interventions": tuple(remaining)})

    def previous_attitude(self, agent: int) -> float | None:
        """Return the attitude of an agent in the last survey before this round; None if it is missing."""
        return self._previous_attitudes.get(agent)

    def attitude_of_speaker(self, room: str, name: str, text: str) -> float | None:
        """Return the previous attitude of an agent by its name; None if it is missing or no agent of the room has this name."""
        agent = self._id_by_name.get((room, name))
        return None if agent is None else self.previous_attitude(agent)

    def _before_collecting(self) -> None:
        self.attitudes = attitudes_by_party(self)

    def _before_first_round(self) -> None:
        """Record who is seated, run the first survey, and ask for what the scenario needs before the debate."""
        self._record((room, list(agent_factory.seating_events(self, room))) for room in self.rooms)
        if self.context.people:
            self._run_conversations(self.debating_rooms, lambda room: ask_consent(room, self.voices))
        if self.clock.spans:
            self._record(begin_stages(self, self.clock.spans[0]))
        begun = {room.id for room in self.clock.debating(self.debating_rooms, 1)}
        self._survey([room for room in self.rooms if room.group == REFERENCE or room.id in begun])
        if "D" in self.setup.people.knowledge:
            self._run_conversations([room for room in self.rooms if room.proxies], run_questionnaire)
        if self.setup.surveys.forecast and self.setup.surveys_after(0):
            main, frame = self.setup.surveys.probe, self.setup.speech.frame
            self._run_surveys(self.debating_rooms, lambda topic: [forecast_probe(topic.probe(main), frame)])
        if self.setup.people.sides != "own":
            assign_sides(self.setup, self.debating_rooms)

    def _next_round(self) -> None:
        self.round += 1
        span = self.clock.span(self.round)
        if span and span.first == self.round > 1:
            self._record(begin_stages(self, span))
            self._survey([room for room in self._debating if room.round == 0])
        for room in self._debating:
            room.round += 1
        self._forget_ratings()
        if self.setup.interventions:
            timetable, attitude = self.setup.interventions, self.previous_attitude
            self._run_conversations(self._debating, lambda room: intervene(timetable, room, attitude))
        for rooms in concurrent_rooms(self._debating, self.round):
            self._run_conversations(rooms, self._run_room)
        self._survey(self._debating)
        if self.round == self.setup.rounds and self.setup.surveys_after(self.round):
            self._close_deliberations()
            self._run_surveys(self.debating_rooms, self.setup.surveys.end_probes)
        if self.round == self.setup.rounds and (questions := self.setup.surveys.interview):
            self._run_conversations(self.debating_rooms, lambda room: run_interviews(room, questions))

    @property
    def _debating(self) -> Sequence[RoomState]:
        """The rooms that debate in this round."""
        return self.clock.debating(self.debating_rooms, self.round)

    def _forget_ratings(self) -> None:
        """Keep the last attitudes for this round, and clear them: an attitude that is not asked for is None."""
        rated = [agent for agent in self.agents if agent.ratings]
        kept = self.clock.kept_in_pauses(self._previous_attitudes, self.debating_rooms, self.round - 1)
        self._previous_attitudes = kept | {agent.unique_id: agent.attitude for agent in rated}
        for agent in rated:
            agent.ratings = {}

    def _run_room(self, room: RoomState) -> Conversation[list[Event]]:
        """The round of one room."""
        if span := self.clock.span(self.round):
            return run_places_round(self, room, span)
        reshuffle = partial(self._shuffle, room.id, self.round)
        view = Room(tuple(room.members), self._first_order[room.id], reshuffle, room.society)
        if play := getattr(self.environment, "play", None):
            conversation: Conversation[list[Event]] = play(room, view, self)
            return conversation
        form = self.setup.reply_form(self.round)
        if room.society and isinstance(self.environment, Platform):
            return run_platform_round(room, self.environment, view)
        if room.society:
            return run_network_round(room, cast(Networked, self.environment), view, form)
        return run_round(room, self.environment.turns(view, self.round), form)

    def _survey(self, rooms: Sequence[RoomState]) -> None:
        """Survey the agents of those rooms for which a survey is due."""
        due = [room for room in rooms if self.clock.survey_due(self.setup.surveys.survey, room, self.round)]
        self._run_surveys(due, self.setup.surveys.survey_probes)

    def _run_surveys(self, rooms: Sequence[RoomState], ask: Callable[[Topic], Sequence[Probe]]) -> None:
        self._run_conversations(rooms, lambda room: run_surveys(room, ask))

    def _close_deliberations(self) -> None:
        """Run the final ratings. The questionnaire belongs to the last episode of a session, unless it came first."""
        last = None if "D" in self.setup.people.knowledge else self.setup.subject.episodes - 1
        mediated = [room for room in self.debating_rooms if room.mediator]
        phrases = self.setup.surveys.asked == PHRASES
        self._run_conversations(
            mediated, lambda room: run_closing(room, self.seatings[room.id].episode == last, phrases)
        )
        if getattr(self.environment, "vote", "none") == "final":
            self._run_conversations(mediated, run_vote)

    def _run_conversations(
        self, rooms: Sequence[RoomState], converse: Callable[[RoomState], Conversation[list[Event]]]
    ) -> None:
        """Run a conversation in each room, record its events, and stop the run if almost no reply can be read."""
        tally, voices = MissingTally(), {agent.unique_id: agent.voice for agent in self.agents} if self.voices else {}
        happened = drive([converse(room) for room in rooms], self.backend, self.progress)
        self._record(zip(rooms, happened, strict=True))
        for events in happened:
            tally.hear(events, voices, self._models, self.context.people)
            self._context_watch.hear(events)
        whole = not (self.part or self.meeting)
        earlier = set(self.tally.asked if whole else tally.asked)  # the first ratings of a part may be a few
        self.tally.add(tally)
        if not self.keep_going:
            tally.check(earlier, self._models, self.context.failure_details)

    def _record(self, happened: Iterable[tuple[RoomState, Iterable[Event]]]) -> None:
        """Record what happened in one phase of the run, room by room."""
        self._phase += 1
        for room, events in happened:
            if isinstance(self.recorder, Placed):
                self.recorder.place(self._phase, self._places[room.id])
            self.recorder.write(events)

    def _make_rooms(self) -> list[RoomState]:
        """Make the agents. Mesa groups them by room; each room shuffles its AgentSet by a random stream of its own."""
        self.seatings: dict[str, RoomSeating] = {}
        self._places: dict[str, int] = {}
        for place, seating in enumerate(seat_rooms(self.setup)):
            meeting = self.meeting if seating.group != REFERENCE else None
            elsewhere = self.meeting and self.meeting.number and not meeting  # the first worker asks the reference
            if elsewhere or (self.part and not self.part.holds(place, self.setup)):
                agent_factory.skip_ids(self, len(seating.places))
            else:
                self.seatings[seating.room], self._places[seating.room] = seating, place
                for number in range(len(seating.places)):
                    agent = agent_factory.make_agent(self, seating, number)
                    if meeting and not meeting.owns(agent.unique_id):
                        agent.memory = NoMemory("")
        self.seated = dict(self.agents.groupby("room").groups)
        named = self.agents if self.responses else ()
        self._id_by_name = {(agent.room, agent.name): agent.unique_id for agent in named}
        self._first_order = {room: self._shuffle(room) for room in self.seated}
        return [self._make_room(self.seatings[room], list(members)) for room, members in self.seated.items()]

    def _make_room(self, seating: RoomSeating, agents: Sequence[SeatedAgent]) -> RoomState:
        members = {agent.unique_id: agent for agent in agents}
        seats = {number: agent.seat for number, agent in members.items()}
        place = (seating.room, seating.topic, seating.group, seating.repetition)
        room = RoomState(*place, dict(members), seats, self.context, last_sent=SentTexts(len(members)))
        room.meeting = self.meeting if seating.group != REFERENCE else None
        room.mediator = agent_factory.make_mediator(self, seating, list(members))
        room.society = build_social_graph(seating, list(members), self.setup.seed, self.previous_attitude)
        if room.society:
            room.society.likeness = room.words.likeness
        if self.setup.speech.relevance == "embedding":
            for agent in agents:
                if isinstance(agent.memory, Retrieval):
                    agent.memory.vectors = room.vectors
        if any(name.endswith(TURNS) for name in self.setup.surveys.also):
            room.turn_probes = self.setup.surveys.turn_probes
        return room

    def _shuffle(self, room: str, *name: int) -> tuple[int, ...]:
        """The ids of a room in a random order, from the stream of this name."""
        self.seated[room].random = stream(self.setup.seed, "order", room, *name)
        return tuple([agent.unique_id for agent in self.seated[room].shuffle()])

    def _journal_key(self, request: Request) -> bytes:
        return request.key(self._identity, self.backend.seedless(request))

    def _check_rooms(self, interventions: Iterable[Intervention]) -> None:
        """Errors: UserError for an intervention in a room that does not exist, in this process or another one of the run."""
        named = [(intervention.kind, room) for intervention in interventions for room in intervention.rooms]
        rooms = {seating.room for seating in seat_rooms(self.setup) if seating.group != REFERENCE} if named else set()
        for kind, room in named:
            if room not in rooms:
                raise unknown_name(f"room of {kind}", room, rooms)
