"""Fits the known-truth speaker's own law of motion to a record: is what was planted found again?

After each line heard of grade g an attitude a is expected to move by kappa * (g - a) + mu * (bias - a). Between two
surveys an agent hears several lines; the recursion is followed exactly and kappa, mu and bias are fitted by least squares on
the next survey, all agents and rounds of a topic together. Standard errors are clustered by room (the rooms are independent,
the agents and rounds in one are not); intervals use Student's t with rooms - 1 degrees of freedom.

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
    Errors: UserError when a topic has fewer than 5 rooms to fit.
    """
    return pd.DataFrame([row for topic in tables.topics for row in _fit(tables, topic, grade)])


def _fit(tables: Tables, topic: str, grade: Grade) -> list[dict]:
    data, how = _transitions(tables, topic, grade)
    rooms = len(np.unique(data.room))
    if rooms < 5:
        raise UserError(f"{topic}: {rooms} rooms with ratings before and after a round; a fit needs at least 5")
    found = optimize.least_squares(lambda theta: _predict(theta, data) - data.after, x0=[0.05, 0.05, 5.0])
    errors = np.sqrt(np.diag(_clustered(found.jac, found.fun, data.room)))
    reach = stats.t.ppf(0.975, rooms - 1)
    sizes = {"transitions": len(data.after), "rooms": rooms, "how": how}
    return [
        {
            "topic": topic,
            "parameter": name,
            "estimate": value,
            "se": error,
            "low": value - reach * error,
            "high": value + reach * error,
            **sizes,
        }
        for name, value, error in zip(NAMES, found.x, errors, strict=True)
    ]


def _predict(theta: NDArray[np.float64], data: _Data) -> NDArray[np.float64]:
    kappa, mu, bias = theta
    value = data.before.copy()
    for line in range(data.grades.shape[1]):
        grade = data.grades[:, line]
        social = np.where(np.isnan(grade), 0.0, kappa * (np.nan_to_num(grade) - value))
        value = np.where(data.heard[:, line], value + social + mu * (bias - value), value)
    return value


def _clustered(
    jacobian: NDArray[np.float64], residuals: NDArray[np.float64], room: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Covariance of a least-squares fit with errors clustered by room (sandwich, with the usual small-sample factor)."""
    bread = np.linalg.inv(jacobian.T @ jacobian)
    scores = np.zeros((room.max() + 1, jacobian.shape[1]))
    np.add.at(scores, room, jacobian * residuals[:, None])
    clusters, rows = len(np.unique(room)), len(residuals)
    factor = clusters / (clusters - 1) * (rows - 1) / (rows - jacobian.shape[1])
    return np.asarray(factor * bread @ (scores.T @ scores) @ bread)


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
