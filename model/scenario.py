"""A scenario: a preset (one TOML file in model/scenarios/) and what was set over it. Frozen; unknown keys are refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from parley.agents.agent import DebateStyle
from parley.agents.datafiles import read_toml, require_section
from parley.agents.persona import party_of
from parley.environments import environment_class
from parley.environments.base import Environment, Group
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Sampling
from parley.llm.seeding import digest
from parley.llm.spec import split_pair
from parley.llm.typed import as_fields
from parley.model import validation
from parley.model.interventions import parse_interventions
from parley.model.interventions.base import Intervention
from parley.model.interventions.fact_check import FactCheck
from parley.model.interventions.model import Model as ModelChange
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

MEDIATOR, REPRESENTATIVE = "mediator", "representative"
"""The party and seat of those who have none of their own."""
STAND_IN = "surrogate:"
"""How the spec of a surrogate begins, which is no model (model/surrogate_seats.py)."""
PRESETS = Path(__file__).parent / "scenarios"
NO_SETTINGS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Scenario:
    """What is debated, by whom, how often, and how it is measured. Frozen; `load_preset` reads one, `with_settings` changes it.

    Its fields are in blocks, by what they are about (model/scenario_blocks.py): `scenario.people.cast`. Users set them by name
    alone: `cast=fresh`. [Fields](fields.md) explains every field.

    Examples
    --------
    >>> load_preset("two_way", {"rounds": 2, "topics": "racism"}).subject.topics
    ('racism',)
    """

    name: str
    title: str  # one line for --list
    source: str  # paper and figures it stands for
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
        """The environment, with its options. Errors: UserError when the options do not fit."""
        return self.environment_spec.environment

    @cached_property
    def mediated(self) -> bool:
        """Whether a mediator sits with its groups."""
        return any(group.mediated for group in self.groups)

    def surveys_after(self, round_: int) -> bool:
        """Is a survey due after this round (0: before the debate)?"""
        return self.surveys.survey == "rounds" or (self.surveys.survey == "ends" and round_ in (0, self.rounds))

    @cached_property
    def adapter_by_party(self) -> dict[str, str]:
        """The adapter of each party or seat that speaks through one. Errors: UserError on an entry that cannot be read."""
        return self._by_party("adapters", self.models.adapters, ":", "ADAPTER")

    @cached_property
    def llm_by_party(self) -> dict[str, str]:
        """The model of each party or seat that has one of its own, and of each intervention that brings one, by its name.

        Errors: UserError on an entry that cannot be read.
        """
        later = {
            one.voice: one.llm for one in self.interventions if isinstance(one, ModelChange | FactCheck) and one.llm
        }
        return {who: spec for who, spec in self._spec_by_party.items() if not spec.startswith(STAND_IN)} | later

    @cached_property
    def surrogate_by_party(self) -> dict[str, str]:
        """The surrogate's file of each party or seat that a surrogate plays."""
        specs = self._spec_by_party.items()
        return {who: spec.removeprefix(STAND_IN) for who, spec in specs if spec.startswith(STAND_IN)}

    @cached_property
    def _spec_by_party(self) -> dict[str, str]:
        return self._by_party("llms", self.models.llms, "=", "SPEC")

    def _by_party(self, word: str, entries: Iterable[str], mark: str, what: str) -> dict[str, str]:
        """`PARTY=SPEC` entries by party or seat."""
        values: dict[str, str] = {}
        if not entries:
            return values
        names = [*self.party_and_seat_names, *([MEDIATOR] if self.mediated else [])]
        names += [REPRESENTATIVE] if self.people.represented != "none" else []
        for entry in entries:
            who, _, value = entry.partition(mark)
            if who not in names:
                raise unknown_name(f"party of {word}", who, names)
            if not value or who in values:
                raise UserError(f"{word}: write PARTY{mark}{what}, each party once, not {entry!r}")
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
        return sorted({*self.people.reference, *(seat for group in self.groups for seat in group.seats)})

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
        speech, surveys = self.speech, self.surveys
        return DebateStyle(
            speech.frame,
            speech.words,
            Sampling(speech.temperature, speech.max_tokens, speech.top_p),
            surveys.survey_temperature,
            speech.memory,
            surveys.reader,
            speech.format,
            speech.cut,
            speech.think,
            speech.importance,
            speech.reflect,
            surveys.listing,
            speech.reminder,
        )

    def reply_form(self, round_: int) -> str:
        """What is asked for in round 1, 2, ...: a reply, an opening or a closing."""
        if self.speech.format == "free":
            return "reply"
        if round_ == 1:
            return "opening"
        return "closing" if self.speech.closing and round_ == self.rounds else "reply"

    def to_dict(self) -> dict[str, Any]:
        """All fields by name as plain values, as in the record's header."""
        values = {word: self.value(word) for word in FIELD_BLOCKS}
        return dict(json.loads(json.dumps(values, default=asdict)))

    def value(self, word: str) -> Any:
        """The value of a field by the word that a preset has for it, in whichever block it is."""
        spec = self.environment_spec
        special = {"environment": spec.name, "options": spec.to_dict()}
        block = FIELD_BLOCKS[word]
        return special[word] if word in special else getattr(getattr(self, block) if block else self, word)

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
        """The scenario with some fields set to values of the right type, by the same words. Nothing is converted.

        Blocks check their own values, but not how they fit together: for code that shortens a run or changes its seed.
        Settings of a user go through `with_settings`.
        """
        top = {name: value for name, value in values.items() if FIELD_BLOCKS.get(name, TOP) == TOP}
        for block in BLOCKS:
            if own := {name: value for name, value in values.items() if FIELD_BLOCKS.get(name) == block}:
                top[block] = replace(getattr(self, block), **own)
        return replace(self, **top)

    def _changed(self, settings: Mapping[str, Any]) -> Scenario:
        """The scenario with these settings, before it is checked."""
        spec = self.environment_spec
        name = settings.get("environment", spec.name)
        own, options = _typed_settings(settings, name)
        if name != spec.name:
            own["environment_spec"] = EnvironmentSpec(name, options)
        elif options:
            own["environment_spec"] = EnvironmentSpec(name, {**spec.options, **options})
        return self.replace(**own)


def _typed_settings(settings: Mapping[str, Any], environment: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The scenario's own fields among the settings, and the options of its environment, each of the right type.

    Errors: UserError on an unknown name, with the nearest right names.
    """
    kind = environment_class(environment)
    own, options = {*SETTABLE, "environment"}, {option.name for option in fields(kind)}
    for key in settings:
        if key not in own | options:
            raise unknown_name("field", key, own | options)
    values: dict[str, Any] = {}
    for block, cls in {TOP: Scenario, **BLOCKS}.items():
        words = [key for key in settings if key in SETTABLE - {"interventions"} and FIELD_BLOCKS[key] == block]
        values |= as_fields(cls, {key: settings[key] for key in words})
    if "interventions" in settings:
        values["interventions"] = parse_interventions(settings["interventions"])
    return values, as_fields(kind, {key: settings[key] for key in settings if key in options})


SETTABLE = set(FIELD_BLOCKS) - {"name", "title", "source", "environment", "options"}
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
    known = {option.name for option in fields(environment_class(environment))}
    for key in given:
        if key not in known:
            raise unknown_name(f"option of {environment} in {path.name}", key, known)
    options = as_fields(environment_class(environment), given)
    own, more = _typed_settings(values, environment)
    preset = Scenario(name=path.stem, **head, environment_spec=EnvironmentSpec(environment, options | more)).replace(
        **own
    )
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
