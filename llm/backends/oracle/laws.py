"""The planted laws of the oracle besides that of attitudes, and the options that plant them.

A law is one file. A function or a class there plants it: its arguments are options of `--llm oracle`, and its docstring and that
of the file explain them. So a new law is a file, a field of `Laws`, and a line in `PLANTERS`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from parley.llm.backends.oracle.act_law import PLANTED, ActLaw, plant_acts
from parley.llm.backends.oracle.answer_laws import (
    UNSUSPECTING,
    SuspicionLaw,
    plant_steadiness,
    plant_sycophancy,
    plant_wording,
)
from parley.llm.backends.oracle.belief_network import BeliefNetwork, plant_network
from parley.llm.backends.oracle.ignored import plant_ignored
from parley.llm.backends.oracle.option_texts import parse_numbers
from parley.llm.backends.oracle.people_laws import (
    PLANTED_SURVEY,
    USUAL_ATTRIBUTES,
    USUAL_MEDIATION,
    USUAL_REPRESENTATION,
    AttributeLaw,
    MediationLaw,
    RepresentationLaw,
    SurveyLaw,
    plant_attributes,
)
from parley.llm.backends.oracle.speech_laws import (
    CALM,
    CANDID,
    READER,
    USUAL,
    EmotionLaw,
    PersuasionLaw,
    QuotationLaw,
    plant_tact,
)
from parley.llm.errors import UserError, unknown_name
from parley.llm.studies import studies

PARAMETERS = ("kappa", "mu", "sigma", "epsilon", "bias", "pull", "society", "manner", "model")
"""Options of the oracle itself, which no law may have."""
EVENTS = 2.0
"""Points by which news moves how the speaker fares, unless another number is planted."""


class Laws(NamedTuple):
    """The planted laws; each has its usual value unless another is planted.

    acts: what it does on a social medium. emotions: how its feelings spread. quotations: how it quotes what it is shown.
    by_trait: how much more influence others have on a person for each step of a trait. events: by how many points news moves
    how it fares. survey: how groups answer closed questions. network: with one, the attitude follows from it alone.
    persuasion: how strong messages are for it. steady: how often it repeats an earlier answer. tact: by how many points its
    lines go toward the audience, by frame. attributes: which sentences it writes about people, and how they move its answers.
    ignored: what it ignores of what it is given. misjudges: how often a verdict on a rule is turned round. mediation: how far
    its drafts differ, and whom they suit. sycophancy: how far answers go to what an interviewer says to think. suspicion: who
    guesses what a study is about, and goes where it seems to want them. wording: by how many points answers are higher under
    another wording. representation: what a representative can know of a person. by_study: the laws of studies
    (llm/studies.py).
    """

    acts: ActLaw = PLANTED
    emotions: EmotionLaw = CALM
    quotations: QuotationLaw = USUAL
    by_trait: Mapping[str, float] = {}
    events: float = EVENTS
    survey: SurveyLaw = PLANTED_SURVEY
    network: BeliefNetwork | None = None
    persuasion: PersuasionLaw = READER
    steady: float = 0.0
    tact: Mapping[str, float] = CANDID
    attributes: AttributeLaw = USUAL_ATTRIBUTES
    ignored: tuple[str, ...] = ()
    misjudges: float = 0.0
    mediation: MediationLaw = USUAL_MEDIATION
    sycophancy: float = 0.0
    suspicion: SuspicionLaw = UNSUSPECTING
    wording: float = 0.0
    representation: RepresentationLaw = USUAL_REPRESENTATION
    by_study: Mapping[str, Any] = {}

    def of(self, study: str) -> Any:
        """Return the planted law of a study."""
        return self.by_study[study] if study in self.by_study else _law_of_study(study)()

    def swayed(self, reading: Any, attitude: float, direction: int) -> float:
        """Return the attitude by which a question is rated, changed by the planted laws of studies (`Study.sway`)."""
        for sway, law in self._declared("sway"):
            attitude = sway(reading, attitude, direction, law)
        return attitude

    def shift(self, form: str) -> float:
        """Return by how many points a line from outside of this form moves an attitude (`Study.shift`)."""
        points: float = sum(shift(form, law) for shift, law in self._declared("shift"))
        return points

    def endings(self, reading: Any) -> list[str]:
        """Return the sentences with which a speaker ends what it says (`Study.ending`)."""
        return [ending(reading, law) for ending, law in self._declared("ending")]

    def _declared(self, field: str) -> Iterator[tuple[Callable[..., Any], Any]]:
        """Yield the function of this field of each study whose law is planted, with the law."""
        for name, law in self.by_study.items():
            if reference := getattr(studies()[name], field):
                yield studies()[name].part(reference), law

    def planted(self) -> dict[str, Any]:
        """Return the laws that differ from the usual ones, by name, as data.

        >>> Laws(steady=0.5).planted()
        {'steady': 0.5}
        """
        named_laws = zip(self._fields[:-1], self, self._field_defaults.values(), strict=False)
        usual = {name: law for name, law, default in named_laws if law != default}
        changed = {study: law for study, law in self.by_study.items() if law != _law_of_study(study)()}
        return {name: _plain(law) for name, law in (usual | changed).items()}


USUAL_LAWS = Laws()


def plant_traits(by_trait: str = "") -> Mapping[str, float]:
    """Return how much more influence others have on a person for each step of a trait (very_low, -2, to very_high, 2)."""
    return parse_numbers("by_trait", by_trait)


def plant_events(events: float = EVENTS) -> float:
    """Return by how many points news moves how the speaker fares (circumstances.py)."""
    return _finite("events", events)


def plant_misjudges(misjudges: float = 0.0) -> float:
    """Return the probability that a verdict on a rule is turned round."""
    if not 0 <= misjudges <= 1:
        raise UserError("oracle: misjudges must be between 0 and 1. Example: oracle,misjudges=0.5")
    return misjudges


def _finite(option: str, value: float) -> float:
    if not math.isfinite(value):
        raise UserError(f"oracle: {option} must be a finite number. Example: oracle,{option}=1")
    return value


PLANTERS: Mapping[str, Callable[..., Any]] = {
    "acts": plant_acts,
    "emotions": EmotionLaw,
    "quotations": QuotationLaw,
    "by_trait": plant_traits,
    "events": plant_events,
    "survey": SurveyLaw,
    "network": plant_network,
    "persuasion": PersuasionLaw,
    "steady": plant_steadiness,
    "tact": plant_tact,
    "attributes": plant_attributes,
    "ignored": plant_ignored,
    "misjudges": plant_misjudges,
    "mediation": MediationLaw,
    "sycophancy": plant_sycophancy,
    "suspicion": SuspicionLaw,
    "wording": plant_wording,
    "representation": RepresentationLaw,
}
"""By field of `Laws`: what plants the law. A law with a method `check` is checked when it is planted."""


def _law_of_study(name: str) -> Callable[..., Any]:
    study = studies()[name]
    planter: Callable[..., Any] = study.part(study.law)
    return planter


def _planters() -> dict[str, Callable[..., Any]]:
    return {**PLANTERS, **{name: _law_of_study(name) for name, study in studies().items() if study.law}}


def law_options() -> Mapping[str, inspect.Parameter]:
    """Return the options of all laws by name, with their types and usual values. Errors: UserError where two laws share one."""
    return _law_options(frozenset(studies()))


@cache
def _law_options(known_studies: frozenset[str]) -> Mapping[str, inspect.Parameter]:
    owner = dict.fromkeys(PARAMETERS, "that of debates")
    all_options: dict[str, inspect.Parameter] = {}
    for law, options in _options_by_law(known_studies).items():
        if taken := sorted(options.keys() & owner.keys()):
            other = owner[taken[0]]
            raise UserError(
                f"the law {law} has the option {taken[0]}, but the law {other} of the oracle has it too: rename the option"
            )
        all_options |= options
        owner |= dict.fromkeys(options, law)
    return all_options


@cache
def _options_by_law(known_studies: frozenset[str]) -> Mapping[str, Mapping[str, inspect.Parameter]]:
    """Return the options of each field of `Laws` by name. known_studies: those whose laws are planted as well."""
    options_by_law = {}
    for field, planter in _planters().items():
        hints, arguments = get_type_hints(planter), inspect.signature(planter).parameters
        options_by_law[field] = {
            name: argument.replace(kind=argument.KEYWORD_ONLY, annotation=hints[name])
            for name, argument in arguments.items()
        }
    return options_by_law


def plant_laws(options: Mapping[str, Any]) -> Laws:
    """Return the laws with these options. Errors: UserError for an unknown option, or a value that a law cannot have."""
    known_options = law_options()
    for name in options:
        if name not in known_options:
            raise unknown_name("option of oracle", name, known_options)
    planted, planters = {}, _planters()
    for field, law_parameters in _options_by_law(frozenset(studies())).items():
        given = {name: value for name, value in options.items() if name in law_parameters}
        if given or field in PLANTERS:
            planted[field] = planters[field](**given)
        if hasattr(planted.get(field), "check"):
            planted[field].check()
    return Laws(**{field: planted.pop(field) for field in PLANTERS}, by_study=planted)


def _plain(law: Any) -> Any:
    if is_dataclass(law) and not isinstance(law, type):
        return asdict(law)
    return law._asdict() if hasattr(law, "_asdict") else law
