"""A claim as a TOML file: two arms, the outcome that they are compared by, the direction, and the population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from parley.agents.datafiles import build_from_table, read_toml, require_section
from parley.agents.society import US
from parley.llm.backends import check_spec
from parley.llm.errors import UserError, unknown_name
from parley.llm.trust import refuse_named
from parley.llm.typed import as_hint
from parley.model.scenario import Scenario, load_preset, parse_settings
from parley.model.validation import check_topics, topics_to_know

if TYPE_CHECKING:
    from parley.analysis.outcomes import Outcome

Direction = Literal["greater", "less", "equivalent"]
RESERVED = ("seed", "repetitions", "llm", "llms", "topic", "personas", "society")
"""Fields that a claim does not set in its arms: they are its population, or the size of the run."""


@dataclass(frozen=True)
class Contrast:
    """The settings of the two arms, as in --set; the effect is first minus second."""

    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()


@dataclass(frozen=True)
class Population:
    """Sets of personas, topics, models and societies of which the claim speaks. Each list is a sample."""

    topics: tuple[str, ...]
    models: tuple[str, ...]
    personas: tuple[str, ...]
    societies: tuple[str, ...] = (US,)


@dataclass(frozen=True)
class Claim:
    """One claim (studies/claims/README.md); `load_claim` reads and checks it.

    claim: a sentence. settings: of both arms. outcome: a metric or a column of a table (outcomes.py). expected: the direction of
    first minus second. smallest: the smallest effect of interest, in points of the outcome; with `equivalent`, the bound.
    """

    claim: str
    scenario: str
    settings: tuple[str, ...]
    outcome: str
    expected: Direction
    smallest: float
    contrast: Contrast
    population: Population

    @cached_property
    def measure(self) -> Outcome:
        """The outcome as a measure of a room."""
        from parley.analysis.outcomes import find_outcome  # metrics and tables: half a second

        return find_outcome(self.outcome)

    @property
    def compared(self) -> dict[str, str]:
        """What is compared, in columns of a table of differences: scenario, settings, both arms, outcome."""
        parts = {"settings": self.settings, "first_arm": self.contrast.first, "second_arm": self.contrast.second}
        texts = {name: " ".join(sorted(pairs)) or "as the scenario" for name, pairs in parts.items()}
        return {"scenario": self.scenario, **texts, "outcome": self.measure.label}

    def arms(self, settings: Mapping[str, Any]) -> tuple[Scenario, Scenario]:
        """Return the scenarios of both arms with the same further settings (also the seed). Errors: UserError."""
        first, second = (
            load_preset(self.scenario, {**parse_settings(self.settings), **settings, **parse_settings(arm_settings)})
            for arm_settings in (self.contrast.first, self.contrast.second)
        )
        return first, second

    def spelled_arms(self) -> list[list[str]]:
        """Return the settings of both arms. A setting of one arm is spelled out in the other too, as the scenario has it."""
        pairs = self.contrast.first, self.contrast.second
        given = [parse_settings(arm_settings) for arm_settings in pairs]
        spelled = [list(arm_settings) for arm_settings in pairs]
        for place, arm in enumerate(self.arms(self.base_settings())):
            values = arm.to_dict() | arm.to_dict()["options"]
            for name in [name for name in given[1 - place] if name in values and name not in given[place]]:
                value = values[name]
                shown = "+".join(map(str, value)) if isinstance(value, list) else value
                spelled[place].append(f"{name}={shown} (as the scenario)")
        return spelled

    def base_settings(self) -> dict[str, Any]:
        """Return the settings of the first model, set of personas and society of the population, with all topics."""
        people = self.population
        return {
            "llm": people.models[0],
            "personas": people.personas[0],
            "society": people.societies[0],
            "topic": people.topics,
        }

    def favours(self, effect: float) -> bool:
        """Return whether an effect is as expected: on the right side of 0, or within the bound.

        >>> Claim("", "", (), "", "less", 1.0, Contrast(), Population((), (), ())).favours(-0.5)
        True
        """
        if self.expected == "equivalent":
            return abs(effect) < self.smallest
        return effect > 0 if self.expected == "greater" else effect < 0

    def large_enough(self, low: float, high: float) -> bool:
        """Return whether an interval is at least the smallest effect of interest of a directed claim; False if it is missing.

        >>> Claim("", "", (), "", "less", 1.0, Contrast(), Population((), (), ())).large_enough(-1.8, -1.1)
        True
        """
        if self.expected == "equivalent":
            return False
        return high <= -self.smallest if self.expected == "less" else low >= self.smallest

    def too_small(self, low: float, high: float) -> bool:
        """Return whether an interval is below the smallest effect of interest of a directed claim; False if it is missing.

        >>> Claim("", "", (), "", "greater", 1.0, Contrast(), Population((), (), ())).too_small(0.2, 0.7)
        True
        """
        if self.expected == "equivalent":
            return False
        return low > -self.smallest if self.expected == "less" else high < self.smallest


def load_claim(path: Path) -> Claim:
    """Read and check a claim. Errors: UserError that names the file and the key."""
    claim = read_claim(path)
    check_claim(claim, path.name)
    return claim


def read_claim(path: Path) -> Claim:
    """Read a claim without the checks of `check_claim`. Errors: UserError that names the file and the key."""
    values = read_toml(path)
    refuse_named(values, path)
    return _parse(values, path.name)


def build_claim(values: Mapping[str, Any], where: str) -> Claim:
    """Return the checked claim of the values of a file. where: its name. Errors: UserError that names it and the key."""
    claim = _parse(values, where)
    check_claim(claim, where)
    return claim


def _parse(values: Mapping[str, Any], where: str) -> Claim:
    parts: dict[str, Any] = {}
    for key, kind in (("contrast", Contrast), ("population", Population)):
        if key not in values:
            raise UserError(f"{where} lacks [{key}] (studies/claims/README.md)")
        parts[key] = build_from_table(kind, require_section(values, key, where), f"[{key}] of {where}")
    plain = {"settings": [], **values, **parts}
    names = [field.name for field in fields(Claim)]
    for key in plain:
        if key not in names:
            raise unknown_name(f"key in {where}", key, names)
    if plain.get("expected", "greater") not in get_args(Direction):
        raise unknown_name(f"value of expected in {where}", str(plain["expected"]), get_args(Direction))
    if "smallest" in plain:
        plain["smallest"] = as_hint(f"smallest in {where}", plain["smallest"], float, written=False)
    return build_from_table(Claim, plain, where)


def check_claim(claim: Claim, where: str) -> None:
    """Errors: UserError where the parts of a claim do not fit. A small run of it is rehearsed without a model."""
    if not claim.claim.strip():
        raise UserError(f"claim in {where} must be one sentence, such as claim = 'Agents of one party agree more.'")
    if claim.smallest <= 0:
        raise UserError(
            f"smallest (the smallest effect of interest) in {where} must be above 0, such as smallest = 0.5"
        )
    for key in ("topics", "models", "personas", "societies"):
        names = getattr(claim.population, key)
        if not names or len(set(names)) < len(names):
            raise UserError(f"{key} in [population] of {where} must name at least one value, and each value only once")
    entries = {"settings": claim.settings, "first": claim.contrast.first, "second": claim.contrast.second}
    for key, pairs in entries.items():
        try:
            taken = sorted(set(parse_settings(pairs)) & set(RESERVED))
        except UserError as error:
            raise UserError(f"{key} in {where}: {error}") from error
        if taken:
            raise UserError(f"{key} in {where} sets {taken[0]}: name it in [population], or leave it to the command")
    try:
        arms = claim.arms(claim.base_settings())
        for personas, society in product(claim.population.personas, claim.population.societies):
            claim.arms({**claim.base_settings(), "personas": personas, "society": society})
        for arm in arms:
            claim.measure.check(arm)
        for spec in claim.population.models:
            check_spec(spec)
            check_topics(spec, topics_to_know(arms[0]))
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    if arms[0].digest() == arms[1].digest():
        raise UserError(f"[contrast] of {where} has equal settings in first and second: change one of the two")
