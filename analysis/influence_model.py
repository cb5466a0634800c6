"""Estimates influence and pull from ratings, and the oracle's law from a record, as a check.

An agent with attitude a that hears a line of grade g moves by  kappa * (g - a) + mu * (bias - a).  Between two surveys agents
hear several lines. The recursion is followed line by line for a whole room, and kappa, mu and one pull = mu * bias per subject
are fitted to the next survey. The grade of a line is given (it was read), or it is the attitude that the model itself gives its
speaker at that moment. The real line differs from this value by unrelated noise (Berkson 1950), which makes the estimates less
precise but does not bias them.

Ratings are noisy: sampled, or rounded to whole points. Least squares on a noisy rating finds a pull where there is none, because
a rating that was too high by chance is followed by a lower one. Therefore the residuals are made unrelated not to the slopes at
the ratings before (least squares), but to the slopes at what other ratings predict for them (`RoomPassages.predicted`,
rating_value.py): instrumental variables, just identified. Where nothing predicts them, the ratings before count as exact.

Clusters are independent; rows within a cluster are not, and what an agent is moved to say comes back to it. Therefore estimates
and covariance are those of the jackknife that leaves out one cluster at a time (one Newton step each; in a linear model this is
exact, and with exact ratings the covariance is the CR3 of Bell and McCaffrey 2002). It removes the bias of order 1/clusters that
such feedback causes. Intervals use Student's t with clusters - 1 degrees of freedom. A bias is a ratio, and its interval is
Fieller's (1954). If the interval of mu contains 0, the bias has no estimate (NaN, unbounded interval), because a pull that may
be nothing has no direction.

People may differ: some are more stubborn. One fit over people who differ is no average of them, because how far they move goes
with where they are; then each kind of person has a kappa, a mu and pulls of its own (`RoomPassages.kind`).

`recover_parameters` fits the oracle's own law to a record, to check that the planted values are found again. It fits each agent
by itself, with the grades of the lines that it heard as they were read. The unit is the room. The fitted law knows neither the
ends of the axis nor bounded confidence (epsilon), under which kappa comes out too small. Ratings are the expected ones (mean of
the answer distribution) if the record has them, and taken as exact; whole ratings are predicted, as above. `how` in the result
says which were used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, NamedTuple, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from parley.analysis.rating_value import EXPECTED, predict_ratings
from parley.analysis.statistics.intervals import ALIKE
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
"""Kappa, mu and pull where the fit begins."""
GIVEN = -1
"""In place of a speaker: the grade of the line is given."""
LEAST = 5
"""With fewer rooms nothing is fitted."""
STEPS, FREE, SMALL = 50, 5, 1e-9
"""Newton steps at most; how many of them move the instruments along, which then stay, so that weak ones do not run in circles;
and the change of kappa and mu at which the fit has arrived. It takes four to eight."""
FASTEST = 3.0
"""Kappa and mu end here: three times the distance per line is no law, and a fit that goes there knows nothing."""


@dataclass(frozen=True)
class RoomPassages:
    """What happened between two surveys of a room, one row each: n rows, k seats, t lines.

    before, after (n, k): attitudes; NaN: missing. speaker (n, t): the seat that speaks a line, or GIVEN. grade (n, t): of a given
    line; NaN: it cannot be read and has no influence. heard (n, t, k): which seats hear it. cluster (n,): clusters are
    independent. subject (n,): from 0, each with its own pull. kind (n, k): from 0, the kind of person in a seat; each kind moves
    at its own rates. Without it, all people are of one kind. predicted (n, k): `before` as other ratings predict it
    (rating_value.py); without it, `before` is exact.
    """

    before: Floats
    after: Floats
    speaker: NDArray[np.int64]
    grade: Floats
    heard: NDArray[np.bool_]
    cluster: NDArray[np.int64]
    subject: NDArray[np.int64]
    kind: NDArray[np.int64] | None = None
    predicted: Floats | None = None

    @property
    def clusters(self) -> int:
        return len(np.unique(self.cluster))

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The kind of person in each seat (n, k)."""
        return np.zeros(self.before.shape, dtype=int) if self.kind is None else self.kind


class InfluenceFit(NamedTuple):
    """theta (p,): kappa, mu, and the pull of each subject (see `place`); covariance; number of clusters and of ratings fitted.

    A kind of people whose rates cannot be estimated has NaN in theta. pseudo: by cluster the jackknife's pseudo-value (p,), whose
    mean is theta.
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
    """Kappa, mu and pulls by the jackknife. influence: whether there is any; if not, kappa is 0.

    Errors: Unidentified, also where one kind of people cannot be estimated and others hear what it says.
    """
    kinds, pulls = int(np.max(rooms.kinds)) + 1, int(np.max(rooms.subject)) + 1
    start = np.repeat([START[KAPPA] * influence, START[MU], *[START[PULL]] * pulls], kinds)
    free = np.arange(len(start)) >= (0 if influence else MU * kinds)
    theta, rows = _solve(start, free, rooms)
    fastest = (np.abs(theta[: PULL * kinds].reshape(PULL, kinds)) >= FASTEST).any(axis=0)
    if fastest.all() or (fastest.any() and (rooms.speaker != GIVEN).any()):
        raise Unidentified
    fit = _jackknife(theta[free], *rows)
    covariance = np.zeros((len(start), len(start)))
    covariance[np.ix_(free, free)] = fit.covariance

    def whole(free_values: Floats) -> Floats:
        values = np.zeros_like(start)
        values[free] = free_values
        return np.where(np.tile(fastest, PULL + pulls), np.nan, values)

    pseudo = {name: whole(value) for name, value in fit.pseudo.items()}
    return fit._replace(theta=whole(fit.theta), covariance=covariance, pseudo=pseudo)


class _Rows(NamedTuple):
    """One row per rating: instruments and slopes (r, p), residuals and clusters (r,)."""

    instruments: Floats
    slopes: Floats
    residuals: Floats
    cluster: NDArray[np.int64]


def _solve(start: Floats, free: NDArray[np.bool_], rooms: RoomPassages) -> tuple[Floats, _Rows]:
    """Theta with residuals that are unrelated to the instruments, and the rows there. Errors: Unidentified."""
    theta, rows = start.copy(), _linearise(start, start, free, rooms)
    at, rates = start, PULL * (int(np.max(rooms.kinds)) + 1)
    for number in range(STEPS):
        if min(map(np.linalg.matrix_rank, (rows.slopes, rows.instruments))) < free.sum():
            raise Unidentified
        before = theta.copy()
        theta[free] += _step(rows.instruments, rows.slopes, rows.residuals)
        theta[:rates] = theta[:rates].clip(-FASTEST, FASTEST)
        at = theta.copy() if number < FREE else at
        rows = _linearise(theta, at, free, rooms)
        if np.abs(theta - before)[:rates].max() < SMALL:
            return theta, rows
    raise Unidentified


def _linearise(theta: Floats, at: Floats, free: NDArray[np.bool_], rooms: RoomPassages) -> _Rows:
    """The rows at theta. at: the parameters of the instruments."""
    fitted, slopes = follow_model(theta, rooms)
    twin = rooms if rooms.predicted is None else replace(rooms, before=rooms.predicted)
    predicted, instruments = follow_model(at, twin)
    complete = np.isfinite(rooms.before) & np.isfinite(rooms.after) & np.isfinite(fitted) & np.isfinite(predicted)
    cluster = np.broadcast_to(rooms.cluster[:, None], complete.shape)[complete]
    return _Rows(instruments[complete][:, free], slopes[complete][:, free], (fitted - rooms.after)[complete], cluster)


def _jackknife(
    theta: Floats, instruments: Floats, slopes: Floats, residuals: Floats, cluster: NDArray[np.int64]
) -> InfluenceFit:
    names = np.unique(cluster)
    # How far the fit moves if the rows of one cluster are left out.
    steps = np.array(
        [_step(instruments[cluster != name], slopes[cluster != name], residuals[cluster != name]) for name in names]
    )
    mean, clusters = steps.mean(axis=0), len(steps)
    spread = steps - mean
    covariance = (clusters - 1) / clusters * spread.T @ spread
    pseudo = {int(name): np.asarray(theta - (clusters - 1) * step) for name, step in zip(names, steps, strict=True)}
    return InfluenceFit(theta - (clusters - 1) * mean, covariance, clusters, len(residuals), pseudo)


def _step(instruments: Floats, slopes: Floats, residuals: Floats) -> Floats:
    """How far Newton's method moves the parameters."""
    return np.asarray(-np.linalg.pinv(instruments.T @ slopes) @ instruments.T @ residuals)


def follow_model(theta: Floats, rooms: RoomPassages) -> tuple[Floats, Floats]:
    """The attitudes after the lines (n, k), and their slopes by parameter (n, k, p)."""
    value, kind = rooms.before.copy(), rooms.kinds
    rows, seats = np.arange(len(value)), np.arange(value.shape[1])[None, :]
    slope, kinds = np.zeros((*value.shape, len(theta))), int(np.max(kind)) + 1
    own_kappa, own_mu, of = kind, place(MU, kind, kinds), place(PULL + rooms.subject[:, None], kind, kinds)
    kappa, mu, pull = theta[own_kappa], theta[own_mu], theta[of]
    for line in range(rooms.speaker.shape[1]):
        speaker, heard = rooms.speaker[:, line], rooms.heard[:, line, :]
        is_agent = speaker != GIVEN
        grade = np.where(is_agent, value[rows, speaker], rooms.grade[:, line])[:, None]
        rise = np.where(is_agent[:, None], slope[rows, speaker], 0.0)[:, None, :]
        moves = (heard & (is_agent | np.isfinite(rooms.grade[:, line]))[:, None]).astype(float)
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
    """A weighted sum of parameters; NaN where one of them is unknown."""
    used = weights != 0
    value, variance = float(weights[used] @ fit.theta[used]), float(weights @ fit.covariance @ weights)
    error = math.sqrt(max(variance, 0.0))
    return Estimate(value, error, value - _t(fit) * error, value + _t(fit) * error)


def bias_estimate(fit: InfluenceFit, subject: int = 0, kind: int = 0, kinds: int = 1) -> Estimate:
    """pull / mu with Fieller's interval: every b for which pull - b * mu does not differ from 0."""
    both = [place(MU, kind, kinds), place(PULL + subject, kind, kinds)]
    mu, pull = fit.theta[both]
    (v_mu, v_both), (_, v_pull) = _t(fit) ** 2 * fit.covariance[np.ix_(both, both)]
    square, linear, constant = mu**2 - v_mu, mu * pull - v_both, pull**2 - v_pull
    if not square > 0 or abs(mu) <= ALIKE:
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
    Errors: UserError if a topic has fewer than 5 rooms to fit, or if influence and pull cannot be separated.
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
            f"{topic}: influence and pull cannot be estimated separately from what agents read; the run needs more "
            "rooms, or replies whose opinion is known"
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
    estimates = [("kappa", kappa), ("mu", mu), ("bias", bias_estimate(fit, 0, party, parties))]
    return [*estimates, (CLOSED, distance_closed(fit, party, parties))] if by_party else estimates


def distance_closed(fit: InfluenceFit, kind: int, kinds: int, minus: int | None = None) -> Estimate:
    """Kappa plus mu: the share of its distances that a kind of person closes per line; minus that of another kind, if any."""
    return combine_fits(fit, _rates_of((KAPPA, MU), fit, kind, kinds, minus))


def _rates_of(rates: tuple[int, ...], fit: InfluenceFit, kind: int, kinds: int, minus: int | None) -> Floats:
    """The weights of the sum of some rates of a kind of person; minus that of another kind, if any."""
    weights = np.zeros(len(fit.theta))
    weights[[place(rate, kind, kinds) for rate in rates]] = 1.0
    if minus is not None:
        weights[[place(rate, minus, kinds) for rate in rates]] = -1.0
    return weights


def parties_differ(fit: InfluenceFit, kinds: int) -> bool:
    """Whether any two kinds of people differ in kappa, or in kappa plus mu, at the level DIFFERENT over all pairs and both.

    Rates that differ by less than ALIKE are the same but for rounding. Where ratings are noisy, the sum is imprecise.
    """
    pairs = list(combinations(range(kinds), 2))
    apart = [
        combine_fits(fit, _rates_of(rates, fit, first, kinds, other))
        for first, other in pairs
        for rates in ((KAPPA,), (KAPPA, MU))
    ]
    limit = float(stats.t.ppf(1 - DIFFERENT / (2 * max(len(apart), 1)), fit.clusters - 1))
    return any(abs(each.value) > max(limit * each.error, ALIKE) for each in apart)


def _agent_passages(
    tables: Tables, topic: str, grade: Grade, by_party: bool
) -> tuple[RoomPassages, str, tuple[str, ...]]:
    """Each agent from one survey to the next as a room of its own, in which every line is given; how it was rated; the kinds."""
    rated = tables.attitudes[(tables.attitudes["topic"] == topic) & (tables.attitudes["group"] != "reference")]
    how = "expected" if (rated["measure"] == EXPECTED).all() else "attitude"
    levels = rated.pivot(index=["room", "agent", "party"], columns="round", values="attitude")
    rooms, party = (pd.factorize(levels.index.get_level_values(name)) for name in ("room", "party"))
    parties = tuple(party[1]) if by_party else (ALL,)
    predicted = predict_ratings(levels.to_numpy(dtype=float), party[0], rooms[0], party[0])
    lines, rows = _graded_lines(tables, topic, grade), []
    for number, ((room, agent, _), ratings) in enumerate(zip(levels.index, levels.to_numpy(dtype=float), strict=True)):
        for place, (first, last) in enumerate(pairwise(levels.columns)):
            if np.isfinite(ratings[place : place + 2]).all():
                rounds = (lines.get((room, round_), []) for round_ in range(first + 1, last + 1))
                heard = [value for line in rounds for speaker, value in line if speaker != agent]
                rows.append(
                    (heard, *ratings[place : place + 2], predicted[number, place], rooms[0][number], party[0][number])
                )
    heards, *columns = zip(*rows, strict=True) if rows else [()] * 6
    shape = len(heards), max(map(len, heards), default=0)
    grades, mask = np.full(shape, np.nan), np.zeros((*shape, 1), dtype=bool)
    for row, values in enumerate(heards):
        grades[row, : len(values)], mask[row, : len(values)] = values, True
    start, end, likely = (np.array(values, dtype=float).reshape(-1, 1) for values in columns[:3])
    cluster, kinds = (np.array(values, dtype=int) for values in columns[3:])
    kinds = kinds.reshape(-1, 1) if by_party else np.zeros((shape[0], 1), dtype=int)
    # Means of answer distributions are taken as exact: it is known what moves these speakers, and noise would show.
    expected = None if how == "expected" else likely
    packed = RoomPassages(
        start, end, np.full(shape, GIVEN), grades, mask, cluster, np.zeros_like(cluster), kinds, expected
    )
    return packed, how, parties


def _graded_lines(tables: Tables, topic: str, grade: Grade) -> dict[tuple[str, int], list[tuple[int, float]]]:
    """Speaker and grade (NaN: cannot be read) of every line by room and round, in order."""
    spoken = tables.utterances[(tables.utterances["topic"] == topic) & tables.utterances["text"].notna()]
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for row in spoken.itertuples():
        value = grade(topic, row.text)
        lines.setdefault((row.room, row.round), []).append((row.agent, np.nan if value is None else value))
    return lines
