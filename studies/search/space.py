"""What a search may try: a space of interventions, with the cost of each, as a TOML file.

    scenario = "two_way"
    [settings]                    fields of all runs
    [objective]                   outcome, party, direction, worth, most_cost
    [vary]                        values that every intervention may have, such as round and share
    [audience]                    settings about people with several values (audience.py)
    [interventions.NAME]          the keys of an intervention; cost = {once, each}; vary = {...}: values of its own

A list is a choice; a table with low and high is a range: of whole numbers, or of numbers where an end has a decimal point.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from parley.agents.datafiles import read_toml, require_section, shipped_or_own
from parley.llm.errors import UserError, unknown_name
from parley.llm.registry import options_of
from parley.llm.trust import refuse_named
from parley.llm.typed import as_hint
from parley.model.interventions import INTERVENTIONS, parse_intervention
from parley.model.interventions.base import Intervention

from .audience import Audience, audiences_of, read_audience
from .varied import DIGITS, Range, Value, Varied, choices_of, draw_value, parse_varied

Direction = Literal["higher", "lower"]
Made = TypeVar("Made")
PAGE = "studies/search/README.md"
SHIPPED = Path(__file__).parent / "data" / "spaces"
KEYS = ("scenario", "settings", "objective", "vary", "audience", "interventions")
FIXED = ("cost", "vary", "rooms", "llm")
"""Keys of an intervention that a search cannot vary."""
OUT_OF_REACH = frozenset({"interventions", "repetitions", "seed", "llm", "llms"})
"""Fields that a space does not set: the search sets them, or the command line."""


@dataclass(frozen=True)
class Cost:
    """What an intervention costs. once: to have it at all. each: for each time that it acts, on all agents that it names.

    person: for each person of the audience.
    """

    once: float = 0.0
    each: float = 0.0
    person: float = 0.0

    def __post_init__(self) -> None:
        for name, number in vars(self).items():
            if not 0 <= number < math.inf:
                raise UserError(f"cost: {name} is {number:g}, but must be a number of 0 or more")


@dataclass(frozen=True)
class Objective:
    """What the search is after.

    outcome: as in `study claim` (`attitudes`, a metric, METRIC.COLUMN). party: only ratings of this party ("": all). direction:
    of the outcome that is wanted. worth: points of the outcome that a unit of cost is worth. most_cost: no setting costs more.
    """

    outcome: str = "attitudes"
    party: str = ""
    direction: Direction = "higher"
    worth: float = 0.0
    most_cost: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.worth < math.inf:
            raise UserError(f"objective: worth is {self.worth:g}, but must be a number of 0 or more")

    @property
    def sign(self) -> int:
        """1 where a higher outcome is wanted, else -1."""
        return 1 if self.direction == "higher" else -1

    def score(self, effect: float, cost: float) -> float:
        """Return how good a setting is: its effect in the wanted direction, less what its cost is worth.

        >>> Objective(direction="lower", worth=0.1).score(-2.0, 5.0)
        1.5
        """
        return self.sign * effect - self.worth * cost


@dataclass(frozen=True)
class Option:
    """An intervention of the space. table: its keys with one value. vary: keys that take several values. cost: of its use."""

    name: str
    table: Mapping[str, Any]
    vary: Mapping[str, Varied]
    cost: Cost


@dataclass(frozen=True)
class Setting:
    """One intervention with a value for each varied key, in the order of the file."""

    option: str
    values: tuple[tuple[str, Value], ...]

    @property
    def label(self) -> str:
        """How tables name it: `report, round 1, share 0.4`."""
        return ", ".join([self.option, *(f"{key} {str(value).replace(',', '+')}" for key, value in self.values)])


@dataclass(frozen=True)
class Space:
    """All settings that a search may try; `load_space` reads and checks one.

    audience: settings about people, which every option varies too.
    """

    scenario: str
    options: Mapping[str, Option]
    objective: Objective = field(default_factory=Objective)
    settings: Mapping[str, Any] = field(default_factory=dict)
    audience: Mapping[str, Varied] = field(default_factory=dict)

    @property
    def audiences(self) -> list[Audience]:
        """All audiences; [()] where none varies."""
        return audiences_of(self.audience)

    def audience_of(self, setting: Setting) -> Audience:
        """Return the audience of a setting."""
        return tuple([pair for pair in setting.values if pair[0] in self.audience])

    def intervention(self, setting: Setting, rooms: tuple[str, ...] = ()) -> Intervention:
        """Return the intervention of a setting, only in some rooms (none: in all). Errors: UserError for a wrong value."""
        values = {key: value for key, value in setting.values if key not in self.audience}
        table = {**self.options[setting.option].table, **values}
        made: Intervention = parse_intervention({**table, "rooms": list(rooms)} if rooms else table)
        return made

    def cost(self, setting: Setting, rounds: int, people: int = 0) -> float:
        """Return what a setting costs in a debate of so many rounds: once + each x times that it acts x share of agents
        + person x people.

        >>> option = Option("a", {"kind": "mute", "round": 2, "every": 2, "share": 0.5}, {}, Cost(1.0, 3.0))
        >>> Space("two_way", {"a": option}).cost(Setting("a", ()), 5)  # before rounds 2 and 4
        4.0
        """
        cost, acts = self.options[setting.option].cost, self.intervention(setting)
        times = sum(acts.due(round_) for round_ in range(1, rounds + 1))
        return round(cost.once + cost.each * times * acts.share + cost.person * people, DIGITS)

    def draw(self, rng: random.Random) -> Setting:
        """Return a random setting: every intervention has the same chance, then every value of each key."""
        option = self.options[rng.choice(list(self.options))]
        return Setting(option.name, tuple([(key, draw_value(varied, rng)) for key, varied in option.vary.items()]))

    @cached_property
    def size(self) -> float:
        """How many settings there are; infinite where a key takes any number of a range."""
        counts = [
            math.prod([len(choices_of(varied)) or math.inf for varied in option.vary.values()])
            for option in self.options.values()
        ]
        return float(sum(counts))

    def corners(self) -> Iterator[Setting]:
        """Yield for each intervention the setting with the first value of each key, and the one with the last."""
        for option in self.options.values():
            for end in (0, -1):
                values = [
                    (key, varied.typed(varied[-end]) if isinstance(varied, Range) else varied[end])
                    for key, varied in option.vary.items()
                ]
                yield Setting(option.name, tuple(values))

    def to_dict(self) -> dict[str, Any]:
        """Return the space as data, for the file that says what a folder is for."""
        return {
            "scenario": self.scenario, "settings": dict(self.settings), "objective": vars(self.objective),
            "audience": dict(self.audience), "interventions": {
                name: {**option.table, "vary": dict(option.vary), "cost": vars(option.cost)}
                for name, option in self.options.items()
            },
        }  # fmt: skip


def load_space(name: str) -> Space:
    """Read a space: one of Parley by its name (`messages`), or a .toml file.

    Errors: UserError on a file that is missing or broken, an unknown key or kind, a value that the kind does not take, a range
    without width, a choice of one, and on code or servers that the file names.
    """
    path = shipped_or_own("space", name, sorted(file.stem for file in SHIPPED.glob("*.toml")), SHIPPED, PAGE)
    return space_of(read_toml(path), path)


def space_of(values: Mapping[str, Any], path: Path) -> Space:
    """Return the space that a table describes. path: for messages. Errors: as `load_space`."""
    for key in values:
        if key not in KEYS:
            raise unknown_name(f"key of {path.name}", key, KEYS)
    refuse_named(values, path)
    if not isinstance(scenario := values.get("scenario"), str):
        raise UserError(f'{path} lacks its scenario: add a line such as scenario = "two_way" ({PAGE})')
    if not (tables := require_section(dict(values), "interventions", path.name)):
        raise UserError(f"{path} has no intervention: add a table such as [interventions.report] ({PAGE})")
    settings = require_section(dict(values), "settings", path.name)
    if taken := sorted(OUT_OF_REACH & settings.keys()):
        raise UserError(f"{path}: settings cannot hold {taken[0]}, because the search or the command line sets it")
    shared = require_section(dict(values), "vary", path.name)
    objective = _typed(Objective, require_section(dict(values), "objective", path.name), f"objective in {path.name}")
    audience = read_audience(require_section(dict(values), "audience", path.name), path)
    if both := sorted(audience.keys() & settings.keys()):
        raise UserError(
            f"{path}: {both[0]} has a value in [settings] and several values in [audience]: remove {both[0]} from "
            "[settings] or from [audience]"
        )
    options = {name: _option(name, table, shared, audience, path) for name, table in tables.items()}
    space = Space(scenario, options, objective, settings, audience)
    for setting in space.corners():
        space.intervention(setting)
    if space.size < 2:
        raise UserError(f"{path} has one setting, so there is nothing to choose: vary a key, or add an intervention")
    return space


def _typed(kind: type[Made], table: Mapping[str, Any], where: str) -> Made:
    """Return a dataclass with values of its types. Errors: UserError."""
    options = options_of(kind)
    for key in table:
        if key not in options:
            raise unknown_name(f"key of {where}", key, options)
    return kind(
        **{key: as_hint(f"{key} of {where}", value, options[key].hint, written=False) for key, value in table.items()}
    )


def _option(name: str, table: Any, shared: Mapping[str, Any], audience: Mapping[str, Varied], path: Path) -> Option:
    where = f"{path.name}, interventions.{name}"
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        raise UserError(f'{where} needs the kind of intervention, such as kind = "shock" ({PAGE})')
    INTERVENTIONS.find(table["kind"])
    ranges = require_section(dict(table), "vary", where)
    cost = _typed(Cost, require_section(dict(table), "cost", where), f"cost in {where}")
    fixed = {key: value for key, value in table.items() if key not in ("cost", "vary")}
    varied = {key: value for key, value in shared.items() if key not in fixed} | ranges
    if both := sorted(fixed.keys() & ranges.keys()):
        raise UserError(f"{where}: {both[0]} has a value and is varied: leave out one of the two")
    if wrong := sorted(varied.keys() & {*FIXED, "kind"}):
        raise UserError(f"{where}: {wrong[0]} cannot be varied: add a second intervention instead")
    if both := sorted(audience.keys() & {*fixed, *varied}):
        raise UserError(f"{where}: {both[0]} is a setting of the audience: leave out one of the two")
    own_values = {key: parse_varied(f"{where}, {key}", value) for key, value in varied.items()}
    return Option(name, fixed, {**own_values, **audience}, cost)
