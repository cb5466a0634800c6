"""A scenario: a preset (one TOML file in model/scenarios/) and what was set over it. Frozen; unknown keys are refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from parley.agents.agent import DebateStyle
from parley.agents.datafiles import read_toml, require_section
from parley.agents.persona import party_of
from parley.agents.question import Question, question_set, questions_by_id, topics_of
from parley.agents.representative import parse_knowledge
from parley.agents.topic import TURNS, Probe, Topic, load_topic
from parley.environments import environment_class
from parley.environments.base import Environment, Group
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Sampling
from parley.llm.seeding import digest
from parley.llm.spec import split_pair
from parley.llm.typed import as_fields
from parley.model import validation
from parley.model.environment_spec import EnvironmentSpec
from parley.model.interventions import Intervention, parse_interventions
from parley.model.interventions.fact_check import FactCheck
from parley.model.interventions.model import Model
from parley.model.trait_assignment import TraitAssignment, assign_traits

MEDIATOR, REPRESENTATIVE = "mediator", "representative"
"""The party and seat of those who have none of their own."""
STAND_IN = "surrogate:"
"""How the spec of a surrogate begins, which is no model (model/surrogate_seats.py)."""
PRESETS = Path(__file__).parent / "scenarios"
NO_SETTINGS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Scenario:
    """What is debated, by whom, how often, and how it is measured. Frozen; `load_preset` reads one, `with_settings` changes it.

    [Fields](fields.md) explains every field. `options` are the fields of the environment (who sits together, who hears whom).

    Examples
    --------
    >>> load_preset("two_way", {"rounds": 2, "topics": "racism"}).topics
    ('racism',)
    """

    name: str
    title: str  # one line for --list
    source: str  # paper and figures it stands for
    environment_spec: EnvironmentSpec  # who sits together and who hears whom: an environment and its options
    topics: tuple[str, ...] = ("gun_violence", "racism", "climate_change", "illegal_immigration")
    questions: str = (
        ""  # instead: shipped, or the path of a set; topics are then those to draw from (none: all of the set)
    )
    split: Literal["all", "train", "iid_test", "ood_test"] = "all"  # which of these questions
    episodes: int = 3  # different questions, drawn for each group and repetition, on which the same people sit
    repetitions: int = 40  # rooms per topic and group, each with its own personas
    rounds: int = 5  # every agent speaks once a round
    personas: str = "voters"  # a set of personas: a folder of agents/personas/, or your own at a path
    cast: Literal["circle", "fresh", "fixed", "listed", "drawn", "copies"] = (
        "circle"  # which personas sit in a repetition: others each time, the first of the file, ... (docs/personas.md: Who sits)
    )
    disclose: Literal["nothing", "gender", "demographics"] = (
        "nothing"  # what each is told of the others, beside their names; demographics: gender, party, age
    )
    introduce: Literal["nothing", "person", "ai", "copy", "even"] = (
        "nothing"  # as what the others are introduced to each; copy: of oneself; even: and that neither has the better chance
    )
    reference: tuple[str, ...] = ()  # parties asked once before the debates without taking part (dashed line)
    frame: str = "debate"  # the word used for it: debate, conversation
    probe: str = "attitude"  # the survey question, a probe of the topic
    also: tuple[
        str, ...
    ] = ()  # further probes: of the topic or of any (confidence), NAME:public before everybody, NAME:turns after every turn
    survey: Literal["rounds", "ends", "never"] = "rounds"  # before and after each round; before and at the end; never
    forecast: bool = False  # whether everybody is asked beforehand what it expects to answer at the end
    reader: Literal["strict", "paper"] = "strict"  # how a rating is read out of a reply
    listing: Literal["given", "reversed", "shuffled"] = (
        "given"  # the answers to a survey from low to high, the other way, in any order
    )
    asks: int = 2  # times a survey is asked until it can be read
    mediator: str = (
        "draft_revise"  # who makes the statements, in rooms with a mediator: NAME[,option=value] (agents/mediators)
    )
    represented: Literal["none", "one", "all"] = (
        "none"  # for whom a representative writes in the last episode of a session
    )
    knows: str = ""  # what representatives are told: letters of D, O, C, P (agents/representative.py)
    sides: Literal["own", "opposed"] = (
        "own"  # what is argued for: what one thinks; of two debaters one argues for what the first thought before, one against it
    )
    format: Literal["free", "structured"] = (
        "free"  # structured: a case, a question, roles; statements open and close it
    )
    closing: bool = True  # whether a structured debate ends with a closing statement (else with a reply like any other)
    words: int = 60  # length of a reply that is asked for
    cut: Literal["none", "sentence", "last"] = (
        "none"  # of a longer reply stay: all, the sentences within, the last words
    )
    max_tokens: int = 120  # most tokens of a reply
    temperature: float = 1.0  # of what is said
    top_p: float = 1.0  # likewise; 1: the whole distribution
    survey_temperature: float = 0.0  # of ratings and of what one writes to oneself; 0: the likeliest
    archetypes: int = 0  # answers that people of one kind and state share, drawing their own (0: everybody is asked)
    memory: str = "whole"  # whole, last:K, summary:K, retrieve:K
    importance: Literal["novelty", "asked"] = (
        "novelty"  # with retrieve:K, how important a line is: by new words, or asked
    )
    reflect: int = 0  # with retrieve:K, after how many lines somebody draws its conclusions; 0: never
    roles: tuple[str, ...] = ()  # PARTY:ROLE[+ARGUMENT] (or SEAT:.., or for everybody); ROLE/ROLE: one is drawn
    traits: tuple[str, ...] = ()  # PARTY:TRAIT=LEVEL+.., PARTY:drawn (or SEAT, or for everybody): agents/traits.toml
    confirmation_bias: tuple[str, ...] = ()  # none, weak, strong for everybody, or PARTY:.. (or SEAT:..)
    reminder: bool = False  # whether everybody is told who it is before every utterance, survey and private thought
    think: str = "none"  # what an agent does before it speaks: none, bdi, latent, bounded[,words=N] (agents/reasoning)
    adapters: tuple[str, ...] = ()  # PARTY:ADAPTER (or SEAT:ADAPTER) for who speaks through an adapter of the model
    interventions: tuple[Intervention, ...] = ()  # what happens from outside, when and to whom (model/interventions)
    llm: str = "pocket"  # SPEC of the model that everybody speaks through: NAME[:MODEL][,key=value]
    llms: tuple[str, ...] = ()  # PARTY=SPEC (or SEAT=SPEC) for who speaks through a model of its own, or a surrogate
    seed: int = 0  # same seed, same record

    @property
    def environment(self) -> Environment:
        """The environment, with its options. Errors: UserError when the options do not fit."""
        return self.environment_spec.environment

    @property
    def knowledge(self) -> str:
        """What representatives are told, as letters in the order D, O, C, P; empty without representatives."""
        return parse_knowledge(self.knows) if self.represented != "none" else ""

    @cached_property
    def mediated(self) -> bool:
        """Whether a mediator sits with its groups."""
        return any(group.mediated for group in self.groups)

    @property
    def rooms_per_repetition(self) -> int:
        """Rooms of a group in one repetition: one a topic, or one an episode."""
        return self.episodes if self.questions else len(self.topics)

    @cached_property
    def question_pool(self) -> tuple[Question, ...]:
        """The questions to draw from, in the order of the set. Errors: UserError on a topic that the set does not have."""
        known = question_set(self.questions)
        for topic in self.topics:
            if topic not in topics_of(known):
                raise unknown_name(f"topic of {self.questions}", topic, topics_of(known))
        return tuple(
            question
            for question in known
            if self.split in ("all", question.split) and (not self.topics or question.topic in self.topics)
        )

    def question(self, slug: str) -> Question:
        """The question with this id."""
        return questions_by_id(self.questions)[slug]

    def topic(self, slug: str) -> Topic:
        """The topic called `slug`, or the question with this id as a topic."""
        return self.question(slug).subject if self.questions else load_topic(slug)

    @property
    def all_topics(self) -> list[Topic]:
        """Everything that a room may be about."""
        if self.questions:
            return [question.subject for question in self.question_pool]
        return [load_topic(slug) for slug in self.topics]

    @property
    def survey_probe_names(self) -> list[str]:
        """The names of the probes of a survey, the main one first."""
        return [name for name in (self.probe, *self.also) if not name.endswith(TURNS)]

    def survey_probes(self, topic: Topic) -> list[Probe]:
        """The probes of a survey, the main one first."""
        return [topic.probe(name) for name in self.survey_probe_names]

    def turn_probes(self, topic: Topic) -> list[Probe]:
        """The probes that are asked after every turn."""
        return [topic.probe(name) for name in self.also if name.endswith(TURNS)]

    def surveys_after(self, round_: int) -> bool:
        """Is a survey due after this round (0: before the debate)?"""
        return self.survey == "rounds" or (self.survey == "ends" and round_ in (0, self.rounds))

    @cached_property
    def adapter_by_party(self) -> dict[str, str]:
        """The adapter of each party or seat that speaks through one. Errors: UserError on an entry that cannot be read."""
        return self._by_party("adapters", self.adapters, ":", "ADAPTER")

    @cached_property
    def llm_by_party(self) -> dict[str, str]:
        """The model of each party or seat that has one of its own, and of each intervention that brings one, by its name.

        Errors: UserError on an entry that cannot be read.
        """
        later = {one.voice: one.llm for one in self.interventions if isinstance(one, Model | FactCheck) and one.llm}
        return {who: spec for who, spec in self._spec_by_party.items() if not spec.startswith(STAND_IN)} | later

    @cached_property
    def surrogate_by_party(self) -> dict[str, str]:
        """The surrogate's file of each party or seat that a surrogate plays."""
        specs = self._spec_by_party.items()
        return {who: spec.removeprefix(STAND_IN) for who, spec in specs if spec.startswith(STAND_IN)}

    @cached_property
    def _spec_by_party(self) -> dict[str, str]:
        return self._by_party("llms", self.llms, "=", "SPEC")

    def _by_party(self, field: str, entries: Iterable[str], mark: str, what: str) -> dict[str, str]:
        """`PARTY=SPEC` entries by party or seat."""
        values: dict[str, str] = {}
        if not entries:
            return values
        names = [*self.party_and_seat_names, *([MEDIATOR] if self.mediated else [])]
        names += [REPRESENTATIVE] if self.represented != "none" else []
        for entry in entries:
            who, _, value = entry.partition(mark)
            if who not in names:
                raise unknown_name(f"party of {field}", who, names)
            if not value or who in values:
                raise UserError(f"{field}: write PARTY{mark}{what}, each party once, not {entry!r}")
            values[who] = value
        return values

    @property
    def groups(self) -> Sequence[Group]:
        """Who sits together, by the environment."""
        return self.environment_spec.groups

    @cached_property
    def trait_assignment(self) -> TraitAssignment:
        """Roles, temperaments and confirmation biases by party and seat. Errors: UserError on an entry that cannot be read."""
        return assign_traits(self)

    @cached_property
    def seats(self) -> list[str]:
        """Every kind of seat (PARTY or PARTY:VARIANT) in a debate or asked as a reference, sorted."""
        return sorted({*self.reference, *(seat for group in self.groups for seat in group.seats)})

    @cached_property
    def parties(self) -> list[str]:
        """The parties of all seats, sorted."""
        return sorted({party_of(seat) for seat in self.seats})

    @cached_property
    def party_and_seat_names(self) -> list[str]:
        """Every party, then every label of a seat: a field addresses agents by these."""
        return list(dict.fromkeys([*self.parties, *(label for group in self.groups for label in group.labels)]))

    @cached_property
    def style(self) -> DebateStyle:
        """How the agents debate."""
        sampling = Sampling(self.temperature, self.max_tokens, self.top_p)
        how = (
            self.survey_temperature,
            self.memory,
            self.reader,
            self.format,
            self.cut,
            self.think,
            self.importance,
            self.reflect,
            self.listing,
            self.reminder,
        )
        return DebateStyle(self.frame, self.words, sampling, *how)

    def reply_form(self, round_: int) -> str:
        """What is asked for in round 1, 2, ...: a reply, an opening or a closing."""
        if self.format == "free":
            return "reply"
        if round_ == 1:
            return "opening"
        return "closing" if self.closing and round_ == self.rounds else "reply"

    def to_dict(self) -> dict[str, Any]:
        """All fields by name as plain values, as in the record's header."""
        values: dict[str, Any] = {}
        for field in fields(self):
            if field.name == "environment_spec":
                values |= {"environment": self.environment_spec.name, "options": self.environment_spec.to_dict()}
            else:
                values[field.name] = getattr(self, field.name)
        return dict(json.loads(json.dumps(values, default=asdict)))

    def digest(self) -> str:
        """Two runs with the same digest are the same experiment."""
        return digest(json.dumps(self.to_dict(), sort_keys=True)).hex()

    def with_settings(self, settings: Mapping[str, Any]) -> Scenario:
        """The scenario with some fields, or fields of its environment, set.

        Parameters
        ----------
        settings : dict
            Values by field, as in Python or as text (`{"rounds": 2, "topics": "racism,abortion"}`).

        Returns
        -------
        Scenario
            Another scenario; this one stays as it is.

        Raises
        ------
        UserError
            A field is unknown, or its value does not fit. The message names the nearest right names.
        """
        if not settings:
            return self
        changed = self._changed(settings)
        validation.check_scenario(changed)
        return changed

    def replace(self, **values: Any) -> Scenario:
        """The scenario with some fields set to values of the right type. Nothing is converted or checked.

        For code that shortens a run or changes its seed. Settings of a user go through `with_settings`.
        """
        return replace(self, **values)

    def _changed(self, settings: Mapping[str, Any]) -> Scenario:
        """The scenario with these settings, before it is checked."""
        spec = self.environment_spec
        name = settings.get("environment", spec.name)
        own, options = _typed_settings(settings, name)
        if name != spec.name:
            own["environment_spec"] = EnvironmentSpec(name, options)
        elif options:
            own["environment_spec"] = EnvironmentSpec(name, {**spec.options, **options})
        return replace(self, **own)


def _typed_settings(settings: Mapping[str, Any], environment: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scenario's own fields among the settings, and the options of its environment, each of the right type.

    Errors: UserError on an unknown name, with the nearest right names.
    """
    kind = environment_class(environment)
    own, options = {*SETTABLE, "environment"}, {field.name for field in fields(kind)}
    for key in settings:
        if key not in own | options:
            raise unknown_name("field", key, own | options)
    values = as_fields(Scenario, {key: settings[key] for key in settings if key in SETTABLE - {"interventions"}})
    if "interventions" in settings:
        values["interventions"] = parse_interventions(settings["interventions"])
    return values, as_fields(kind, {key: settings[key] for key in settings if key in options})


SETTABLE = {field.name for field in fields(Scenario)} - {"name", "title", "source", "environment_spec"}
"""The fields that a user sets by name."""


def preset_names(folder: Path = PRESETS) -> list[str]:
    """The names of all presets.

    Returns
    -------
    list of str
        Sorted; `load_preset` takes any of them.

    Examples
    --------
    >>> "echo_chamber" in preset_names()
    True
    """
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_preset(name: str, settings: Mapping[str, Any] = NO_SETTINGS, folder: Path = PRESETS) -> Scenario:
    """Load a scenario.

    Parameters
    ----------
    name : str
        The name of a preset (`preset_names()`), or the path of a file that ends in .toml.
    settings : dict, optional
        Fields to set over those of the preset, as for `Scenario.with_settings`.
    folder : Path, optional
        Where presets lie.

    Returns
    -------
    Scenario
        The preset with the settings. A field that neither names has its default.

    Raises
    ------
    UserError
        There is no such preset, the file is wrong, or a setting is. The message names the nearest right name.

    Examples
    --------
    >>> load_preset("two_way", {"rounds": 2}).environment_spec.name
    'round_table'
    """
    scenario = read_preset(name, settings, folder)
    validation.check_scenario(scenario)
    return scenario


def read_preset(name: str, settings: Mapping[str, Any] = NO_SETTINGS, folder: Path = PRESETS) -> Scenario:
    """The scenario of `load_preset` before its fields are checked against each other: for its title, or for its header."""
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not name.endswith(".toml") and name not in preset_names(folder):
        raise unknown_name("scenario", name, preset_names(folder))
    values = read_toml(path)
    head = {key: values.pop(key, None) for key in ("title", "source", "environment")}
    missing = [key for key, value in head.items() if not isinstance(value, str)]
    if missing:
        raise UserError(f"{path} needs a line each for {', '.join(missing)}")
    environment = head.pop("environment")
    given = require_section(values, "options", path.name)
    values.pop("options", None)
    known = {field.name for field in fields(environment_class(environment))}
    for key in given:
        if key not in known:
            raise unknown_name(f"option of {environment} in {path.name}", key, known)
    options = as_fields(environment_class(environment), given)
    own, more = _typed_settings(values, environment)
    preset = Scenario(name=path.stem, **head, environment_spec=EnvironmentSpec(environment, options | more), **own)
    return preset._changed(settings) if settings else preset


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """`["frame=conversation"]` -> {"frame": "conversation"}. Errors: UserError when a pair has no `=`."""
    settings = {}
    for pair in pairs:
        key, value = split_pair(pair, f"--set {pair}")
        settings[field_name(key)] = value
    return settings


def field_name(word: str) -> str:
    """The field that a word of a command line means: `topic` is `topics`, as for the option of that name.

    >>> field_name("default-agent"), field_name(" topic")
    ('default_agent', 'topics')
    """
    name = word.strip().replace("-", "_")
    return "topics" if name == "topic" else name
