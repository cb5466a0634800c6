"""A scenario: a preset (one TOML file in model/scenarios/) with the settings of a user. Unknown fields are refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from parley.agents.datafiles import read_toml, require_section
from parley.agents.own_people import people_folder
from parley.agents.persona import party_of
from parley.agents.society import US, VOTERS, Society, is_sentence, load_society, split_name
from parley.agents.speech import DebateStyle
from parley.agents.topic import shared_topic
from parley.environments import environment_class
from parley.environments.base import Environment, Group
from parley.environments.topologies import rounds_of_stages, with_places
from parley.llm.backends import in_society, is_person
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Sampling
from parley.llm.seeding import digest
from parley.llm.spec import split_pair
from parley.llm.studies import declared_parts
from parley.llm.trust import refuse_named
from parley.llm.typed import as_fields
from parley.model import validation
from parley.model.interventions import parse_interventions
from parley.model.interventions.base import Intervention
from parley.model.interventions.fact_check import FactCheck
from parley.model.interventions.model import Model as ModelChange
from parley.model.model_shares import STAND_IN, SeatKey, check_shares, draw_shares, persona_models, share_of
from parley.model.scenario_blocks import (
    BLOCKS,
    FIELD_BLOCKS,
    TOP,
    EnvironmentSpec,
    Models,
    People,
    Speech,
    Subject,
    Surveys,
)
from parley.model.trait_assignment import TraitAssignment, assign_traits

MEDIATOR, REPRESENTATIVE, EMBEDDER = "mediator", "representative", "embedder"
"""Names of the mediator, of representatives and of a model that embeds texts, where a field names a party or a seat."""
PRESETS = Path(__file__).parent / "scenarios"
NO_SETTINGS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Scenario:
    """What is debated, by whom, how often, and how it is measured. Frozen; `load_preset` reads one, `with_settings` changes it.

    Its fields are in blocks, by what they are about (model/scenario_blocks.py): `scenario.people.cast`. Users set them by name
    alone: `cast=fresh`. [Fields](fields.md) explains every field.

    Examples
    --------
    >>> load_preset("two_way", {"rounds": 2, "topic": "racism"}).subject.topic
    ('racism',)
    """

    name: str
    title: str  # one line for --list
    source: str  # paper and figures that it reproduces
    environment_spec: EnvironmentSpec  # who sits together and who hears whom: an environment and its options
    subject: Subject = field(default_factory=Subject)
    people: People = field(default_factory=People)
    surveys: Surveys = field(default_factory=Surveys)
    speech: Speech = field(default_factory=Speech)
    models: Models = field(default_factory=Models)
    interventions: tuple[Intervention, ...] = ()  # events from outside, when and to whom (model/interventions)
    repetitions: int = 40  # rooms per topic and group, each with its own personas
    rounds: int = 5  # rounds of a debate; every agent speaks once in each
    seed: int = 0  # random seed; the same seed gives the same record

    @property
    def environment(self) -> Environment:
        """The environment with its options. Errors: UserError when the options do not fit."""
        return self.environment_spec.environment

    @cached_property
    def mediated(self) -> bool:
        """Whether a mediator sits with the groups."""
        return any(group.mediated for group in self.groups)

    def surveys_after(self, round_: int) -> bool:
        """Return whether a survey is due after this round (0: before the debate)."""
        return self.surveys.survey == "rounds" or (self.surveys.survey != "never" and round_ in (0, self.rounds))

    @cached_property
    def adapter_by_party(self) -> dict[str, str]:
        """The adapter of each party or seat that speaks through one. Errors: UserError on an entry that cannot be read."""
        return self._by_party("adapters", self.models.adapters, ":", "ADAPTER")

    @cached_property
    def llm_by_party(self) -> dict[str, str]:
        """The model of each party, seat, share of agents and persona that has its own, and of each intervention with a model,
        by its voice (model/model_shares.py).

        Errors: UserError on an entry that cannot be read.
        """
        specs_by_voice = {who: spec for who, spec in self._spec_by_party.items() if not spec.startswith(STAND_IN)}
        check_shares(specs_by_voice)
        specs_by_voice |= persona_models(self)
        changes = [
            intervention
            for intervention in self.interventions
            if isinstance(intervention, ModelChange | FactCheck) and intervention.llm
        ]
        specs_by_voice |= {change.voice: change.llm for change in changes}
        return {voice: in_society(spec, self.subject.society) for voice, spec in specs_by_voice.items()}

    @cached_property
    def share_by_seat(self) -> Mapping[SeatKey, str]:
        """The voice of each seat that a share of the models falls on."""
        return draw_shares(self)

    @cached_property
    def surrogate_by_party(self) -> dict[str, str]:
        """The surrogate's file of each party or seat that a surrogate plays."""
        specs = self._spec_by_party.items()
        return {who: spec.removeprefix(STAND_IN) for who, spec in specs if spec.startswith(STAND_IN)}

    @cached_property
    def _spec_by_party(self) -> dict[str, str]:
        return self._by_party("llms", self.models.llms, "=", "SPEC")

    def _by_party(self, field_: str, entries: Sequence[str], mark: str, what: str) -> dict[str, str]:
        """Read entries such as `PARTY=SPEC`, by party or seat."""
        names = [*self.party_and_seat_names, *([MEDIATOR] if self.mediated else [])] if entries else []
        stands_in = self.mediated and any(
            is_person(spec) for entry in self.models.llms if (spec := entry.partition("=")[2])
        )
        names += [REPRESENTATIVE] if self.people.represented != "none" or stands_in else []
        names += getattr(self.environment, "voices", ())
        names += [EMBEDDER] if self.speech.relevance == "embedding" else []
        values: dict[str, str] = {}
        for entry in entries:
            who, _, value = entry.partition(mark)
            who = self.society.seat(who)
            shared = mark == "=" and share_of(who) is not None
            if shared and value.startswith(STAND_IN):
                raise UserError(
                    f"{field_}: a surrogate replaces a whole party or one seat: write its name instead of {who}"
                )
            if who not in names and not shared:
                raise unknown_name(f"party of {field_}", who, names)
            if not value or who in values:
                raise UserError(f"{field_}: {entry!r} does not have the form PARTY{mark}{what}, or names a party twice")
            values[who] = value
        return values

    @property
    def groups(self) -> Sequence[Group]:
        """The groups of people that sit together."""
        return self.environment_spec.groups

    @cached_property
    def trait_assignment(self) -> TraitAssignment:
        """Roles, temperaments and confirmation biases by party and seat. Errors: UserError on an entry that cannot be read."""
        return assign_traits(self)

    @property
    def society(self) -> Society:
        """The society whose parties, personas, topics and language it has."""
        return load_society(self.subject.society)

    @cached_property
    def persona_folder(self) -> Path:
        """The folder of its set of personas. Errors: UserError if there is none."""
        return people_folder(self.people.personas, self.society)

    @cached_property
    def seats(self) -> list[str]:
        """Every kind of seat (PARTY or PARTY:VARIANT) in a debate or in the reference, sorted."""
        return sorted({*self.people.reference, *(seat for group in self.groups for seat in group.seats)})

    @cached_property
    def parties(self) -> list[str]:
        """The parties of all seats, sorted."""
        return sorted({party_of(seat) for seat in self.seats})

    @cached_property
    def party_and_seat_names(self) -> list[str]:
        """Every party, then every label of a seat: the names by which a field addresses agents."""
        return list(dict.fromkeys([*self.parties, *(label for group in self.groups for label in group.labels)]))

    @cached_property
    def style(self) -> DebateStyle:
        """How the agents debate."""
        sampling = Sampling(
            self.speech.temperature, self.speech.max_tokens, self.speech.top_p, (), self.speech.min_p, self.speech.top_k
        )
        others = {name: self.value(name) for name in DebateStyle._fields if name != "sampling"}
        return DebateStyle(sampling=sampling, **others | {"frame": self.society.language.frame(self.speech.frame)})

    def reply_form(self, round_: int) -> str:
        """Return the form of text in round 1, 2, ...: reply, opening or closing."""
        if self.speech.format == "free":
            return "reply"
        if round_ == 1:
            return "opening"
        return "closing" if self.speech.closing and round_ == self.rounds else "reply"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name as plain values, as in the header of a record."""
        values = {word: self.value(word) for word in FIELD_BLOCKS}
        return dict(json.loads(json.dumps(values, default=asdict)))

    def value(self, word: str) -> Any:
        """Return the value of a field by its name in a preset, from the block that holds it."""
        if word == "environment":
            return self.environment_spec.name
        if word == "options":
            return self.environment_spec.to_dict()
        block = FIELD_BLOCKS[word]
        return getattr(getattr(self, block) if block else self, word)

    def digest(self) -> str:
        """Return a digest of all fields: two runs with the same digest are the same experiment."""
        return digest(json.dumps(self.to_dict(), sort_keys=True)).hex()

    def with_settings(self, settings: Mapping[str, Any]) -> Scenario:
        """Return the scenario with some fields, or options of its environment, set.

        Parameters
        ----------
        settings : dict
            Values by field, as in Python or as text (`{"rounds": 2, "topic": "racism,abortion"}`).

        Returns
        -------
        Scenario
            A new scenario; this one does not change.

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
        """Return the scenario with some fields set to values of the right type. Nothing is converted.

        Blocks check their own values, but nothing checks whether the blocks fit together. This is for code that shortens a run
        or changes its seed; settings of a user go through `with_settings`.
        """
        top = {name: value for name, value in values.items() if FIELD_BLOCKS.get(name, TOP) == TOP}
        if "society" in values:
            spec = top.get("environment_spec", self.environment_spec)
            top["environment_spec"] = replace(spec, society=values["society"])
        for block in BLOCKS:
            if block_values := {name: value for name, value in values.items() if FIELD_BLOCKS.get(name) == block}:
                top[block] = replace(getattr(self, block), **block_values)
        return replace(self, **top)

    def _changed(self, settings: Mapping[str, Any]) -> Scenario:
        """Return the scenario with these settings, before it is checked."""
        spec, settings = self.environment_spec, with_places(settings)
        name = settings.get("environment", spec.name)
        changed, options = _typed_settings(settings, name)
        if name != spec.name:
            changed["environment_spec"] = EnvironmentSpec(name, options, spec.society)
        elif options:
            changed["environment_spec"] = EnvironmentSpec(name, {**spec.options, **options}, spec.society)
        society = changed.get("society", spec.society)
        elsewhere = society != spec.society
        if elsewhere and "topic" not in changed and not changed.get("questions", self.subject.questions):
            changed["topic"] = _shared_topics(self.subject.topic, society)
        if elsewhere and changed.get("personas", self.people.personas) not in load_society(society).persona_sets:
            changed.setdefault("personas", VOTERS)
        if "interventions" in changed:
            home = load_society(society)
            changed["interventions"] = tuple(_addressed(each, home) for each in changed["interventions"])
        changed["llm"] = in_society(changed.get("llm", self.models.llm), society)
        return self.replace(**changed)


def _shared_topics(topics: Iterable[str], society: str) -> tuple[str, ...]:
    """Return those topics that every society has, by their plain names; a topic in one line is one of them."""
    names = (split_name(topic)[1] for topic in topics)
    return tuple([name for name in names if is_sentence(name) or shared_topic(society, name).is_file()])


def _addressed(intervention: Intervention, society: Society) -> Intervention:
    """Return an intervention to, and about, the parties of a society, where it says `first` or `second`."""
    named: dict[str, Any] = {
        name: tuple(map(society.seat, getattr(intervention, name)))
        for name in ("to", "hear")
        if hasattr(intervention, name)
    }
    return replace(intervention, **named)


SETTABLE = set(FIELD_BLOCKS) - {"name", "title", "source", "environment", "options"}
"""The fields that a user sets by name."""


def _typed_settings(settings: Mapping[str, Any], environment: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the scenario's fields among the settings, and the options of its environment, with values of the right type.

    Errors: UserError on an unknown name, with the nearest right names.
    """
    kind = environment_class(environment)
    options = {option.name for option in fields(kind)}
    settable = SETTABLE | {"environment"} | options
    if unknown := [key for key in settings if key not in settable]:
        raise unknown_name("field", unknown[0], settable)
    values: dict[str, Any] = {}
    for block, cls in {TOP: Scenario, **BLOCKS}.items():
        words = [key for key in settings if key in SETTABLE - {"interventions"} and FIELD_BLOCKS[key] == block]
        values |= as_fields(cls, {key: settings[key] for key in words})
    if "interventions" in settings:
        values["interventions"] = parse_interventions(settings["interventions"])
    return values, as_fields(kind, {key: settings[key] for key in settings if key in options})


def preset_names() -> list[str]:
    """Return the names of all presets.

    Returns
    -------
    list of str
        Sorted; `load_preset` takes any of them.

    Examples
    --------
    >>> "echo_chamber" in preset_names()
    True
    """
    return sorted(preset_files())


def preset_files() -> dict[str, Path]:
    """Return the file of each preset by its name: those of Parley, and those of studies. Errors: UserError for a name twice."""
    files = {path.stem: path for path in PRESETS.glob("*.toml")}
    for name, declared in declared_parts("scenarios").items():
        if name in files:
            raise UserError(f"the scenario {name} of study {declared.study.name} has a used name: rename the scenario")
        files[name] = declared.study.folder / "scenarios" / f"{name}.toml"
    return files


def load_preset(name: str, settings: Mapping[str, Any] = NO_SETTINGS) -> Scenario:
    """Load a scenario.

    Parameters
    ----------
    name : str
        The name of a preset (`preset_names()`), or the path of a file that ends in .toml.
    settings : dict, optional
        Fields to set over those of the preset, as for `Scenario.with_settings`.

    Returns
    -------
    Scenario
        The preset with the settings. All other fields have their defaults.

    Raises
    ------
    UserError
        The preset is unknown, or the file or a setting is wrong. The message names the nearest right name.

    Examples
    --------
    >>> load_preset("two_way", {"rounds": 2}).environment_spec.name
    'round_table'
    """
    scenario = read_preset(name, settings)
    validation.check_scenario(scenario)
    return scenario


def read_preset(name: str, settings: Mapping[str, Any] = NO_SETTINGS) -> Scenario:
    """Load a scenario as `load_preset` does, but do not check that its fields fit together."""
    files = {name: Path(name)} if name.endswith(".toml") else preset_files()
    if name not in files:
        raise UserError(f"{unknown_name('scenario', name, preset_names())} (run.py --list describes all)")
    path = files[name]
    values = dict(with_places(read_toml(path)))
    if name.endswith(".toml"):
        refuse_named(values, path)
    head = {key: values.pop(key, None) for key in ("title", "source", "environment")}
    if missing := [key for key, value in head.items() if not isinstance(value, str)]:
        raise UserError(f"{path} lacks {', '.join(missing)}: add a line for each")
    environment = head.pop("environment")
    kind, given = environment_class(environment), require_section(values, "options", path.name)
    values.pop("options", None)
    values.pop("gallery", None)  # what a gallery shows of the scenario (model/gallery.py) is no setting of a run
    option_names = {option.name for option in fields(kind)}
    for key in given:
        if key not in option_names:
            raise unknown_name(f"option of {environment} in {path.name}", key, option_names)
    scenario_values, options = _typed_settings(values, environment)
    options = as_fields(kind, given) | options
    if total := rounds_of_stages(options):
        scenario_values.setdefault("rounds", total)
    spec = EnvironmentSpec(environment, options, scenario_values.get("society", US))
    society = load_society(str(settings.get("society", spec.society)))
    if "interventions" in scenario_values:
        scenario_values["interventions"] = tuple(
            _addressed(intervention, society) for intervention in scenario_values["interventions"]
        )
    if "society" in scenario_values:
        scenario_values.setdefault("topic", ())  # those of the society, and not those of the usual one
    preset = Scenario(name=path.stem, **head, environment_spec=spec).replace(**scenario_values)
    return preset._changed(settings) if settings else preset


def scenario_from_dict(values: Mapping[str, Any], source: object) -> Scenario:
    """Return the scenario with these fields, as in the header of a record. source: the file or folder that holds them.

    Errors: UserError if this version has other fields, or if they name code that the user has not named.
    """
    if "scales" in values and not values["environment"]:  # of a log (analysis/logs)
        raise UserError(
            "the run was read from a log, so its scenario is unknown: Parley can neither ask nor check anything again"
        )
    if unknown := sorted(set(values) ^ set(FIELD_BLOCKS)):
        raise UserError(f"the run was made by another version of Parley, with other fields ({', '.join(unknown)})")
    refuse_named(values, source, servers=False)
    head: dict[str, Any] = {key: str(values[key]) for key in ("name", "title", "source")}
    environment, options = str(values["environment"]), dict(values["options"])
    spec = EnvironmentSpec(environment, as_fields(environment_class(environment), options), str(values["society"]))
    scenario_values, _ = _typed_settings({key: value for key, value in values.items() if key in SETTABLE}, environment)
    return Scenario(**head, environment_spec=spec).replace(**scenario_values)


def parse_settings(pairs: Iterable[str]) -> dict[str, str]:
    """`["frame=conversation"]` -> {"frame": "conversation"}. Errors: UserError when a pair has no `=`."""
    return {field_name(key): value for key, value in (split_pair(pair, f"--set {pair}") for pair in pairs)}


def field_name(word: str) -> str:
    """Return the field that a word of a command line names.

    >>> field_name(" default-agent")
    'default_agent'
    """
    return word.strip().replace("-", "_")
