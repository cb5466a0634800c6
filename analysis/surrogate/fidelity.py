"""How near does a surrogate come to rooms that it was not fitted to, compared with three baselines?

The rooms are dealt into five folds; each fold is predicted by a surrogate fitted to the other four. A prediction begins
with the room's first survey and sees nothing after it: agents hear each other's predicted grades. There are 100 draws
per room.

    path     root mean square of (predicted mean attitude - real one) by party and later survey; lower is better
    spread   standard deviation of attitudes in the room at the last survey: predicted, real, and their difference
    moved    share of agents who end half a point or more from where they began: predicted, real, and their difference

Baselines: a law without hearing (each party drifts to a level of its own: two numbers, fitted to the same folds);
no agent moves; all agents are at the room's first mean at once. The gain over the first is what hearing adds to the
prediction. The unit is the room: intervals are 95% over rooms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import block_diag, csr_array

from parley.agents.laws import People
from parley.agents.laws.surrogate import Surrogate
from parley.analysis.statistics.intervals import POSITIVE, SHARE, Floats, mean_interval, nanmean
from parley.analysis.surrogate.fit import ROOMS, Transitions, fit_response
from parley.llm.errors import UserError
from parley.llm.seeding import derive, stream

FOLDS, DRAWS = 5, 100
MOVED = 0.5
DEAF = "without hearing"
BOUNDS = {"path": POSITIVE, "spread": POSITIVE, "moved": SHARE}
"""Of the scores that have any."""
WHO = ("surrogate", DEAF, "no agent moves", "to the mean")


def fidelity(data: Transitions, topic: str) -> pd.DataFrame:
    """Return a row per score and predictor: score, who, value, low, high, rooms.

    `real` is the record's own; `gain` is a baseline's path error minus the surrogate's, room by room. Errors: UserError
    with fewer than 10 rooms.
    """
    scores = pd.DataFrame([score for fold in _folds(data, topic) for score in _score_fold(data, *fold)])
    rows = []
    for name in scores:
        values = scores[name].dropna().to_numpy(dtype=float)
        score, who = str(name).split(", ")
        low, high = mean_interval(values, bounds=BOUNDS.get(score))
        value = float(values.mean()) if len(values) else math.nan
        rows.append({"score": score, "who": who, "value": value, "low": low, "high": high, "rooms": len(values)})
    return pd.DataFrame(rows)


def _folds(data: Transitions, topic: str) -> Iterator[tuple[list[str], dict[str, Any], dict[str, Any]]]:
    """Yield held-out rooms, and the responses fitted to all other rooms: with hearing and without."""
    rooms = sorted(set(data.levels.index.get_level_values("room")))
    if len(rooms) < 2 * ROOMS:
        raise UserError(
            f"{topic}: a surrogate needs at least {2 * ROOMS} rooms, so that some can "
            f"test the fit; this run has {len(rooms)}"
        )
    stream(0, "surrogate", "folds", topic).shuffle(rooms)
    for fold in range(FOLDS):
        held_out = rooms[fold::FOLDS]
        others = set(rooms) - set(held_out)
        yield held_out, fit_response(data, others), fit_response(data, others, hears=False)


def _score_fold(
    data: Transitions, rooms: list[str], parties: dict[str, Any], deaf: dict[str, Any]
) -> Iterator[dict[str, float]]:
    levels = data.levels[data.levels.index.get_level_values("room").isin(rooms) & data.levels.iloc[:, 0].notna()]
    codes, names = pd.factorize(data.parties.reindex(levels.index))
    places = pd.factorize(levels.index.get_level_values("room"))[0]
    real, graph = levels.to_numpy(dtype=float), _graph(levels.index, places, data.links)
    hearing, alone = (_predict(real[:, 0], codes, list(names), graph, fit, real.shape[1]) for fit in (parties, deaf))
    still = np.repeat(real[:, :1], real.shape[1], axis=1)
    for room in range(places.max() + 1):
        here = places == room
        yield _room(real[here], codes[here], hearing[:, here], alone[:, here], still[here])


def _predict(
    start: Floats, codes: np.ndarray, names: list[str], graph: csr_array, parties: dict[str, Any], surveys: int
) -> Floats:
    """Return (draws, agents, surveys): all draws of all rooms at once, as one population."""
    copies = csr_array(block_diag([graph] * DRAWS, format="csr"))
    opinions = [np.tile(start, DRAWS)]
    law = Surrogate(fit={"parties": parties}).begin(opinions[0], People(np.tile(codes, DRAWS), tuple(names)))
    generator = np.random.default_rng(derive(0, "surrogate", "draws"))
    for _ in range(surveys - 1):
        opinions.append(law.step(opinions[-1], copies, generator))
    return np.stack(opinions, axis=-1).reshape(DRAWS, len(start), surveys)


def _graph(agents: pd.MultiIndex, places: np.ndarray, links: pd.DataFrame) -> csr_array:
    """Return who hears whom: all others of the room or, in networks, the agents heard at the start."""
    if links.empty:
        if (np.diff(places) < 0).any():
            raise ValueError("the rows of a room have to follow each other")
        rooms = [csr_array(np.ones((size, size)) - np.eye(size)) for size in np.bincount(places)]
        return csr_array(block_diag(rooms, format="csr"))
    ends = [agents.get_indexer(pd.MultiIndex.from_frame(links[["room", end]])) for end in ("source", "target")]
    seated = (ends[0] >= 0) & (ends[1] >= 0)
    return csr_array((np.ones(int(seated.sum())), (ends[0][seated], ends[1][seated])), shape=(len(agents), len(agents)))


def _room(real: Floats, codes: np.ndarray, drawn: Floats, alone: Floats, still: Floats) -> dict[str, float]:
    """Return the scores of one room. real, still: (agents, surveys); drawn, alone (no hearing): (draws, agents, surveys)."""
    mean = np.full_like(still, still[:, 0].mean())
    mean[:, 0] = still[:, 0]
    predictions = dict(zip(WHO, (drawn, alone, still[None], mean[None]), strict=True))
    errors = {who: _path_error(real, codes, nanmean(paths)) for who, paths in predictions.items()}
    scores = {f"path, {who}": error for who, error in errors.items()}
    scores |= {f"gain, {who}": errors[who] - errors[WHO[0]] for who in WHO[1:]}
    last = np.isfinite(real[:, -1])
    truth = _spread_and_moved(real[None, last])
    scores |= {f"{score}, real": value for score, value in truth.items()}
    for who, paths in predictions.items():
        for score, value in _spread_and_moved(paths[:, last]).items():
            scores |= {f"{score}, {who}": value, f"{score} too large, {who}": value - truth[score]}
    return scores


def _path_error(real: Floats, codes: np.ndarray, predicted: Floats) -> float:
    """Return the root mean square over parties and later surveys of the mean error of a party's rated agents."""
    gaps = np.where(np.isfinite(real), predicted - real, np.nan)[:, 1:]
    means = np.concatenate([nanmean(gaps[codes == code]) for code in np.unique(codes)])
    finite_means = means[np.isfinite(means)]
    return float(np.sqrt((finite_means**2).mean())) if len(finite_means) else math.nan


def _spread_and_moved(paths: Floats) -> dict[str, float]:
    """paths: (draws, agents, surveys); NaN without agents."""
    if not paths.shape[1]:
        return {"spread": math.nan, "moved": math.nan}
    moved = np.abs(paths[:, :, -1] - paths[:, :, 0]) >= MOVED
    return {"spread": float(paths[:, :, -1].std(axis=1).mean()), "moved": float(moved.mean())}
