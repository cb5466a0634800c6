"""The law of motion that a record is fitted to, its parameters, and how sure they are (recovery.py, card/).

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
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Floats = NDArray[np.float64]
KAPPA, MU, PULL = 0, 1, 2
"""Places of the parameters; from PULL on one a subject."""
START = (0.05, 0.05, 0.25)
GIVEN = -1
"""In the place of a speaker: the grade of the line is given."""


@dataclass(frozen=True)
class Rooms:
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


class Fit(NamedTuple):
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


def fit(rooms: Rooms, influence: bool = True) -> Fit:
    """Kappa, mu and pulls by the jackknife. influence: whether there is any; without, kappa is 0. Errors: Unidentified."""
    subjects = int(np.max(rooms.subject)) + 1
    start = np.array([START[KAPPA] * influence, START[MU], *[START[PULL]] * subjects])
    free = np.arange(len(start)) >= (KAPPA if influence else MU)
    known = np.isfinite(followed(start, rooms)[0]) & np.isfinite(rooms.after)
    where = np.broadcast_to(rooms.cluster[:, None], known.shape)[known]

    def whole(part: Floats) -> Floats:
        theta = np.zeros_like(start)
        theta[free] = part
        return theta

    def off(part: Floats) -> Floats:
        return np.asarray((followed(whole(part), rooms)[0] - rooms.after)[known])

    def slopes(part: Floats) -> Floats:
        return np.asarray(followed(whole(part), rooms)[1][known][:, free])

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


def _jackknifed(theta: Floats, jacobian: Floats, residuals: Floats, where: NDArray[np.int64]) -> Fit:
    whole = jacobian.T @ jacobian
    names = np.unique(where)
    steps = np.array([_step(whole, jacobian[where == one], residuals[where == one]) for one in names])
    mean, clusters = steps.mean(axis=0), len(steps)
    spread = steps - mean
    covariance = (clusters - 1) / clusters * spread.T @ spread
    pseudo = {int(one): np.asarray(theta - (clusters - 1) * step) for one, step in zip(names, steps, strict=True)}
    return Fit(theta - (clusters - 1) * mean, covariance, clusters, len(residuals), pseudo)


def _step(whole: Floats, jacobian: Floats, residuals: Floats) -> Floats:
    """How far the fit moves when the rows of one cluster are left out."""
    return np.asarray(np.linalg.pinv(whole - jacobian.T @ jacobian) @ jacobian.T @ residuals)


def followed(theta: Floats, rooms: Rooms) -> tuple[Floats, Floats]:
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


def plain(found: Fit, place: int) -> Estimate:
    """One parameter."""
    return combined(found, np.eye(len(found.theta))[place])


def combined(found: Fit, weights: Floats) -> Estimate:
    """A sum of parameters, weighted."""
    value, variance = float(weights @ found.theta), float(weights @ found.covariance @ weights)
    error = math.sqrt(max(variance, 0.0))
    reach = _reach(found)
    return Estimate(value, error, value - reach * error, value + reach * error)


def bias(found: Fit, subject: int = 0) -> Estimate:
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


def _reach(found: Fit) -> float:
    return float(stats.t.ppf(0.975, found.clusters - 1))
