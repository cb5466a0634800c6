"""The law of motion that a record is fitted to, its parameters, and how sure they are (used by analysis/card/).

Whoever hears a line of grade g moves by  kappa * (g - a) + mu * (bias - a).  Between two surveys people hear several lines; the
recursion is followed line by line for a whole room, and kappa, mu and one pull = mu * bias a subject are fitted by least squares
on the next survey. The grade of a line is given (somebody read it), or it is the attitude that the law itself gives its speaker
at that moment: what was said then differs from it by noise that has nothing to do with it (Berkson 1950), which costs precision
and no bias.

Clusters are independent; what is in one is not, and what somebody is moved to say comes back to it. So estimates and
covariance are those of the jackknife that leaves out one cluster at a time (one Newton step each; in a linear model this is
exact, and the covariance is the CR3 of Bell and McCaffrey 2002): it takes out the bias of order 1/clusters that least squares
has with such feedback. Intervals use Student's t with clusters - 1 degrees of freedom. A bias is a ratio: its interval is
Fieller's (1954), and when the interval of mu contains 0 there is none (a pull that cannot be told from nothing has no
direction): the estimate is then NaN and the interval unbounded.

`recover_parameters` fits the oracle's own law to a record: are the planted values found again? It uses the fit above for each
agent by itself, with the grades of the lines that it heard as they were read. The unit is the room. Clipping at the
ends of the axis is no part of the fitted law; neither is
bounded confidence (epsilon), under which kappa comes out too small.

Starting values are the expected ratings (mean of the answer distribution), where the record has them: a rounded rating is a
predictor measured with error and would bias the pull upward. `how` in the result says which was used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, stats

from parley.analysis.tables import Tables
from parley.llm.errors import UserError

Floats = NDArray[np.float64]
KAPPA, MU, PULL = 0, 1, 2
"""Places of the parameters; from PULL on one a subject."""
START = (0.05, 0.05, 0.25)
GIVEN = -1
"""In the place of a speaker: the grade of the line is given."""


@dataclass(frozen=True)
class RoomPassages:
    """What happened between two surveys of a room, a row each: n rows, k seats, t lines.

    before, after (n, k): attitudes, NaN where there is none. speaker (n, t): whose line it is by seat, or GIVEN. grade (n, t):
    of a given line, NaN when it cannot be read (it has no influence). heard (n, t, k): who hears it. cluster (n,): what is
    independent of each other. subject (n,): from 0, each with a pull of its own.
    """

    before: Floats
    after: Floats
    speaker: NDArray[np.int64]
    grade: Floats
    heard: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    subject: NDArray[np.int64]

    @property
    def clusters(self) -> int:
        return len(np.unique(self.cluster))


class InfluenceFit(NamedTuple):
    """theta (p,): kappa, mu, and the pull of each subject; their covariance; clusters; ratings fitted; by cluster the jackknife's
    pseudo-value (p,), of which theta is the mean.
    """

    theta: Floats
    covariance: Floats
    clusters: int
    ratings: int
    pseudo: Mapping[int, Floats]


class Estimate(NamedTuple):
    """With standard error and the ends of the 95% interval."""

    value: float
    error: float
    low: float
    high: float


class Unidentified(ValueError):
    """Nothing tells influence and pull apart."""


def fit_influence(rooms: RoomPassages, influence: bool = True) -> InfluenceFit:
    """Kappa, mu and pulls by the jackknife. influence: whether there is any; without, kappa is 0. Errors: Unidentified."""
    subjects = int(np.max(rooms.subject)) + 1
    start = np.array([START[KAPPA] * influence, START[MU], *[START[PULL]] * subjects])
    free = np.arange(len(start)) >= (KAPPA if influence else MU)
    known = np.isfinite(follow_model(start, rooms)[0]) & np.isfinite(rooms.after)
    where = np.broadcast_to(rooms.cluster[:, None], known.shape)[known]

    def whole(part: Floats) -> Floats:
        theta = np.zeros_like(start)
        theta[free] = part
        return theta

    def off(part: Floats) -> Floats:
        return np.asarray((follow_model(whole(part), rooms)[0] - rooms.after)[known])

    def slopes(part: Floats) -> Floats:
        return np.asarray(follow_model(whole(part), rooms)[1][known][:, free])

    if known.sum() < free.sum():
        raise Unidentified
    found = optimize.least_squares(off, x0=start[free], jac=slopes)
    if np.linalg.matrix_rank(found.jac) < free.sum():
        raise Unidentified
    part = _jackknifed(found.x, found.jac, found.fun, where)
    covariance = np.zeros((len(start), len(start)))
    covariance[np.ix_(free, free)] = part.covariance
    pseudo = {one: whole(value) for one, value in part.pseudo.items()}
    return part._replace(theta=whole(part.theta), covariance=covariance, pseudo=pseudo)


def _jackknifed(theta: Floats, jacobian: Floats, residuals: Floats, where: NDArray[np.int64]) -> InfluenceFit:
    whole = jacobian.T @ jacobian
    names = np.unique(where)
    steps = np.array([_step(whole, jacobian[where == one], residuals[where == one]) for one in names])
    mean, clusters = steps.mean(axis=0), len(steps)
    spread = steps - mean
    covariance = (clusters - 1) / clusters * spread.T @ spread
    pseudo = {int(one): np.asarray(theta - (clusters - 1) * step) for one, step in zip(names, steps, strict=True)}
    return InfluenceFit(theta - (clusters - 1) * mean, covariance, clusters, len(residuals), pseudo)


def _step(whole: Floats, jacobian: Floats, residuals: Floats) -> Floats:
    """How far the fit moves when the rows of one cluster are left out."""
    return np.asarray(np.linalg.pinv(whole - jacobian.T @ jacobian) @ jacobian.T @ residuals)


def follow_model(theta: Floats, rooms: RoomPassages) -> tuple[Floats, Floats]:
    """The attitudes after the lines (n, k), and their slopes by parameter (n, k, p)."""
    rows, value = np.arange(len(rooms.before)), rooms.before.copy()
    slope = np.zeros((*value.shape, len(theta)))
    of = PULL + rooms.subject
    pull = theta[of][:, None]
    for line in range(rooms.speaker.shape[1]):
        speaker, heard = rooms.speaker[:, line], rooms.heard[:, line, :]
        own = speaker != GIVEN
        grade = np.where(own, value[rows, speaker], rooms.grade[:, line])[:, None]
        rise = np.where(own[:, None], slope[rows, speaker], 0.0)[:, None, :]
        moves = (heard & (own | np.isfinite(rooms.grade[:, line]))[:, None]).astype(float)
        gap = np.where(moves > 0, grade - value, 0.0)
        change = theta[KAPPA] * moves[..., None] * (rise - slope) - theta[MU] * slope
        change[..., KAPPA] += gap
        change[..., MU] -= value
        change[rows, :, of] += 1.0
        slope = slope + np.where(heard[..., None], change, 0.0)
        value = value + np.where(heard, theta[KAPPA] * gap + pull - theta[MU] * value, 0.0)
    return value, slope


def fit_plain(found: InfluenceFit, place: int) -> Estimate:
    """One parameter."""
    return combine_fits(found, np.eye(len(found.theta))[place])


def combine_fits(found: InfluenceFit, weights: Floats) -> Estimate:
    """A sum of parameters, weighted."""
    value, variance = float(weights @ found.theta), float(weights @ found.covariance @ weights)
    error = math.sqrt(max(variance, 0.0))
    reach = _reach(found)
    return Estimate(value, error, value - reach * error, value + reach * error)


def bias_estimate(found: InfluenceFit, subject: int = 0) -> Estimate:
    """pull / mu with Fieller's interval: every b for which pull - b * mu does not differ from 0."""
    both = (MU, PULL + subject)
    mu, pull = found.theta[list(both)]
    reach = _reach(found)
    (v_mu, v_both), (_, v_pull) = reach**2 * found.covariance[np.ix_(both, both)]
    square, linear, constant = mu**2 - v_mu, mu * pull - v_both, pull**2 - v_pull
    if square <= 0:
        return Estimate(np.nan, np.nan, -np.inf, np.inf)
    value, half = pull / mu, float(np.sqrt(max(linear**2 - square * constant, 0.0)))
    error = float(np.sqrt(max(v_pull - 2 * value * v_both + value**2 * v_mu, 0.0)) / (reach * abs(mu)))
    return Estimate(float(value), error, (linear - half) / square, (linear + half) / square)


def _reach(found: InfluenceFit) -> float:
    return float(stats.t.ppf(0.975, found.clusters - 1))


Grade = Callable[[str, str], float | None]
NAMES = ("kappa", "mu", "bias")
LEAST = 5
"""Rooms without which nothing is fitted."""


def recover_parameters(tables: Tables, grade: Grade) -> pd.DataFrame:
    """Fit every topic. grade(topic, text) is the grade 0-10 of a line, or None when it cannot be read.

    Returns a row a topic and parameter: topic, parameter, estimate, se, low, high (95%), transitions, rooms, how.
    Errors: UserError when a topic has fewer than 5 rooms to fit, or nothing that tells influence and pull apart.
    """
    return pd.DataFrame([row for topic in tables.topics for row in _fit(tables, topic, grade)])


def _fit(tables: Tables, topic: str, grade: Grade) -> list[dict]:
    data, how = _transitions(tables, topic, grade)
    if data.clusters < LEAST:
        raise UserError(
            f"{topic}: {data.clusters} rooms with ratings before and after a round; a fit needs at least {LEAST}"
        )
    try:
        found = fit_influence(data)
    except Unidentified as error:
        raise UserError(
            f"{topic}: what was heard tells influence and pull not apart (are there lines that can be graded?)"
        ) from error
    fits = [fit_plain(found, KAPPA), fit_plain(found, MU), bias_estimate(found)]
    sizes = {"transitions": len(data.after), "rooms": found.clusters, "how": how}
    return [
        {"topic": topic, "parameter": name, "estimate": value, "se": error, "low": low, "high": high, **sizes}
        for name, (value, error, low, high) in zip(NAMES, fits, strict=True)
    ]


def _transitions(tables: Tables, topic: str, grade: Grade) -> tuple[RoomPassages, str]:
    rated = tables.attitudes[(tables.attitudes["topic"] == topic) & (tables.attitudes["group"] != "reference")]
    how = "expected" if rated["expected"].notna().all() else "attitude"
    levels = rated.pivot(index=["room", "agent"], columns="round", values=how)
    lines = _lines(tables, topic, grade)
    rows = []
    for number, (room, agents) in enumerate(levels.groupby(level="room", sort=False)):
        for (_, agent), ratings in agents.iterrows():
            for before, after in zip(levels.columns[:-1], levels.columns[1:], strict=True):
                if np.isfinite(ratings[before]) and np.isfinite(ratings[after]):
                    heard = [
                        value
                        for round_ in range(before + 1, after + 1)
                        for speaker, value in lines.get((room, round_), [])
                        if speaker != agent
                    ]
                    rows.append((ratings[before], ratings[after], heard, number))
    return _packed(rows), how


def _lines(tables: Tables, topic: str, grade: Grade) -> dict[tuple[str, int], list[tuple[int, float]]]:
    """Speaker and grade (NaN: cannot be read) of every spoken line by room and round, in order."""
    spoken = tables.utterances[(tables.utterances["topic"] == topic) & tables.utterances["text"].notna()]
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for room, round_, agent, text in zip(spoken["room"], spoken["round"], spoken["agent"], spoken["text"], strict=True):
        value = grade(topic, text)
        lines.setdefault((room, round_), []).append((agent, np.nan if value is None else value))
    return lines


def _packed(rows: list[tuple[float, float, list[float], int]]) -> RoomPassages:
    """Each agent as a room of its own, in which every line is given."""
    width = max((len(heard) for _, _, heard, _ in rows), default=0)
    grades, mask = np.full((len(rows), width), np.nan), np.zeros((len(rows), width), dtype=bool)
    for number, (_, _, heard, _) in enumerate(rows):
        grades[number, : len(heard)], mask[number, : len(heard)] = heard, True
    before, after, room = (np.array([row[place] for row in rows]) for place in (0, 1, 3))
    speaker = np.full((len(rows), width), GIVEN)
    rooms = room.astype(int)
    return RoomPassages(before[:, None], after[:, None], speaker, grades, mask[..., None], rooms, np.zeros_like(rooms))
