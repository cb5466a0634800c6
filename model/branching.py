"""A branch: a run that shares the earlier rounds of another run, and goes on with other settings.

The scenario of a branch is that of its parent with further interventions (and perhaps another number of rounds). So its rounds
before `round` ask the same questions, which the journal of the parent answers. `plan_branch` replays them, before any model is
opened, and refuses a change that would reach back.
"""

from __future__ import annotations

import os
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx

from parley.environments.given_graph import GIVEN
from parley.llm.backends import check_spec
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.journal import read_database
from parley.llm.seeding import digest
from parley.llm.trust import refuse_named, run_again
from parley.model.agent_factory import AgentClass
from parley.model.casting import REFERENCE, seat_rooms
from parley.model.custom import AGENT_CLASS, FILE, TOPOLOGY, class_names, scenario_on
from parley.model.debate import DebateModel
from parley.model.events import Ended, Event, Header, Seated
from parley.model.files import JOURNAL, RECORD
from parley.model.header_bounds import check_header
from parley.model.interventions import intervention_spec, parse_interventions
from parley.model.interventions.base import Intervention
from parley.model.interventions.model import Model
from parley.model.interventions.speech import SETTINGS, Speech
from parley.model.model_shares import called_models, share_of
from parley.model.recorder import MemoryRecorder, read_lines, to_line
from parley.model.run_plan import KnownReplies, RunPlan, plan_run
from parley.model.scenario import Scenario, scenario_from_dict
from parley.model.scenario_run import Branch, RunSpec, record_of
from parley.model.stage_clock import StageClock
from parley.model.validation import check_topics, topics_to_know

ALLOWED = f"interventions (--intervene), rounds (--rounds), the model (--llm) and {', '.join(SETTINGS)}"
MEASURES = (
    "probe",
    "asked",
    "also",
    "survey",
    "forecast",
    "reader",
    "measure",
    "listing",
    "asks",
    "survey_temperature",
    "archetypes",
)
Interventions = Sequence[str | Mapping[str, Any] | Intervention]


@dataclass(frozen=True)
class BranchPlan:
    """A branch before it runs: its spec, its parent's folder, what changes (as on a command line), and the calls to be made."""

    spec: RunSpec
    parent: Path
    changes: tuple[str, ...]
    cost: RunPlan

    @property
    def first(self) -> int:
        """The first round that may differ."""
        assert self.spec.branch
        return self.spec.branch.round

    def with_budget(self, budget: Budget, retry_failures: bool = False) -> RunSpec:
        """Return the spec to run within a budget."""
        return replace(self.spec, budget=budget, retry_failures=retry_failures)


def plan_branch(
    parent: Path | str,
    round_: int,
    out: Path,
    settings: Mapping[str, Any] | None = None,
    interventions: Interventions = (),
    agent_class: AgentClass = None,
) -> BranchPlan:
    """Return the plan of a branch of the run in `parent` from a round on. Nothing is asked and nothing is written.

    settings: fields by name, of those that may change in mid-run (ALLOWED). interventions: added to those of the parent; an empty
    text drops the parent's from this round on. Errors: UserError.
    """
    folder = Path(parent)
    header, events = _read_parent(folder)
    run_again(header.scenario)
    base = scenario_of(header, folder)
    refuse_named(called_models(base), folder)  # a branch calls the models of the run
    scenario = branch_scenario(base, round_, dict(settings or {}), interventions)
    if (mine := class_names(agent_class, scenario)) != (theirs := header.scenario.get(AGENT_CLASS, [])):
        wanted = f"pass agent_class={', '.join(theirs)}" if theirs else f"leave out agent_class ({', '.join(mine)})"
        raise UserError(f"the run in {folder} has other agent classes: {wanted}")
    shared = _shared_rounds(scenario, round_, folder, events, agent_class)
    given = {*header.given, *(name for name in ("interventions", "rounds") if scenario.value(name) != base.value(name))}
    later = scenario.llm_by_party.keys() - base.llm_by_party.keys()
    for model in sorted(scenario.llm_by_party[voice] for voice in later):
        check_spec(model)
        check_topics(model, topics_to_know(base))
    models = header.branch.get("models", {}) | {voice: {} for voice in sorted(later)}
    branch = Branch(_relative(folder, out), round_, digest(shared).hex(), models)
    spec = RunSpec(scenario, out, tuple(given), start=folder, agent_class=agent_class, branch=branch)
    journal = next(path / JOURNAL for path in (out, folder) if (path / JOURNAL).exists())
    return BranchPlan(spec, folder, tuple(changes(base, scenario)), plan_run(scenario, journal))


def scenario_of(header: Header, folder: Path) -> Scenario:
    """Return the scenario of a run that can have branches. Errors: UserError."""
    scenario = recorded_scenario(header, folder)
    if scenario.mediated:
        raise UserError(f"{folder} is a private deliberation, and branches work only for debates and networks")
    return scenario


def recorded_scenario(header: Header, folder: Path) -> Scenario:
    """Return the scenario of a run. Errors: UserError where this version of Parley cannot repeat it, and where the header names
    more people than the record in the folder has lines.
    """
    scenario = _scenario(header, folder)
    check_header(scenario, record_of(folder))
    return scenario


def _scenario(header: Header, folder: Path) -> Scenario:
    fields = {key: value for key, value in header.scenario.items() if key not in (AGENT_CLASS, TOPOLOGY)}
    graph = str(fields["options"].get("graph", ""))
    if graph.startswith(f"{GIVEN},"):
        fields["options"] = {**fields["options"], "graph": "complete"}
        return scenario_on(scenario_from_dict(fields, folder), {}, nx.read_graphml(folder / FILE))
    return scenario_from_dict(fields, folder)


def branch_scenario(base: Scenario, round_: int, settings: dict[str, Any], interventions: Interventions) -> Scenario:
    """Return the scenario with other settings from a round on. Errors: UserError."""
    rounds = settings.pop("rounds", None)
    extended = base.with_settings({"rounds": base.rounds if rounds is None else rounds, "interventions": ()})
    rounds = extended.rounds
    if not 1 <= round_ <= rounds:
        extend = f"; to go on after the last round, add --rounds {round_}" if round_ > rounds else ""
        raise UserError(f"a branch must begin with a round between 1 and {rounds}, not with round {round_}{extend}")
    kept = [intervention for intervention in base.interventions if intervention.round <= rounds]
    begins = _begins(extended, round_)
    added = [
        *[setting for begin in begins for setting in _settings(base, begin, settings)],
        *_added(extended, round_, begins[0], [intervention for intervention in interventions if intervention != ""]),
    ]
    if any(intervention == "" for intervention in interventions):
        kept = [intervention for intervention in kept if _acts_first(extended, intervention) < round_]
    return base.with_settings({"rounds": rounds, "interventions": (*kept, *added)})


def _acts_first(base: Scenario, intervention: Intervention) -> int:
    """Return the first round of the run in which an intervention acts; rounds of an intervention are counted within a topic."""
    clock, rooms = StageClock.of(base), intervention.rooms
    topics = {seating.topic for seating in seat_rooms(base) if seating.room in rooms} if rooms else base.subject.topic
    acts = [clock.rounds_on(topic)[intervention.round - 1] for topic in topics
            if intervention.round <= len(clock.rounds_on(topic))]  # fmt: skip
    return min(acts, default=intervention.round)


def _begins(base: Scenario, round_: int) -> list[dict[str, Any]]:
    """Return when an intervention has to act, to act from a round of the run on: its round, and its rooms if topics differ.

    First those of the topic that is debated then.
    """
    clock = StageClock.of(base)
    if not any(span.stage.topic for span in clock.spans):
        return [{"round": round_}]
    topics: dict[tuple[int, int], list[str]] = defaultdict(list)
    for topic in base.subject.topic:
        later = [(number, place) for place, number in enumerate(clock.rounds_on(topic), 1) if number >= round_]
        if later:
            topics[min(later)].append(topic)
    rooms = [seating for seating in seat_rooms(base) if seating.group != REFERENCE]
    return [{"round": place, "rooms": tuple([room.room for room in rooms if room.topic in named])}
            for (_, place), named in sorted(topics.items())]  # fmt: skip


def _settings(base: Scenario, begin: Mapping[str, Any], settings: dict[str, Any]) -> Iterator[Intervention]:
    """Yield the interventions that change settings from a round on. Errors: UserError on one that cannot change in mid-run."""
    for name in settings:
        if name not in (*SETTINGS, "llm", "llms"):
            raise UserError(
                f"{name} cannot change in the middle of a run, because {_reason(name)}. A branch can only change {ALLOWED}"
            )
    speech = {name: settings[name] for name in SETTINGS if name in settings}
    typed = base.with_settings(speech)
    # The base may be a branch itself, which has changed settings already.
    earlier = {type(intervention) for intervention in base.interventions}
    before = Speech in earlier
    if changed := {name: typed.value(name) for name in speech if before or typed.value(name) != base.value(name)}:
        yield Speech(**begin, **changed)
    if (llm := settings.get("llm")) and (Model in earlier or llm != base.models.llm):
        yield Model(**begin, llm=llm)
    for entry in settings.get("llms") or ():
        who, _, spec = entry.partition("=")
        if (share := share_of(who)) is not None:
            raise UserError(
                f"--llm {entry}: in a branch write --intervene 'model round={begin['round']} share={share:g} llm={spec}'"
            )
        yield Model(**begin, to=(base.society.seat(who),), llm=spec)


def _reason(name: str) -> str:
    if name in ("seed", "repetitions", "topic", "society", "personas", "cast", "block", "questions"):
        return "it decides who meets in which room"
    if name in ("words", "frame", "wording", "spacing", "steering", "format"):
        return "the prompt with which each agent began states it"
    if name in MEASURES:
        return "ratings before and after the change could not be compared"
    return "agents, rooms and links are made with it before the first round"


def _added(
    base: Scenario, round_: int, begin: Mapping[str, Any], interventions: Interventions
) -> Iterator[Intervention]:
    """Yield the interventions; one without a round acts where the branch begins. Errors: UserError on one that acts earlier."""
    for intervention in interventions:
        if isinstance(intervention, str) and not any(word.startswith("round=") for word in shlex.split(intervention)):
            words = [
                f"{name}={value}" for name, of in begin.items() for value in (of if isinstance(of, tuple) else [of])
            ]
            intervention = shlex.join([*shlex.split(intervention), *words])
        elif isinstance(intervention, Mapping) and "round" not in intervention:
            intervention = {**begin, **intervention}
        (added,) = parse_interventions([intervention])
        if _acts_first(base, added) < round_:
            rooms = (
                f", and name its rooms: {shlex.join(f'rooms={room}' for room in begin['rooms'])}"
                if "rooms" in begin
                else ""
            )
            raise UserError(
                f"{added.kind} before round {added.round} would change rounds that the branch shares with its parent: "
                f"set round={begin['round']} or later{rooms}, or begin the branch with --round {_acts_first(base, added)}"
            )
        yield added


def changes(base: Scenario, scenario: Scenario) -> Iterator[str]:
    """Yield what a branch changes, as on a command line."""
    rounds, added, dropped = changed_parts(base, scenario)
    if rounds is not None:
        yield f"rounds={rounds}"
    yield from map(intervention_spec, added)
    yield from [f"without {intervention_spec(intervention)}" for intervention in dropped]


def changed_parts(base: Scenario, scenario: Scenario) -> tuple[int | None, list[Intervention], list[Intervention]]:
    """Return what a branch changes: the rounds (None: the same), the interventions that it adds, and those that it drops."""
    added = [intervention for intervention in scenario.interventions if intervention not in base.interventions]
    dropped = [intervention for intervention in base.interventions if intervention not in scenario.interventions]
    return None if scenario.rounds == base.rounds else scenario.rounds, added, dropped


def _read_parent(folder: Path) -> tuple[Header, list[Event]]:
    """Return the header and the other events of a run. Errors: UserError without a run, its record or its journal."""
    record = record_of(folder)
    if not record.exists():
        raise UserError(f"{folder} is not the folder of a run: a branch needs one with {RECORD} and {JOURNAL}")
    read_database(folder / JOURNAL).close()
    events = list(read_lines(record))
    if not events or not isinstance(events[0], Header):
        raise UserError(f"{folder} has no results yet: its record is empty")
    return events[0], events[1:]


def _shared_rounds(
    scenario: Scenario, round_: int, folder: Path, recorded: Sequence[Event], agent_class: AgentClass
) -> list[str]:
    """Return the lines of the record before a round, replayed from the journal of the run.

    Errors: UserError where the journal lacks one of their replies, or the change would reach back to them.
    """
    recorder, backend = MemoryRecorder(), KnownReplies(folder / JOURNAL, Fake([]))
    model = DebateModel(scenario, backend=backend, recorder=recorder, agent_class=agent_class, keep_going=True)
    while not backend.unknown and model.round < round_ - 1:
        model.step()
    lines = [to_line(event) for event in recorder.events]
    rounds = _rounds_of_run(scenario, recorded)
    before = [to_line(event) for event, number in zip(recorded, rounds, strict=True)
              if number < round_ and not isinstance(event, Ended)]  # fmt: skip
    ended = any(isinstance(event, Ended) for event in recorded)
    reached = max(rounds, default=0)
    if backend.unknown and not ended and reached < round_:
        if not model.round:
            raise UserError(
                f"{folder} has not finished its first survey, so a branch cannot share anything with it: "
                "resume this run first"
            )
        raise UserError(
            f"{folder} is finished up to round {model.round - 1}, so a branch can begin with round {model.round} or earlier"
        )
    if backend.unknown or lines[: len(before)] != before or (ended and len(lines) > len(before)):
        raise UserError(
            f"no branch is possible, because the rounds before round {round_} would differ from those of {folder}. "
            "Either the change affects these rounds (an agent that joins is absent before; the last round has its "
            "own survey or statements), or prompts, personas or topics have changed since the run"
        )
    return lines


def _rounds_of_run(scenario: Scenario, recorded: Sequence[Event]) -> list[int]:
    """Return the round of the run in which each event was recorded; 0 for one before the debates.

    The record goes round by round; an event says the round of its room, and rooms on other topics have other rounds.
    """
    clock = StageClock.of(scenario)
    topics = {event.room: event.topic for event in recorded if isinstance(event, Seated) and event.group != REFERENCE}
    latest, rounds = 0, []
    for event in recorded:
        room, number = str(getattr(event, "room", "")), int(getattr(event, "round", 0))
        latest = max(
            latest, clock.round_of_run(topics[room], number) if hasattr(event, "round") and room in topics else number
        )
        rounds.append(latest)
    return rounds


def _relative(folder: Path, out: Path) -> str:
    """The folder as seen from another one, so that both can be moved together."""
    return Path(os.path.relpath(folder.resolve(), out.resolve())).as_posix()
