"""How near a surrogate comes to rooms that it was not fitted to, compared with three baselines.

The rooms are dealt into five folds; those of each are predicted by a surrogate fitted to the other four. A prediction begins
with the room's first survey and sees nothing after it: people hear each other's predicted grades. 100 draws a room.

    path     root mean square of (predicted mean attitude - real one) by party and later survey; lower is better
    spread   standard deviation of attitudes in the room at the last survey: predicted, real, and their difference
    moved    share of people who end half a point or more from where they began, likewise

Baselines: a law without hearing (each party drifts to a level of its own: two numbers, fitted to the same folds); nobody moves;
everybody is at the room's first mean at once. The gain over the first is what hearing adds to the prediction. A room is the
unit: intervals are 95% over rooms.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import block_diag, csr_array

from parley.agents.opinion_dynamics import Surrogate
from parley.analysis.bootstrap import Floats, mean_interval, nanmean
from parley.analysis.surrogate.fit import ROOMS, Transitions, fit_response
from parley.llm.errors import UserError
from parley.llm.seeding import derive, stream

FOLDS, DRAWS = 5, 100
MOVED = 0.5
DEAF = "without hearing"
POSSIBLE = {"path": (0.0, math.inf), "spread": (0.0, math.inf), "moved": (0.0, 1.0)}
"""What values a score can have: the ends of an interval go no further."""
WHO = ("surrogate", DEAF, "nobody moves", "to the mean")


def fidelity(data: Transitions, topic: str) -> pd.DataFrame:
    """A row a score and predictor: score, who, value, low, high, rooms; `real` is the record's own, `gain` a baseline's path
    error minus the surrogate's, room by room. Errors: UserError with fewer than 10 rooms."""
    scores = pd.DataFrame([score for fold in _folds(data, topic) for score in _scored(data, *fold)])
    rows = []
    for name in scores:
        values = scores[name].dropna().to_numpy(dtype=float)
        score, who = str(name).split(", ")
        low, high = np.clip(mean_interval(values), *POSSIBLE.get(score, (-math.inf, math.inf))).tolist()
        value = float(values.mean()) if len(values) else math.nan
        rows.append({"score": score, "who": who, "value": value, "low": low, "high": high, "rooms": len(values)})
    return pd.DataFrame(rows)


def _folds(data: Transitions, topic: str) -> Iterator[tuple[list[str], dict[str, Any], dict[str, Any]]]:
    """Held-out rooms, and the responses fitted to all others: with hearing and without."""
    rooms = sorted(set(data.levels.index.get_level_values("room")))
    if len(rooms) < 2 * ROOMS:
        raise UserError(f"{topic}: {len(rooms)} rooms; to hold some out a surrogate needs at least {2 * ROOMS}")
    dealt: random.Random = stream(0, "surrogate", "folds", topic)
    dealt.shuffle(rooms)
    for fold in range(FOLDS):
        out = rooms[fold::FOLDS]
        others = set(rooms) - set(out)
        yield out, fit_response(data, others), fit_response(data, others, hears=False)


def _scored(
    data: Transitions, rooms: list[str], parties: dict[str, Any], deaf: dict[str, Any]
) -> Iterator[dict[str, float]]:
    held = data.levels[data.levels.index.get_level_values("room").isin(rooms) & data.levels.iloc[:, 0].notna()]
    codes, names = pd.factorize(data.parties.reindex(held.index))
    where = pd.factorize(held.index.get_level_values("room"))[0]
    real = held.to_numpy(dtype=float)
    graph = _graph(held.index, where, data.links)
    paths, alone = (_predicted(real[:, 0], codes, list(names), graph, one, real.shape[1]) for one in (parties, deaf))
    still = np.repeat(real[:, :1], real.shape[1], axis=1)
    for room in range(where.max() + 1):
        mine = where == room
        yield _room(real[mine], codes[mine], paths[:, mine], alone[:, mine], still[mine])


def _predicted(
    start: Floats, codes: np.ndarray, names: list[str], once: csr_array, parties: dict[str, Any], surveys: int
) -> Floats:
    """(draws, agents, surveys): all rooms at once, as one population."""
    graph = csr_array(block_diag([once] * DRAWS, format="csr"))
    opinions = np.tile(start, DRAWS)
    law = Surrogate(fit={"parties": parties}).begin(opinions, np.tile(codes, DRAWS), names)
    generator, found = np.random.default_rng(derive(0, "surrogate", "draws")), [opinions]
    for _ in range(surveys - 1):
        found.append(law.step(found[-1], graph, generator))
    return np.stack(found, axis=-1).reshape(DRAWS, len(start), surveys)


def _graph(who: pd.MultiIndex, where: np.ndarray, links: pd.DataFrame) -> csr_array:
    """Everybody hears everybody else of its room, or, in networks, those whom it heard at the start."""
    if links.empty:
        if (np.diff(where) < 0).any():
            raise ValueError("the agents of a room have to stand together")
        return csr_array(
            block_diag([csr_array(np.ones((size, size)) - np.eye(size)) for size in np.bincount(where)], format="csr")
        )
    ends = [who.get_indexer(pd.MultiIndex.from_frame(links[["room", end]])) for end in ("source", "target")]
    there = (ends[0] >= 0) & (ends[1] >= 0)
    return csr_array((np.ones(int(there.sum())), (ends[0][there], ends[1][there])), shape=(len(who), len(who)))


def _room(real: Floats, codes: np.ndarray, drawn: Floats, alone: Floats, still: Floats) -> dict[str, float]:
    """The scores of one room. real, still: (agents, surveys); drawn, alone (without hearing): (draws, agents, surveys)."""
    mean = np.full_like(still, still[:, 0].mean())
    mean[:, 0] = still[:, 0]
    predictions = dict(zip(WHO, (drawn, alone, still[None], mean[None]), strict=True))
    paths = {who: _path(real, codes, nanmean(one)) for who, one in predictions.items()}
    found = {f"path, {who}": value for who, value in paths.items()}
    found |= {f"gain, {who}": paths[who] - paths[WHO[0]] for who in WHO[1:]}
    last = np.isfinite(real[:, -1])
    truth = {"spread": real[last, -1].std() if last.any() else math.nan, "moved": _moved(real[None, last])}
    found |= {f"{score}, real": float(value) for score, value in truth.items()}
    for who, one in predictions.items():
        said = {
            "spread": one[:, last, -1].std(axis=1).mean() if last.any() else math.nan,
            "moved": _moved(one[:, last]),
        }
        for score, value in said.items():
            found |= {f"{score}, {who}": float(value), f"{score} too large, {who}": float(value - truth[score])}
    return found


def _path(real: Floats, codes: np.ndarray, predicted: Floats) -> float:
    """Over parties and later surveys, each party's mean over those of it who were rated."""
    gaps = np.where(np.isfinite(real), predicted - real, np.nan)[:, 1:]
    means = np.concatenate([nanmean(gaps[codes == code]) for code in np.unique(codes)])
    known = means[np.isfinite(means)]
    return float(np.sqrt((known**2).mean())) if len(known) else math.nan


def _moved(paths: Floats) -> float:
    """paths: (draws, agents, surveys)."""
    if not paths.shape[1]:
        return math.nan
    return float((np.abs(paths[:, :, -1] - paths[:, :, 0]) >= MOVED).mean())
