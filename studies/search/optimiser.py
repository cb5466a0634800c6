"""What a search tries next: random settings, or those that a sampler of Optuna proposes from the scores so far.

    random   every setting is drawn: the search that any other one is compared with
    tpe      Tree-structured Parzen Estimator: more often where good settings were (Bergstra et al. 2011; Akiba et al. 2019)
    nsga2    evolution of settings that no other one beats in both effect and cost (Deb et al. 2002)

A seed gives the same proposals to the same scores, so a search that is repeated asks for the same settings.
"""

from __future__ import annotations

import random
from typing import Any, Protocol

from parley.llm.errors import UserError
from parley.llm.seeding import derive, stream

from .methods import NSGA, RANDOM
from .space import Setting, Space
from .varied import Range, Value

INSTALL = "needs the package optuna: pip install 'parley-debates[search]', or give --method random"
OPTION = "intervention"
"""The name of the choice between interventions."""
SEEDS = 2**32


class Optimiser(Protocol):
    """Proposes settings, and learns what they are worth."""

    def propose(self) -> Setting:
        """Return the setting to try next, which may have been tried before."""

    def learn(self, setting: Setting, score: float | None, cost: float) -> None:
        """Take the score of the last proposal (None: it has none)."""


class RandomSearch:
    """Draws settings; learns nothing."""

    def __init__(self, space: Space, seed: int):
        self.space, self.rng = space, stream(seed, "random search")

    def propose(self) -> Setting:
        return self.space.draw(self.rng)

    def learn(self, setting: Setting, score: float | None, cost: float) -> None:
        """Learn nothing."""


class SamplerSearch:
    """Asks a sampler of Optuna. start: settings that it tries first. Errors: UserError without the package."""

    def __init__(self, space: Space, method: str, seed: int, start: list[Setting]):
        optuna = import_optuna()
        self.space, self.several = space, method == NSGA
        seed = derive(seed, method) % SEEDS
        if self.several:
            sampler = optuna.samplers.NSGAIISampler(population_size=max(2, len(start)), seed=seed)
        else:
            sampler = optuna.samplers.TPESampler(n_startup_trials=len(start), seed=seed)
        directions = ["maximize", "minimize"] if self.several else ["maximize"]
        self.study = optuna.create_study(sampler=sampler, directions=directions)
        self.failed = optuna.trial.TrialState.FAIL
        for setting in start:
            self.study.enqueue_trial(_parameters(space, setting))
        self.trial: Any = None

    def propose(self) -> Setting:
        self.trial = self.study.ask()
        names = list(self.space.options)
        name = names[0] if len(names) == 1 else self.trial.suggest_categorical(OPTION, names)
        option = self.space.options[name]
        values = [(key, self._suggest(_key(self.space, name, key), varied)) for key, varied in option.vary.items()]
        return Setting(name, tuple(values))

    def learn(self, setting: Setting, score: float | None, cost: float) -> None:
        if score is None:
            self.study.tell(self.trial, state=self.failed)
        else:
            self.study.tell(self.trial, [score, cost] if self.several else score)

    def _suggest(self, name: str, varied: Any) -> Value:
        if not isinstance(varied, Range):
            chosen: Value = self.trial.suggest_categorical(name, list(varied))
            return chosen
        if varied.whole:
            step = int(varied.step) or 1
            return int(self.trial.suggest_int(name, int(varied.low), int(varied.high), step=step))
        return varied.typed(self.trial.suggest_float(name, varied.low, varied.high, step=varied.step or None))


def import_optuna() -> Any:
    """Return the package, without its notes on each trial. Errors: UserError if it is missing."""
    try:
        import optuna
    except ImportError as error:
        raise UserError(f"this search {INSTALL}") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def version_of(method: str) -> str:
    """Return the version of the package whose proposals a method follows; "" for random search."""
    return "" if method == RANDOM else str(import_optuna().__version__)


def _key(space: Space, name: str, key: str) -> str:
    """Return the name of a key for the sampler: one for all interventions that vary it in the same way."""
    varied = space.options[name].vary[key]
    alike = all(option.vary.get(key, varied) == varied for option in space.options.values())
    return key if alike else f"{name} {key}"


def _parameters(space: Space, setting: Setting) -> dict[str, Value]:
    chosen = {OPTION: setting.option} if len(space.options) > 1 else {}
    return chosen | {_key(space, setting.option, key): value for key, value in setting.values}


def first_settings(space: Space, seed: int, count: int) -> list[Setting]:
    """Return so many different random settings, fewer if there are not so many: those that random search tries first."""
    search, settings = RandomSearch(space, seed), dict[Setting, None]()
    for _ in range(TRIES * count):
        if len(settings) == min(count, space.size):
            break
        settings.setdefault(search.propose())
    return list(settings)


TRIES = 50
"""Proposals for each setting that is wanted, because a proposal may have been tried before."""


def random_settings(space: Space, seed: int, units: int) -> list[Setting]:
    """Return a random setting for each of so many new rooms: what a choice at random gives."""
    return [space.draw(random.Random(derive(seed, "random choice", unit))) for unit in range(units)]
