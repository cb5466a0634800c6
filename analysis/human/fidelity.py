"""Process fidelity: do opinions move from turn to turn as those of people do?

A step is the change of an opinion (0-1) from one turn to the next, positive toward the other side. The steps of people
who talked with a persuader (PersuasionTrace) are compared with those of agents that were asked after every turn they
heard (`also=NAME:turns`), by the Wasserstein distance between both distributions: how far the one has to be moved, on
average, to become the other. Two benchmarks are given: the distance between random halves of the people (what chance
alone makes), and that of someone who never moves. The score is 1 - distance / distance of never moving: 1 for the
people's own distribution, 0 for no nearer than never moving.

Steps of one person belong together, so intervals are bootstrapped over talks and rooms. A resampled distance is too
large on average, as it cannot be below 0: its interval shows its spread, not that it differs from 0 (compare it with
the halves). Source of the idea: Moore, Goodman, Haber and Kleiman-Weiner 2026, who also compare with a Bayesian
network; this does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import wasserstein_distance

from parley.analysis.human.measures import FEWEST
from parley.analysis.human.readers import Source
from parley.analysis.statistics.intervals import Floats, tail
from parley.llm.seeding import derive

DRAWS = 499
FEW = f"fewer than {FEWEST} talks with turns"
FEW_ROOMS = f"fewer than {FEWEST} rooms of different people with turns"
COLUMNS = ["people", "condition", "talks", "steps", "rooms", "run_steps", "distance", "distance_low", "distance_high", "halves",
           "still", "score", "score_low", "score_high", "reason"]  # fmt: skip


class Steps(NamedTuple):
    """The steps of each group (talk, room), in order."""

    groups: tuple[Floats, ...]

    @property
    def all(self) -> Floats:
        return np.concatenate(self.groups)


def steps(people: pd.DataFrame) -> Steps:
    """Return the steps toward the other side, by group, of all people with turns and a side; none over a gap.

    >>> people = pd.DataFrame({"group": ["a"], "before": [0.5], "side": [-1.0], "turns": [(0.4, 0.4, np.nan, 0.1)]})
    >>> [float(step) for step in steps(people).all.round(3)]
    [0.1, -0.0]
    """
    asked_by_turn = people[people["turns"].map(bool) & people["side"].notna() & people["before"].notna()]
    by_group: dict[object, list[Floats]] = {}
    for row in asked_by_turn[["group", "before", "side", "turns"]].itertuples(index=False):
        changes = np.diff(np.array([row.before, *row.turns], dtype=float)) * row.side
        by_group.setdefault(row.group, []).append(changes[np.isfinite(changes)])
    return Steps(tuple(changes for changes in map(np.concatenate, by_group.values()) if len(changes)))


def fidelity(run: Source, people: Sequence[Source]) -> pd.DataFrame:
    """Return a row per condition of people who were asked turn by turn (COLUMNS), compared with all conditions of the run."""
    run_steps = steps(run.by_unit())
    rows = [
        {"people": source.name, "condition": condition} | _compare(run_steps, steps(condition_people), condition)
        for source in people
        for condition, condition_people, _ in source.parts()
        if len(steps(condition_people).groups)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _compare(run: Steps, human: Steps, name: str) -> dict[str, object]:
    talks, rooms = len(human.groups), len(run.groups)
    row: dict[str, object] = {"talks": talks, "steps": len(human.all), "rooms": rooms, "reason": ""}
    if min(rooms, talks) < FEWEST:
        return row | {"reason": FEW if talks < FEWEST else FEW_ROOMS}
    rng = np.random.default_rng(derive(0, "fidelity", name))
    drawn = np.array([_distances(_resample(run, rng), _resample(human, rng)) for _ in range(DRAWS)])
    distance, still = _distances(run.all, human.all)
    ends = [tail(min(rooms, talks)), 1 - tail(min(rooms, talks))]
    (near, far), (worse, better) = np.quantile(drawn[:, 0], ends), np.quantile(1 - drawn[:, 0] / drawn[:, 1], ends)
    return row | {
        "run_steps": len(run.all), "distance": distance, "distance_low": near, "distance_high": far,
        "halves": _halves(human, rng), "still": still, "score": 1 - distance / still, "score_low": worse, "score_high": better,
    }  # fmt: skip


def _distances(run: Floats, human: Floats) -> tuple[float, float]:
    """Return the distance of the run's steps from the people's, and that of someone who never moves."""
    return float(wasserstein_distance(run, human)), float(np.abs(human).mean())


def _resample(source: Steps, rng: np.random.Generator) -> Floats:
    """Return the steps of as many groups, drawn with replacement."""
    return np.concatenate([source.groups[place] for place in rng.integers(0, len(source.groups), len(source.groups))])


def _halves(human: Steps, rng: np.random.Generator) -> float:
    """Return the mean distance between two random halves of the talks."""
    half, distances = len(human.groups) // 2, []
    for _ in range(DRAWS):
        order = [human.groups[place] for place in rng.permutation(len(human.groups))]
        distances.append(wasserstein_distance(np.concatenate(order[:half]), np.concatenate(order[half:])))
    return float(np.mean(distances))
