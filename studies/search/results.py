"""The numbers of a search: effects on new rooms, against a random choice, and what is left of the promise."""

from __future__ import annotations

import numpy as np

from parley.analysis.statistics.intervals import Floats

from .measures import Curse, Estimate, cross_fitted, effect_of, gain_of, unit_effects
from .searching import BEST, CHANCE, WITHOUT, Found


def new_effects(found: Found) -> dict[str, Estimate]:
    """Return the effect of each condition on new rooms, against no intervention."""
    return {name: effect_of(found.new, name, WITHOUT) for name in (*found.named, CHANCE)}


def better_by(found: Found, condition: str, other: str = CHANCE) -> Estimate:
    """Return how much better a condition is than another one on new rooms, in the wanted direction and less its cost."""
    objective = found.plan.space.objective
    less = objective.worth * (costs_of(found, condition) - costs_of(found, other))
    return gain_of(found.new, condition, other, objective.sign, less)


def costs_of(found: Found, condition: str) -> Floats:
    """Return the cost of a condition in each new repetition."""
    plan = found.plan
    settings = found.chance if condition == CHANCE else [found.named[condition]] * plan.rooms.new
    return np.array([plan.cost(setting) for setting in settings])


def curse_of(found: Found) -> Curse:
    """Return the effect of the best setting in the search, on new rooms, and cross-fitted over the search."""
    plan, best = found.plan, found.named[BEST]
    tried = found.ranked(plan.method)
    effects: Floats = np.array(
        [unit_effects(found.searched, str(trial.number), WITHOUT) for trial in tried], dtype=float
    )
    costs = np.array([[trial.cost] for trial in tried])
    objective = plan.space.objective
    scores = objective.sign * effects - objective.worth * costs
    corrected = cross_fitted(scores, effects) if effects.shape[1] > 1 else np.array([np.nan])
    finite = corrected[np.isfinite(corrected)]
    searched = next(trial.effect for trial in tried if trial.setting == best)
    return Curse(searched, effect_of(found.new, BEST, WITHOUT), float(finite.mean()) if len(finite) else float("nan"))
