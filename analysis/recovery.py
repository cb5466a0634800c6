"""Fits the known-truth speaker's own law of motion to a record: is what was planted found again?

After each line heard of grade g an attitude a is expected to move by kappa * (g - a) + mu * (bias - a). Between two
surveys an agent hears several lines; the recursion is followed exactly, and kappa, mu and pull = mu * bias are fitted by
least squares on the next survey, all agents and rounds of a topic together.

The rooms are independent; the agents and rounds in one are not, and what somebody is moved to say comes back to it. So
estimates and covariance are those of the jackknife that leaves out one room at a time (one Newton step each; in a linear
model this is exact, and the covariance is the CR3 of Bell and McCaffrey 2002): it takes out the bias of order 1/rooms that
least squares has with such feedback. Intervals use Student's t with rooms - 1 degrees of freedom. The bias is a ratio:
its interval is Fieller's (1954), and when the interval of mu contains 0 there is none (a pull that cannot be told from
nothing has no direction): the estimate is then NaN and the interval unbounded. Clipping at the ends of the axis is no part
of the fitted law; neither is bounded confidence (epsilon), under which kappa comes out too small.

Starting values are the expected ratings (mean of the answer distribution), where the record has them: a rounded rating is a
predictor measured with error and would bias the pull upward. `how` in the result says which was used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, stats

from analysis.load import Tables
from llm.errors import UserError

Grade = Callable[[str, str], float | None]
NAMES = ("kappa", "mu", "bias")


@dataclass(frozen=True)
class _Data:
    """Transitions from one survey to the next.

    before and after (n,), grades heard (n, k; NaN: nothing or unread), heard (n, k), room (n,).
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    grades: NDArray[np.float64]
    heard: NDArray[np.bool_]
    room: NDArray[np.int64]


def recover(tables: Tables, grade: Grade) -> pd.DataFrame:
    """Fit every topic. grade(topic, text) is the grade 0-10 of a line, or None when it cannot be read.

    Returns a row a topic and parameter: topic, parameter, estimate, se, low, high (95%), transitions, rooms, how.
    Errors: UserError when a topic has fewer than 5 rooms to fit, or nothing that tells influence and pull apart.
    """
    return pd.DataFrame([row for topic in tables.topics for row in _fit(tables, topic, grade)])


def _fit(tables: Tables, topic: str, grade: Grade) -> list[dict]:
    data, how = _transitions(tables, topic, grade)
    rooms = len(np.unique(data.room))
    if rooms < 5:
        raise UserError(f"{topic}: {rooms} rooms with ratings before and after a round; a fit needs at least 5")
    theta, covariance = _jackknifed(data, topic)
    reach = stats.t.ppf(0.975, rooms - 1)
    fits = [_plain(theta, covariance, place, reach) for place in (0, 1)] + [_ratio(theta, covariance, reach)]
    sizes = {"transitions": len(data.after), "rooms": rooms, "how": how}
    return [
        {"topic": topic, "parameter": name, "estimate": value, "se": error, "low": low, "high": high, **sizes}
        for name, (value, error, low, high) in zip(NAMES, fits, strict=True)
    ]


def _jackknifed(data: _Data, topic: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(kappa, mu, pull) and their covariance, by leaving out one room at a time."""
    found = optimize.least_squares(lambda theta: _predict(theta, data) - data.after, x0=[0.05, 0.05, 0.25])
    if np.linalg.matrix_rank(found.jac) < len(found.x):
        raise UserError(
            f"{topic}: what was heard tells influence and pull not apart (are there lines that can be graded?)"
        )
    bread = np.linalg.inv(found.jac.T @ found.jac)
    steps = np.array(
        [_step(found.jac[data.room == room], found.fun[data.room == room], bread) for room in np.unique(data.room)]
    )
    mean, rooms = steps.mean(axis=0), len(steps)
    spread = steps - mean
    return found.x - (rooms - 1) * mean, (rooms - 1) / rooms * spread.T @ spread


def _step(
    jacobian: NDArray[np.float64], residuals: NDArray[np.float64], bread: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How far the fit moves when the rows of one room are left out."""
    kept = np.eye(len(residuals)) - jacobian @ bread @ jacobian.T
    return np.asarray(bread @ jacobian.T @ (np.linalg.pinv(kept) @ residuals))


Fit = tuple[float, float, float, float]
"""Estimate, standard error, and the ends of the 95% interval."""


def _plain(theta: NDArray[np.float64], covariance: NDArray[np.float64], place: int, reach: float) -> Fit:
    value, error = float(theta[place]), float(np.sqrt(covariance[place, place]))
    return value, error, value - reach * error, value + reach * error


def _ratio(theta: NDArray[np.float64], covariance: NDArray[np.float64], reach: float) -> Fit:
    """pull / mu with Fieller's interval: every b for which pull - b * mu does not differ from 0."""
    (_, mu, pull), (v_mu, v_both, v_pull) = theta, reach**2 * covariance[(1, 1, 2), (1, 2, 2)]
    square, linear, constant = mu**2 - v_mu, mu * pull - v_both, pull**2 - v_pull
    if square <= 0:
        return np.nan, np.nan, -np.inf, np.inf
    value, half = pull / mu, float(np.sqrt(max(linear**2 - square * constant, 0.0)))
    error = float(np.sqrt(max(v_pull - 2 * value * v_both + value**2 * v_mu, 0.0)) / (reach * abs(mu)))
    return float(value), error, (linear - half) / square, (linear + half) / square


def _predict(theta: NDArray[np.float64], data: _Data) -> NDArray[np.float64]:
    kappa, mu, pull = theta
    value = data.before.copy()
    for line in range(data.grades.shape[1]):
        grade = data.grades[:, line]
        social = np.where(np.isnan(grade), 0.0, kappa * (np.nan_to_num(grade) - value))
        value = np.where(data.heard[:, line], value + social + pull - mu * value, value)
    return value


def _transitions(tables: Tables, topic: str, grade: Grade) -> tuple[_Data, str]:
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


def _packed(rows: list[tuple[float, float, list[float], int]]) -> _Data:
    width = max((len(heard) for _, _, heard, _ in rows), default=0)
    grades, mask = np.full((len(rows), width), np.nan), np.zeros((len(rows), width), dtype=bool)
    for number, (_, _, heard, _) in enumerate(rows):
        grades[number, : len(heard)], mask[number, : len(heard)] = heard, True
    before, after, room = (np.array([row[place] for row in rows]) for place in (0, 1, 3))
    return _Data(before, after, grades, mask, room.astype(int))
