"""Process fidelity beyond single steps: does the next step depend on the belief and on the steps before, as in people?

The distance of fidelity.py is between all steps as one heap, so a sampler of shuffled human steps is perfect there. The parts
here depend on the order of steps. Each part is a distance between two samples of trajectories:

| part | distance |
|---|---|
| conditional step | share of the variance of people's steps that the rule of the other sample (`fit_rule`) leaves unexplained |
| autocorrelation of steps | difference of the correlations of a step with the one before |
| memory of sizes | difference of the rank correlations of the size of a step with the size of the one before |
| share who move | difference of the shares of the kind of people that moves farther (kinds.py) |

The ceiling is the mean distance between random halves of the people. The nulls are the other half with its steps shuffled, and
the other half if no one moved. The score is (null - run) / (null - halves) with the nearer null: 1 is as near as other people,
0 as near as what has no order. It can be over 1 or below 0; scoring.py says when it is unknown.

Talks and rooms are resampled for the interval of the distance to the run; ceiling and nulls are taken as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from parley.analysis.human.kinds import ALIKE, FEW_TALKS, LEAST, Kinds, find_kinds, is_mover
from parley.analysis.human.readers import Source
from parley.analysis.human.scoring import score_part
from parley.analysis.human.trajectories import Trajectories, hold_still, shuffle_steps, trajectories
from parley.analysis.statistics.intervals import Floats, tail
from parley.llm.seeding import derive

Places = NDArray[np.intp]
DRAWS, SHUFFLES = 200, 199
LEAST_ROOMS = 10
FEW_ROOMS = f"fewer than {LEAST_ROOMS} rooms of different people with turns"
PARTS = {
    "conditional": "conditional step", "autocorrelation": "autocorrelation of steps", "sizes": "memory of sizes",
    "movers": "share who move",
}  # fmt: skip
COLUMNS = ["people", "condition", "talks", "rooms", "part", "run_value", "people_value", "run", "halves", "shuffled", "still",
           "p", "score", "score_low", "score_high", "reason"]  # fmt: skip


def step_rows(ways: Trajectories) -> Floats:
    """Return a row per step: belief before it, the step before it (NaN: the first), the step."""
    steps = np.diff(ways.beliefs, axis=1)
    last = np.column_stack([np.full(len(steps), np.nan), steps[:, :-1]])
    made = np.isfinite(steps)
    return np.column_stack([ways.beliefs[:, :-1][made], last[made], steps[made]])


def fit_rule(rows: Floats) -> Floats:
    """Return the coefficients of step = a + b belief + c last step + d (first step), by least squares."""
    return np.asarray(np.linalg.lstsq(_design(rows), rows[:, 2], rcond=None)[0])


def unexplained(rows: Floats, rule: Floats) -> float:
    """Return the mean squared error of the rule over the variance of the steps; NaN if no step differs from another.

    >>> rows = np.array([[0.5, np.nan, 0.2], [0.7, 0.2, 0.0]])
    >>> round(unexplained(rows, np.array([0.1, 0, 0, 0])), 3), round(unexplained(rows, np.array([0.0, 0, 0, 0.2])), 3)
    (1.0, 0.0)
    """
    variance = float(rows[:, 2].var())
    return float(((rows[:, 2] - _design(rows) @ rule) ** 2).mean()) / variance if variance > 1e-12 else np.nan


def autocorrelation(rows: Floats, sizes: bool = False) -> float:
    """Return the correlation of steps with those before them; sizes: the rank correlation of their sizes. NaN: nothing varies."""
    last, step = rows[~np.isnan(rows[:, 1]), 1:].T
    if sizes:
        # rounded, so that equal sizes are ties whatever the last digits say
        last, step = rankdata(np.abs(last).round(6)), rankdata(np.abs(step).round(6))
    if len(step) < 3 or min(np.ptp(last), np.ptp(step)) < 1e-9:
        return np.nan
    return float(np.corrcoef(last, step)[0, 1])


def compare_sequences(run: Source, people: Sequence[Source]) -> pd.DataFrame:
    """Return a row per condition of people and part (COLUMNS): the parts of the run compared with those of people."""
    run_ways, rows = trajectories(run.by_unit()), []
    for source in people:
        for condition, condition_people, _ in source.parts():
            if len((ways := trajectories(condition_people)).groups):
                about = {"people": source.name, "condition": condition}
                rows += [about | row for row in compare_samples(run_ways, ways, condition)]
    return pd.DataFrame(rows, columns=COLUMNS)


def compare_samples(run: Trajectories, ways: Trajectories, name: str) -> list[dict[str, object]]:
    """Return a row per part, without people and condition; a reason where there is no score."""
    talks, rooms = _by_group(ways), _by_group(run)
    counts: dict[str, object] = {"talks": len(talks), "rooms": len(rooms), "reason": ""}
    kinds = find_kinds(ways)
    reason = (
        FEW_TALKS if len(talks) < LEAST else ALIKE if kinds is None else FEW_ROOMS if len(rooms) < LEAST_ROOMS else ""
    )
    if reason:
        return [counts | {"part": "", "reason": reason}]
    assert kinds is not None
    rng = np.random.default_rng(derive(0, "sequences", name))
    every, cut = np.arange(len(talks)), tail(min(len(talks), len(rooms)))
    split = np.array([_distances(run, *_halves(ways, talks, every, rng), kinds, rng) for _ in range(DRAWS)])
    drawn = np.array([_resampled(run, rooms, ways, talks, kinds, rng) for _ in range(DRAWS)])
    p, values = _order_p(ways, kinds, rng), (_values(run, kinds), _values(ways, kinds))
    return [
        counts | {"part": part_name, "run_value": values[0][part_name], "people_value": values[1][part_name], "p": p[place]}
        | score_part(split[:, place], drawn[:, place], p[place], cut) for place, part_name in enumerate(PARTS)
    ]  # fmt: skip


def _order_p(ways: Trajectories, kinds: Kinds, rng: np.random.Generator) -> Floats:
    """Return p for each part: that shuffled steps are as far from the mean of shuffled steps as the people's are."""
    shuffled = np.array([_order(shuffle_steps(ways, rng), kinds) for _ in range(SHUFFLES)])
    centre = np.nanmean(shuffled, axis=0)
    as_far = np.abs(shuffled - centre) >= np.abs(_order(ways, kinds) - centre) - 1e-9
    return np.asarray((1 + as_far.sum(axis=0)) / (1 + SHUFFLES))


def _order(ways: Trajectories, kinds: Kinds) -> Floats:
    """Return how much order there is, by part; the conditional step: the share of variance that the sample's own rule leaves."""
    summary = _summary(ways, kinds)
    return np.array([unexplained(step_rows(ways), summary.rule), *summary.values])


def _resampled(
    run: Trajectories,
    rooms: list[Places],
    ways: Trajectories,
    talks: list[Places],
    kinds: Kinds,
    rng: np.random.Generator,
) -> Floats:
    """Return the distance to the run, by part, with rooms and talks drawn with replacement."""
    run = run.take(np.concatenate([rooms[place] for place in rng.integers(0, len(rooms), len(rooms))]))
    drawn = ways.take(np.concatenate([talks[place] for place in rng.integers(0, len(talks), len(talks))]))
    return _distance(step_rows(drawn), _summary(drawn, kinds), _summary(run, kinds))


def _halves(
    ways: Trajectories, talks: list[Places], every: Places, rng: np.random.Generator
) -> tuple[Trajectories, Trajectories]:
    """Return the people of two random halves of the talks."""
    first, second = np.array_split(rng.permutation(every), 2)
    return ways.take(np.concatenate([talks[at] for at in first])), ways.take(
        np.concatenate([talks[at] for at in second])
    )


def _distances(
    run: Trajectories, half: Trajectories, other: Trajectories, kinds: Kinds, rng: np.random.Generator
) -> Floats:
    """Return (parts, 4): the distance from half of the people to the run, to the other half, to its shuffled steps, and to people
    who never move.
    """
    rows, people = step_rows(half), _summary(half, kinds)
    samples = run, other, shuffle_steps(other, rng), hold_still(other)
    return np.column_stack([_distance(rows, people, _summary(sample, kinds)) for sample in samples])


class _Summary(NamedTuple):
    """What the parts need of a sample: the rule, and the values of the other parts."""

    rule: Floats
    values: Floats


def _summary(ways: Trajectories, kinds: Kinds) -> _Summary:
    rows = step_rows(ways)
    values = [autocorrelation(rows), autocorrelation(rows, sizes=True), float(is_mover(ways, kinds).mean())]
    return _Summary(fit_rule(rows), np.array(values))


def _distance(rows: Floats, people: _Summary, sample: _Summary) -> Floats:
    return np.array([unexplained(rows, sample.rule), *np.abs(people.values - sample.values)])


def _values(ways: Trajectories, kinds: Kinds) -> dict[str, float]:
    """Return what each part is in a sample; the conditional step: the slope of the step on the belief before it."""
    rule, values = _summary(ways, kinds)
    return dict(zip(PARTS, [float(rule[1]), *values.tolist()], strict=True))


def _design(rows: Floats) -> Floats:
    first = np.isnan(rows[:, 1])
    return np.column_stack([np.ones(len(rows)), rows[:, 0], np.where(first, 0.0, rows[:, 1]), first])


def _by_group(ways: Trajectories) -> list[Places]:
    """Return the places of the people of each group."""
    return list(pd.Series(np.arange(len(ways.groups))).groupby(ways.groups, sort=False).indices.values())
