"""The search on its rooms, and the new rooms on which the best setting is tested.

Every setting has the same rooms, people and seeds, and those without an intervention are its control. Random search has as many
settings as the optimiser, which begins with some of them. New rooms come after those of the search: other people, as far as there
are personas enough. There, all rooms have the best setting, or that of random search, or a runner-up, or each a random setting of
its own: a choice at random, whose interval has the chance of the choice in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from parley.analysis.metrics.broken_replies import broken_line

from .audience import Audience
from .bench import Bench, Rooms, count_met
from .measures import Estimate, changes_of, effect_of, pair_rooms
from .methods import RANDOM
from .optimiser import TRIES, Optimiser, RandomSearch, SamplerSearch, first_settings, random_settings
from .space import Setting, Space

WITHOUT, BEST, BEST_RANDOM, CHANCE = "no intervention", "best found", "best of random search", "random choice"
SEARCH, NEW = "search", "new"
START = 0.25
"""The share of the settings with which a sampler begins, which are random."""
FEWEST_START = 4
USABLE = 0.5
"""A setting has no score if a smaller share of its rooms has a number in both conditions."""


@dataclass(frozen=True)
class Plan:
    """What is searched, and how. trials: settings of each method. runners: settings after the best that are tested too."""

    space: Space
    rooms: Rooms
    method: str
    trials: int
    runners: int
    seed: int

    @property
    def rounds(self) -> int:
        """Rounds of a debate."""
        return self.rooms.base.rounds

    @property
    def start(self) -> int:
        """Random settings with which a sampler begins."""
        return min(self.trials, max(FEWEST_START, round(START * self.trials)))

    @property
    def most_runs(self) -> tuple[int, int]:
        """The most runs on the rooms of the search, and on the new rooms: those without an intervention among them."""
        trials = int(min(self.trials, self.space.size))
        both = int(trials if self.method == RANDOM else min(2 * trials - min(self.start, trials), self.space.size))
        audiences, named = len(self.space.audiences), 1 + min(self.runners, both - 1) + (self.method != RANDOM)
        drawn = min(audiences, self.rooms.new)
        return both + min(audiences, both), named + drawn + min(audiences, named + drawn)

    def cost(self, setting: Setting) -> float:
        """Return what a setting costs in the rooms of one repetition."""
        return self.space.cost(setting, self.rounds, self.rooms.of(self.space.audience_of(setting)).size)

    @property
    def met(self) -> tuple[int, int]:
        """How many people of the new rooms sit in rooms of the search too, over all audiences, and how many there are."""
        return count_met([self.rooms.of(audience) for audience in self.space.audiences])


@dataclass
class Trial:
    """A setting on the rooms of the search. number: of its folder. effect: against no intervention. methods: who proposed it."""

    number: int
    setting: Setting
    cost: float
    effect: Estimate
    score: float | None
    methods: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Found:
    """What a search found. searched, new: the value of each room (`pair_rooms`); trials: in the order in which they were run.

    named: the setting of each condition of the new rooms; chance: the random setting of each new repetition. broken: says
    which faults the debates without an intervention have, "" if these are few.
    """

    plan: Plan
    trials: list[Trial]
    searched: pd.DataFrame
    new: pd.DataFrame
    named: dict[str, Setting]
    chance: list[Setting]
    missing: pd.DataFrame
    header: Any
    broken: str = ""

    def ranked(self, method: str = "") -> list[Trial]:
        """Return the trials with a score, the best first; of a method alone if one is named."""
        scored = [trial for trial in self.trials if trial.score is not None and (not method or method in trial.methods)]
        return sorted(scored, key=lambda trial: (-(trial.score or 0.0), trial.cost, trial.number))


class Search:
    """Runs a plan on a bench."""

    def __init__(self, plan: Plan, bench: Bench):
        self.plan, self.bench = plan, bench
        self.tables: dict[str, pd.DataFrame] = {}
        self.trials: dict[Setting, Trial] = {}
        self.controls: dict[tuple[str, Audience], tuple[str, pd.DataFrame]] = {}
        self.numbers: dict[Audience, str] = {(): ""}

    def run(self) -> Found:
        """Search, then test on new rooms. Errors: UserError when a budget is spent, or no setting has a score."""
        plan = self.plan
        if not plan.space.audience:
            self.tables[WITHOUT] = self._control(SEARCH, ())[1]
        self._by(RANDOM, RandomSearch(plan.space, plan.seed))
        if plan.method != RANDOM:
            start = first_settings(plan.space, plan.seed, plan.start)
            self._by(plan.method, SamplerSearch(plan.space, plan.method, plan.seed, start))
        searched, lost = pair_rooms(self.tables), _lost(self.tables, SEARCH)
        trials, header = list(self.trials.values()), self.bench.header
        found = Found(plan, trials, searched, searched, {}, [], lost, header, self._broken)
        if not found.ranked():
            return found
        return self._on_new_rooms(found)

    @property
    def _broken(self) -> str:
        return broken_line(self.bench.faults.values())

    def _by(self, method: str, optimiser: Optimiser) -> None:
        """Try settings until the method has had as many as planned, or all that there are."""
        plan, proposed = self.plan, set[Setting]()
        for _ in range(TRIES * plan.trials):
            if len(proposed) >= min(plan.trials, plan.space.size):
                break
            setting = optimiser.propose()
            cost = plan.cost(setting)
            if cost > plan.space.objective.most_cost:
                optimiser.learn(setting, None, cost)
                continue
            trial = self.trials.get(setting) or self._try(setting, cost)
            optimiser.learn(setting, trial.score, cost)
            if setting not in proposed:
                trial.methods.append(method)
                proposed.add(setting)

    def _try(self, setting: Setting, cost: float) -> Trial:
        number = len(self.trials) + 1
        space = self.plan.space
        audience = space.audience_of(setting)
        start, control = self._control(SEARCH, audience)
        scenario = self.plan.rooms.of(audience).with_setting(space, setting)
        table = self.bench.run(f"{SEARCH}/{number:03}", scenario, start)
        if audience:
            table = changes_of(table, control)
            self.tables.setdefault(WITHOUT, _unchanged(table))
        self.tables[str(number)] = table
        paired = pair_rooms({WITHOUT: self.tables[WITHOUT], "with": self.tables[str(number)]})
        effect = effect_of(paired, "with", WITHOUT)
        usable = effect.units > 0 and effect.missing <= (1 - USABLE) * len(paired)
        score = space.objective.score(effect.value, cost) if usable else None
        self.trials[setting] = Trial(number, setting, cost, effect, score)
        return self.trials[setting]

    def _on_new_rooms(self, found: Found) -> Found:
        plan, ranked = self.plan, found.ranked()
        best = found.ranked(plan.method)[0]
        named = {BEST: best.setting}
        if plan.method != RANDOM and (other := found.ranked(RANDOM)):
            named[BEST_RANDOM] = other[0].setting
        rest = [trial for trial in ranked if trial.setting not in named.values()]
        named |= {f"runner-up {place}": trial.setting for place, trial in enumerate(rest[: plan.runners], 1)}
        chance = self._chosen_by_chance()
        tables = {} if plan.space.audience else {WITHOUT: _new_rooms_of(self._control(NEW, ())[1], plan.rooms)}
        of_all: Callable[[Setting], list[Setting]] = lambda setting: [setting] * plan.rooms.new  # noqa: E731
        settings = {condition: of_all(setting) for condition, setting in named.items()} | {CHANCE: chance}
        done: dict[tuple[Setting, ...], pd.DataFrame] = {}
        for condition, each in settings.items():
            key = tuple(each)
            if key not in done:
                done[key] = self._with_new(f"{NEW}/{condition.replace(' ', '_')}", each)
            tables[condition] = done[key]
        if plan.space.audience:
            tables = {WITHOUT: _unchanged(tables[BEST]), **tables}
        missing = pd.concat([found.missing, _lost(tables, NEW)], ignore_index=True)
        new, broken = pair_rooms(tables), self._broken
        return replace(found, new=new, named=named, chance=chance, missing=missing, broken=broken)

    def _control(self, phase: str, audience: Audience) -> tuple[str, pd.DataFrame]:
        """Return the folder and rooms of an audience without an intervention, which run once in each phase."""
        if (phase, audience) not in self.controls:
            number = self.numbers.setdefault(audience, f"_{len(self.numbers):02}")
            rooms, folder = self.plan.rooms.of(audience), f"{phase}/without{number}"
            start = self.controls.get((SEARCH, audience), ("",))[0]
            table = self.bench.run(folder, rooms.first if phase == SEARCH else rooms.all, start)
            self.controls[phase, audience] = folder, table
        return self.controls[phase, audience]

    def _with_new(self, folder: str, settings: list[Setting]) -> pd.DataFrame:
        """Return the new rooms with a setting for each repetition: levels, or where audiences vary, changes (`changes_of`).

        Each audience is a run of its own, in which the repetitions of other audiences have no intervention.
        """
        space, parts = self.plan.space, []
        of_each = [space.audience_of(setting) for setting in settings]
        for audience in dict.fromkeys(of_each):
            rooms, several = self.plan.rooms.of(audience), len(set(of_each)) > 1
            start, control = self._control(NEW, audience)
            own = [setting if who == audience else None for setting, who in zip(settings, of_each, strict=True)]
            name = folder + self.numbers[audience] * several
            table = self.bench.run(name, rooms.with_new_settings(space, own), start)
            used = [bool(setting) for setting in own]
            table = _new_rooms_of(table, rooms, used)
            parts.append(changes_of(table, control) if audience else table)
        return pd.concat(parts, ignore_index=True)

    def _chosen_by_chance(self) -> list[Setting]:
        """Return a random setting for each new repetition, none that costs too much."""
        plan, most = self.plan, self.plan.space.objective.most_cost
        drawn = random_settings(plan.space, plan.seed, TRIES * plan.rooms.new)
        return [setting for setting in drawn if plan.cost(setting) <= most][: plan.rooms.new]


def _new_rooms_of(table: pd.DataFrame, rooms: Rooms, used: Sequence[bool] = ()) -> pd.DataFrame:
    """Return the rows of the new rooms. used: of each new repetition, whether it counts (none given: all do)."""
    names = [name for place, each in enumerate(rooms.names) if not used or used[place] for name in each]
    return table[table["room"].isin(names)]


def _unchanged(table: pd.DataFrame) -> pd.DataFrame:
    """Return a change of 0 for each row: what an audience does without an intervention, compared with itself."""
    return table.assign(value=0.0, reason="")


def _lost(tables: dict[str, pd.DataFrame], phase: str) -> pd.DataFrame:
    """Return one row per condition: phase, condition, rooms, missing, reason (the commonest)."""
    rows = []
    for condition, table in tables.items():
        lost = table.loc[table["value"].isna(), "reason"]
        reason = str(lost.mode().iat[0]) if len(lost) else ""
        rows.append((phase, condition, len(table), len(lost), reason))
    return pd.DataFrame(rows, columns=["phase", "condition", "rooms", "missing", "reason"])
