"""The influence model: how agents move after the lines that they hear. Its parameters are fitted to a record, with intervals.

An agent with attitude a that hears a line of grade g moves by  kappa * (g - a) + mu * (bias - a).  Between two surveys agents
hear several lines. The recursion is followed line by line for a whole room, and kappa, mu and one pull = mu * bias per subject
are fitted by least squares to the next survey. The grade of a line is given (it was read), or it is the attitude that the model
itself gives its speaker at that moment. The real line differs from this value by unrelated noise (Berkson 1950), which makes
the estimates less precise but does not bias them.

Clusters are independent; rows within a cluster are not, and what an agent is moved to say comes back to it. Therefore estimates
and covariance are those of the jackknife that leaves out one cluster at a time (one Newton step each; in a linear model this is
exact, and the covariance is the CR3 of Bell and McCaffrey 2002). It removes the bias of order 1/clusters that least squares has
with such feedback. Intervals use Student's t with clusters - 1 degrees of freedom. A bias is a ratio, and its interval is
Fieller's (1954). If the interval of mu contains 0, the bias has no estimate (NaN, unbounded interval), because a pull that may
be nothing has no direction.

People may differ: some are more stubborn. One fit over people who differ is no average of them, because how far they move goes
with where they are; then each kind of person has a kappa, a mu and pulls of its own (`RoomPassages.kind`).

`recover_parameters` fits the oracle's own law to a record, to check that the planted values are found again. It fits each agent
by itself, with the grades of the lines that it heard as they were read. The unit is the room. The fitted law knows neither the
ends of the axis nor bounded confidence (epsilon), under which kappa comes out too small. Starting values are the expected ratings
(mean of the answer distribution) if the record has them, because a rounded rating is a predictor with measurement error and would
bias the pull upward. `how` in the result says which was used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, stats

from parley.analysis.tables import Tables
from parley.llm.errors import UserError

Floats = NDArray[np.float64]
Grade = Callable[[str, str], float | None]
KAPPA, MU, PULL = 0, 1, 2
"""Places of the parameters; from PULL on one per subject."""
NAMES = ("kappa", "mu", "bias")
CLOSED = "closed"
"""Kappa plus mu: the share of its distances that an agent closes when it hears a line."""
ALL = "all"
"""In place of a party: one fit over all agents."""
DIFFERENT = 0.01
"""The level of the test whether kinds of people move differently; so low that people who do not differ are rarely split up."""
START = (0.05, 0.05, 0.25)
GIVEN = -1
"""In place of a speaker: the grade of the line is given."""
LEAST = 5
"""With fewer rooms nothing is fitted."""


@dataclass(frozen=True)
class RoomPassages:
    """What happened between two surveys of a room, one row each: n rows, k seats, t lines.

    before, after (n, k): attitudes; NaN: missing. speaker (n, t): the seat that speaks a line, or GIVEN. grade (n, t): of a given
    line; NaN: it cannot be read and has no influence. heard (n, t, k): which seats hear it. cluster (n,): clusters are
    independent. subject (n,): from 0, each with its own pull. kind (n, k): from 0, the kind of person in a seat; each kind moves
    at its own rates. Without it, all people are of one kind.
    """

    before: Floats
    after: Floats
    speaker: NDArray[np.int64]
    grade: Floats
    heard: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    subject: NDArray[np.int64]
    kind: NDArray[np.int64] | None = None

    @property
    def clusters(self) -> int:
        return len(np.unique(self.cluster))

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of person in each seat (n, k)."""
        return np.zeros(self.before.shape, dtype=int) if self.kind is None else self.kind


class InfluenceFit(NamedTuple):
    """theta (p,): kappa, mu, and the pull of each subject (see `place`); covariance; number of clusters and of ratings fitted.

    pseudo: by cluster the jackknife's pseudo-value (p,), whose mean is theta.
    """

    theta: Floats
    covariance: Floats
    clusters: int
    ratings: int
    pseudo: Mapping[int, Floats]


class Estimate(NamedTuple):
    """An estimate with standard error and the ends of the 95% interval."""

    value: float
    error: float
    low: float
    high: float


class Unidentified(ValueError):
    """Influence and pull cannot be estimated separately."""


def fit_influence(rooms: RoomPassages, influence: bool = True) -> InfluenceFit:
    """Kappa, mu and pulls by the jackknife. influence: whether there is any; if not, kappa is 0. Errors: Unidentified."""
    kinds, pulls = int(np.max(rooms.kinds)) + 1, int(np.max(rooms.subject)) + 1
    start = np.repeat([START[KAPPA] * influence, START[MU], *[START[PULL]] * pulls], kinds)
    free = np.arange(len(start)) >= (0 if influence else MU * kinds)
    known = np.isfinite(follow_model(start, rooms)[0]) & np.isfinite(rooms.after)
    cluster = np.broadcast_to(rooms.cluster[:, None], known.shape)[known]

    def whole(part: Floats) -> Floats:
        theta = np.zeros_like(start)
        theta[free] = part
        return theta

    def residuals(part: Floats) -> Floats:
        return np.asarray((follow_model(whole(part), rooms)[0] - rooms.after)[known])

    def slopes(part: Floats) -> Floats:
        return np.asarray(follow_model(whole(part), rooms)[1][known][:, free])

    if known.sum() < free.sum():
        raise Unidentified
    found = optimize.least_squares(residuals, x0=start[free], jac=slopes)
    if np.linalg.matrix_rank(found.jac) < free.sum():
        raise Unidentified
    fit = _jackknife(found.x, found.jac, found.fun, cluster)
    covariance = np.zeros((len(start), len(start)))
    covariance[np.ix_(free, free)] = fit.covariance
    pseudo = {name: whole(value) for name, value in fit.pseudo.items()}
    return fit._replace(theta=whole(fit.theta), covariance=covariance, pseudo=pseudo)


def _jackknife(theta: Floats, jacobian: Floats, residuals: Floats, cluster: NDArray[np.int64]) -> InfluenceFit:
    whole, names = jacobian.T @ jacobian, np.unique(cluster)
    steps = np.array([_step(whole, jacobian[cluster == name], residuals[cluster == name]) for name in names])
    mean, clusters = steps.mean(axis=0), len(steps)
    spread = steps - mean
    covariance = (clusters - 1) / clusters * spread.T @ spread
    pseudo = {int(name): np.asarray(theta - (clusters - 1) * step) for name, step in zip(names, steps, strict=True)}
    return InfluenceFit(theta - (clusters - 1) * mean, covariance, clusters, len(residuals), pseudo)


def _step(whole: Floats, jacobian: Floats, residuals: Floats) -> Floats:
    """How far the fit moves if the rows of one cluster are left out."""
    return np.asarray(np.linalg.pinv(whole - jacobian.T @ jacobian) @ jacobian.T @ residuals)


def follow_model(theta: Floats, rooms: RoomPassages) -> tuple[Floats, Floats]:
    """The attitudes after the lines (n, k), and their slopes by parameter (n, k, p)."""
    value, kind = rooms.before.copy(), rooms.kinds
    rows, seats = np.arange(len(value)), np.arange(value.shape[1])[None, :]
    slope, kinds = np.zeros((*value.shape, len(theta))), int(np.max(kind)) + 1
    own_kappa, own_mu, of = kind, place(MU, kind, kinds), place(PULL + rooms.subject[:, None], kind, kinds)
    kappa, mu, pull = theta[own_kappa], theta[own_mu], theta[of]
    for line in range(rooms.speaker.shape[1]):
        speaker, heard = rooms.speaker[:, line], rooms.heard[:, line, :]
        own = speaker != GIVEN
        grade = np.where(own, value[rows, speaker], rooms.grade[:, line])[:, None]
        rise = np.where(own[:, None], slope[rows, speaker], 0.0)[:, None, :]
        moves = (heard & (own | np.isfinite(rooms.grade[:, line]))[:, None]).astype(float)
        gap = np.where(moves > 0, grade - value, 0.0)
        change = (kappa * moves)[..., None] * (rise - slope) - mu[..., None] * slope
        change[rows[:, None], seats, own_kappa] += gap
        change[rows[:, None], seats, own_mu] -= value
        change[rows[:, None], seats, of] += 1.0
        slope = slope + np.where(heard[..., None], change, 0.0)
        value = value + np.where(heard, kappa * gap + pull - mu * value, 0.0)
    return value, slope


@overload
def place(parameter: int, kind: int, kinds: int) -> int: ...
@overload
def place(parameter: int | NDArray[np.int64], kind: NDArray[np.int64], kinds: int) -> NDArray[np.int64]: ...
def place(parameter: Any, kind: Any, kinds: int) -> Any:
    """Return the places in theta of a parameter (KAPPA, MU, or PULL + subject) of a kind of person."""
    return parameter * kinds + kind


def fit_plain(fit: InfluenceFit, place: int) -> Estimate:
    """One parameter."""
    return combine_fits(fit, np.eye(len(fit.theta))[place])


def combine_fits(fit: InfluenceFit, weights: Floats) -> Estimate:
    """A weighted sum of parameters."""
    value, variance = float(weights @ fit.theta), float(weights @ fit.covariance @ weights)
    error = math.sqrt(max(variance, 0.0))
    return Estimate(value, error, value - _t(fit) * error, value + _t(fit) * error)


def bias_estimate(fit: InfluenceFit, subject: int = 0, kind: int = 0, kinds: int = 1) -> Estimate:
    """pull / mu with Fieller's interval: every b for which pull - b * mu does not differ from 0."""
    both = [place(MU, kind, kinds), place(PULL + subject, kind, kinds)]
    mu, pull = fit.theta[both]
    (v_mu, v_both), (_, v_pull) = _t(fit) ** 2 * fit.covariance[np.ix_(both, both)]
    square, linear, constant = mu**2 - v_mu, mu * pull - v_both, pull**2 - v_pull
    if square <= 0:
        return Estimate(np.nan, np.nan, -np.inf, np.inf)
    value, half = pull / mu, float(np.sqrt(max(linear**2 - square * constant, 0.0)))
    error = float(np.sqrt(max(v_pull - 2 * value * v_both + value**2 * v_mu, 0.0)) / (_t(fit) * abs(mu)))
    return Estimate(float(value), error, (linear - half) / square, (linear + half) / square)


def _t(fit: InfluenceFit) -> float:
    """The 97.5% quantile of Student's t."""
    return float(stats.t.ppf(0.975, fit.clusters - 1))


def recover_parameters(tables: Tables, grade: Grade, by_party: bool = False) -> pd.DataFrame:
    """Fit every topic. grade(topic, text) returns the grade 0-10 of a line, or None if it cannot be read.

    by_party: the agents of each party have parameters of their own. One fit over people who differ is no average of them.
    Returns one row per topic, party and parameter: topic, party (ALL: one fit over all agents), parameter, estimate, se, low,
    high (95%), transitions, rooms, how. By party, there is the parameter CLOSED too, and `differs` says whether it differs
    between parties on the topic (see `parties_differ`).
    Errors: UserError if a topic has fewer than 5 rooms to fit, or if influence and pull cannot be told apart.
    """
    return pd.DataFrame([row for topic in tables.topics for row in _fit(tables, topic, grade, by_party)])


def _fit(tables: Tables, topic: str, grade: Grade, by_party: bool) -> list[dict]:
    passages, how, parties = _agent_passages(tables, topic, grade, by_party)
    if passages.clusters < LEAST:
        raise UserError(
            f"{topic}: a fit needs at least {LEAST} rooms with ratings before and after a round, and this run "
            f"has {passages.clusters}"
        )
    try:
        fit = fit_influence(passages)
    except Unidentified as error:
        raise UserError(
            f"{topic}: influence and pull cannot be estimated separately from what agents read; the run needs "
            "more rooms, or lines that can be graded"
        ) from error
    sizes = {"transitions": len(passages.after), "rooms": fit.clusters, "how": how}
    if by_party:
        sizes["differs"] = parties_differ(fit, len(parties))
    return [
        {
            "topic": topic,
            "party": party,
            "parameter": name,
            "estimate": value,
            "se": error,
            "low": low,
            "high": high,
            **sizes,
        }
        for number, party in enumerate(parties)
        for name, (value, error, low, high) in _party_estimates(fit, number, len(parties), by_party)
    ]


def _party_estimates(fit: InfluenceFit, party: int, parties: int, by_party: bool) -> list[tuple[str, Estimate]]:
    kappa, mu = (fit_plain(fit, place(name, party, parties)) for name in (KAPPA, MU))
    known = [("kappa", kappa), ("mu", mu), ("bias", bias_estimate(fit, 0, party, parties))]
    return [*known, (CLOSED, distance_closed(fit, party, parties))] if by_party else known


def distance_closed(fit: InfluenceFit, kind: int, kinds: int, minus: int | None = None) -> Estimate:
    """Kappa plus mu: the share of its distances that a kind of person closes per line; minus that of another kind, if any."""
    weights = np.zeros(len(fit.theta))
    weights[[place(KAPPA, kind, kinds), place(MU, kind, kinds)]] = 1.0
    if minus is not None:
        weights[[place(KAPPA, minus, kinds), place(MU, minus, kinds)]] = -1.0
    return combine_fits(fit, weights)


def parties_differ(fit: InfluenceFit, kinds: int) -> bool:
    """Whether any two kinds of people close different shares of their distances, at the level DIFFERENT over all pairs."""
    pairs = list(combinations(range(kinds), 2))
    apart = [distance_closed(fit, one, kinds, minus=other) for one, other in pairs]
    limit = float(stats.t.ppf(1 - DIFFERENT / (2 * max(len(pairs), 1)), fit.clusters - 1))
    return any(abs(each.value) > limit * each.error for each in apart)


def _agent_passages(
    tables: Tables, topic: str, grade: Grade, by_party: bool
) -> tuple[RoomPassages, str, tuple[str, ...]]:
    """Each agent from one survey to the next as a room of its own, in which every line is given; how it was rated; the kinds."""
    rated = tables.attitudes[(tables.attitudes["topic"] == topic) & (tables.attitudes["group"] != "reference")]
    rated = rated.assign(party=rated["party"] if by_party else ALL)
    how = "expected" if rated["expected"].notna().all() else "attitude"
    levels = rated.pivot(index=["room", "agent", "party"], columns="round", values=how)
    parties = tuple(rated["party"].unique())
    lines, before, after, heard, room, kind = _graded_lines(tables, topic, grade), [], [], [], [], []
    for number, (name, agents) in enumerate(levels.groupby(level="room", sort=False)):
        for (_, agent, party), ratings in agents.iterrows():
            for first, last in pairwise(levels.columns):
                if np.isfinite(ratings[first]) and np.isfinite(ratings[last]):
                    rounds = (lines.get((name, round_), []) for round_ in range(first + 1, last + 1))
                    heard.append([value for line in rounds for speaker, value in line if speaker != agent])
                    before.append([ratings[first]])
                    after.append([ratings[last]])
                    room.append(number)
                    kind.append([parties.index(party)])
    shape = len(heard), max(map(len, heard), default=0)
    grades, mask = np.full(shape, np.nan), np.zeros((*shape, 1), dtype=bool)
    for row, values in enumerate(heard):
        grades[row, : len(values)], mask[row, : len(values)] = values, True
    start, end = (np.array(values, dtype=float).reshape(-1, 1) for values in (before, after))
    cluster, kinds = np.array(room, dtype=int), np.array(kind, dtype=int).reshape(-1, 1)
    packed = RoomPassages(start, end, np.full(shape, GIVEN), grades, mask, cluster, np.zeros_like(cluster), kinds)
    return packed, how, parties


def _graded_lines(tables: Tables, topic: str, grade: Grade) -> dict[tuple[str, int], list[tuple[int, float]]]:
    """Speaker and grade (NaN: cannot be read) of every line by room and round, in order."""
    spoken = tables.utterances[(tables.utterances["topic"] == topic) & tables.utterances["text"].notna()]
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for row in spoken.itertuples():
        value = grade(topic, row.text)
        lines.setdefault((row.room, row.round), []).append((row.agent, np.nan if value is None else value))
    return lines
