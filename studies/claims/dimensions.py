"""What a multiverse varies: settings that leave the meaning of a claim as it is, and the samples that it is drawn from.

A new setting is one more entry of `MEANT`. A level that the scenario refuses is left out. A dimension is left out with
fewer than two levels, where the claim sets its field, and where the scenario has a setting that is none of its levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.llm.typed import as_option
from parley.model.scenario import Scenario
from parley.model.scenario_blocks import FIELD_BLOCKS
from parley.studies.claims.claim import Claim

Settings = Mapping[str, Any]
SPARE = 8
"""Specifications that there must be beyond the numbers that are estimated from them."""
POPULATION = "population"
"""The family of the dimensions that are samples of what the claim speaks of; all others are settings that mean the same."""


@dataclass(frozen=True)
class Dimension:
    """A way in which specifications differ.

    name: as in reports. family: the part of the variance that it counts to. settings: by level, the fields that it sets. about:
    what the levels mean.
    """

    name: str
    family: str
    settings: Mapping[str, Settings]
    about: str = ""

    @property
    def levels(self) -> list[str]:
        return list(self.settings)

    @property
    def fields(self) -> set[str]:
        """The fields of a scenario that it sets."""
        return {name for level in self.settings.values() for name in level}

    @property
    def meant(self) -> bool:
        """Whether its levels are meant to say the same, so that a claim should not depend on them."""
        return self.family != POPULATION


def field(name: str, *values: str) -> dict[str, Settings]:
    """Return one level for each value of a field of a scenario. A value may be given as `title: value`.

    >>> field("frame", "debate", "a talk: conversation")
    {'debate': {'frame': 'debate'}, 'a talk': {'frame': 'conversation'}}
    """
    pairs = [value.rpartition(": ") for value in values]
    return {title or value: {name: value} for title, _, value in pairs}


MEANT: tuple[Dimension, ...] = (
    Dimension("word for the event", "wording", field("frame", "debate", "conversation"), "what prompts call it"),
    Dimension(
        "wording of the instructions", "wording", field("wording", "as in Parley: given", "reworded: second"),
        "Parley's own sentences in prompts, or a second wording",
    ),
    Dimension(
        "white space", "white space",
        field("spacing", "as in Parley: given", "a line more: newline", "empty lines: blank_lines", "two spaces: double_spaces"),
        "unchanged, a line break after each message, two empty lines between parts, or two spaces after a full stop",
    ),
    Dimension(
        "persona repeated", "format", {"once": {"reminder": "false"}, "before every reply": {"reminder": "true"}},
        "how often the prompt repeats the persona",
    ),
    Dimension(
        "who opens", "order", field("order", "a seat by chance: random_first", "the seat after it: random_second"),
        "first speaker: an agent drawn at random, or the next agent",
    ),
    Dimension(
        "order of answers", "order", field("listing", "upward: given", "downward: reversed"),
        "order of the points of a scale in the question",
    ),
    Dimension(
        "scale", "scale",
        field(
            "probe", "0 to 10: attitude", "10 to 0: attitude_reversed", "1 to 7: attitude_1_7", "0 to 100: attitude_0_100",
        ),
        "scale of ratings: 0 to 10, 10 to 0, 1 to 7 or 0 to 100, all converted to 0 to 10",
    ),
    Dimension(
        "memory", "memory", field("memory", "whole debate: whole", "eight lines: retrieve:8"),
        "agents remember the whole debate, or the eight most relevant messages",
    ),
    Dimension(
        "survey", "frame of the survey", field("survey", "every round: rounds", "first and last: ends"),
        "survey after every round, or before and after the debate only",
    ),
    Dimension("temperature", "sampling", field("temperature", "1.0", "0.7"), "of the sampling"),
)  # fmt: skip
"""Settings that leave the meaning of a claim as it is."""
Make = Callable[[Claim], Dimension]
DRAWN: tuple[Make, ...] = (
    lambda claim: Dimension("set of personas", POPULATION, field("personas", *claim.population.personas)),
    lambda claim: Dimension("society", POPULATION, field("society", *claim.population.societies)),
    lambda claim: Dimension(
        "model", POPULATION, {identity_spec(model): {"llm": model} for model in claim.population.models}
    ),
)
"""Samples of what the claim speaks of. Topics, and the people of a repetition, are in every specification."""


def claim_dimensions(claim: Claim) -> tuple[list[Dimension], dict[str, str]]:
    """Return the dimensions with two levels or more that fit a claim, and why each other one, or a level of it, is left out."""
    fixed = {
        pair.partition("=")[0].strip() for pair in (*claim.settings, *claim.contrast.first, *claim.contrast.second)
    }
    kept: list[Dimension] = []
    left: dict[str, str] = {}
    for dimension in (*MEANT, *(make(claim) for make in DRAWN)):
        refused = {level: refusal(claim, settings) for level, settings in dimension.settings.items()}
        fitting = {level: settings for level, settings in dimension.settings.items() if refused[level] is None}
        if dimension.meant and dimension.fields & fixed:
            left[dimension.name] = "the claim sets it"
        elif dimension.meant and len(fitting) > 1 and not _has_own(claim, fitting):
            left[dimension.name] = "the setting of the scenario is none of its levels"
        elif len(fitting) > 1:
            kept.append(replace(dimension, settings=fitting))
            left |= {f"{dimension.name}, {level}": why for level, why in refused.items() if why}
        elif len(dimension.settings) > 1:
            left[dimension.name] = next(filter(None, refused.values()))
    return kept, left


def check_size(claim: Claim, specifications: int) -> None:
    """Errors: UserError where there are too few specifications for the dimensions of a claim."""
    dimensions, _ = claim_dimensions(claim)
    needed = 1 + sum(len(dimension.levels) - 1 for dimension in dimensions) + SPARE
    full = math.prod(len(dimension.levels) for dimension in dimensions)
    if specifications < min(needed, full):
        raise UserError(
            f"too few --specifications ({specifications}) to vary {len(dimensions)} "
            f"setting{'s' * (len(dimensions) > 1)}: give --specifications {min(needed, full)} or more"
        )


def _has_own(claim: Claim, settings: Mapping[str, Settings]) -> bool:
    """Return whether one of the levels is what the scenario of a claim has already, in both arms."""
    arms = claim.arms(claim.base_settings())
    return any(
        all(as_option(setting_of(arm, name)) == as_option(value) for arm in arms for name, value in level.items())
        for level in settings.values()
    )


def setting_of(scenario: Scenario, name: str) -> Any:
    """Return the value of a field of a scenario, or of an option of its environment."""
    return scenario.value(name) if name in FIELD_BLOCKS else getattr(scenario.environment, name)


def refusal(claim: Claim, settings: Settings) -> str | None:
    """Return why the arms of a claim cannot have these settings; None if they can."""
    try:
        claim.arms({**claim.base_settings(), **settings})
    except UserError as error:
        return str(error)
    return None
