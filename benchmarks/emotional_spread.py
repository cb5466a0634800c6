"""How often contagion of emotion is claimed where none is planted, and how often it is found where it is.

python benchmarks/emotional_spread.py [--sets 100] [--rooms 6] [--only homophily]

A line a world (`WORLDS`), each of rooms of 20 people in two parties, with 8 changes of emotion: the share of sets in which the
metric claims contagion (its interval over rooms excludes 0, and p of the shuffled ties is below .05), the two parts of this rule,
and a plain regression of changes on what the authors felt, with the person's own emotion before as the only control.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd

import run  # noqa: F401  (`parley` is this checkout)
from parley.analysis.metrics._emotions import EmotionRoom, Lines, shown_mean
from parley.analysis.metrics.emotional_contagion import ALPHA, effect, p_value, shuffled_effects
from parley.analysis.rooms import Room
from parley.analysis.statistics.intervals import mean_interval

PEOPLE, SURVEYS, FOLLOWED = 20, 9, 4


class World(NamedTuple):
    """How feelings move.

    contagion  the share of the distance to the mean of the authors heard
    homophily  how much people follow those who feel like them
    back       the share of the way back to the own usual feeling
    error      the standard deviation of the error of a rating, which is rounded then (0: exact ratings)
    shock      the standard deviation of what a whole party feels in a round
    """

    contagion: float = 0.0
    homophily: float = 0.0
    back: float = 0.0
    error: float = 0.0
    shock: float = 0.0


WORLDS = {
    "nothing": World(),
    "homophily, errors of ratings": World(homophily=1.0, back=0.3, error=0.5),
    "strong homophily, errors of ratings": World(homophily=3.0, back=0.5, error=0.5),
    "shocks to a party": World(shock=0.3, back=0.2),
    "contagion .2": World(contagion=0.2),
    "contagion .2, homophily, errors of ratings": World(contagion=0.2, homophily=1.0, back=0.2, error=0.3),
}


def make_room(world: World, seed: int) -> EmotionRoom:
    """Make a room of two parties in which feelings move as in a world, with noise of .3. Half of the people write in a round."""
    rng = np.random.default_rng(seed)
    party, usual = np.repeat([0, 1], PEOPLE // 2), 4 + 1.2 * rng.standard_normal(PEOPLE)
    liking = np.where(party[:, None] == party, 0.85, 0.0) - 1.5 * world.homophily * abs(usual[:, None] - usual)
    liking += rng.gumbel(size=liking.shape)
    np.fill_diagonal(liking, -np.inf)
    follows = np.argsort(-liking, axis=1)[:, :FOLLOWED]
    felt, lines = [usual.copy()], []
    for survey in range(1, SURVEYS):
        active, now = rng.random(PEOPLE) < 0.5, felt[-1]
        new = now - world.back * (now - usual) + 0.3 * rng.standard_normal(PEOPLE)
        new += world.shock * rng.standard_normal(2)[party]
        for person in range(PEOPLE):
            heard = [author for author in follows[person] if active[author]]
            lines += [(person, survey, author, survey - 1) for author in heard]
            new[person] += world.contagion * (now[heard].mean() - now[person]) if heard else 0.0
        felt.append(np.clip(new, 1, 7))
    rated = np.stack(felt, axis=1)
    if world.error:
        rated = np.clip(np.round(rated + world.error * rng.standard_normal(rated.shape)), 1, 7)
    attitudes = np.where(party == 0, 2.0, 8.0)[:, None] + 0.3 * rng.standard_normal(rated.shape).cumsum(axis=1)
    room = Room("t", "g", f"room {seed}", pd.DataFrame(attitudes), pd.Series(party).map({0: "a", 1: "b"}))
    return EmotionRoom(room, list(range(SURVEYS)), {"valence": rated}, attitudes, Lines(*np.array(lines).T))


def plain_effect(room: EmotionRoom) -> float:
    """Return the slope of a change on what the authors felt, with the person's own emotion before as the only control."""
    felt, shown = room.ratings["valence"], shown_mean(room.lines, room.ratings["valence"])[:, 1:]
    was_shown = np.isfinite(shown)
    columns = np.column_stack([np.ones(was_shown.sum()), shown[was_shown], felt[:, :-1][was_shown]])
    return float(np.linalg.lstsq(columns, np.diff(felt, axis=1)[was_shown], rcond=None)[0][1])


class Claims(NamedTuple):
    """What is claimed of one set of rooms, and the estimate of contagion."""

    metric: bool
    interval: bool
    shuffles: bool
    plain: bool
    contagion: float


def claims_of(rooms: list[EmotionRoom]) -> Claims:
    """Return what the metric, its parts and the plain regression claim of some rooms."""
    true = np.array(
        [effect(room.ratings["valence"], room.attitudes, room.lines)[0].value for room in rooms], dtype=float
    )
    draws = [shuffled_effects(room, "valence") for room in rooms]
    contagion = true - np.array([values.mean() for values in draws])
    interval, shuffles = _excludes_zero(contagion), p_value(float(true.mean()), draws) < ALPHA
    plain = _excludes_zero(np.array([plain_effect(room) for room in rooms]))
    return Claims(interval and shuffles, interval, shuffles, plain, float(contagion.mean()))


def _excludes_zero(values: np.ndarray) -> bool:
    low, high = mean_interval(values)
    return low > 0 or high < 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--rooms", type=int, default=6)
    parser.add_argument("--only", default="", help="worlds whose name has this in it")
    options = parser.parse_args()
    header = ("world", "claims", "interval", "shuffled ties", "plain regression", "mean contagion")
    print(f"| {' | '.join(header)} |\n|---{'|---:' * 5}|", flush=True)
    for name, world in WORLDS.items():
        if options.only in name:
            seeds = np.arange(options.sets * options.rooms).reshape(options.sets, -1)
            set_claims = [claims_of([make_room(world, int(seed)) for seed in row]) for row in seeds]
            shares = [f"{np.mean(column):.0%}" for column in list(zip(*set_claims, strict=True))[:4]]
            print(
                f"| {name} | {' | '.join(shares)} | {np.mean([claims.contagion for claims in set_claims]):.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
