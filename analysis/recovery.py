"""Fits the known-truth speaker's own law of motion to a record: is what was planted found again?

The law, the fit and its intervals are those of analysis/law.py, every agent by itself, with the grades of the lines that it
heard as they were read. The unit is the room. Clipping at the ends of the axis is no part of the fitted law; neither is
bounded confidence (epsilon), under which kappa comes out too small.

Starting values are the expected ratings (mean of the answer distribution), where the record has them: a rounded rating is a
predictor measured with error and would bias the pull upward. `how` in the result says which was used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from parley.analysis.law import GIVEN, KAPPA, MU, Rooms, Unidentified, bias, fit, plain
from parley.analysis.load import Tables
from parley.llm.errors import UserError

Grade = Callable[[str, str], float | None]
NAMES = ("kappa", "mu", "bias")
LEAST = 5
"""Rooms without which nothing is fitted."""


def recover(tables: Tables, grade: Grade) -> pd.DataFrame:
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
        found = fit(data)
    except Unidentified as error:
        raise UserError(
            f"{topic}: what was heard tells influence and pull not apart (are there lines that can be graded?)"
        ) from error
    fits = [plain(found, KAPPA), plain(found, MU), bias(found)]
    sizes = {"transitions": len(data.after), "rooms": found.clusters, "how": how}
    return [
        {"topic": topic, "parameter": name, "estimate": value, "se": error, "low": low, "high": high, **sizes}
        for name, (value, error, low, high) in zip(NAMES, fits, strict=True)
    ]


def _transitions(tables: Tables, topic: str, grade: Grade) -> tuple[Rooms, str]:
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


def _packed(rows: list[tuple[float, float, list[float], int]]) -> Rooms:
    """Each agent as a room of its own, in which every line is given."""
    width = max((len(heard) for _, _, heard, _ in rows), default=0)
    grades, mask = np.full((len(rows), width), np.nan), np.zeros((len(rows), width), dtype=bool)
    for number, (_, _, heard, _) in enumerate(rows):
        grades[number, : len(heard)], mask[number, : len(heard)] = heard, True
    before, after, room = (np.array([row[place] for row in rows]) for place in (0, 1, 3))
    speaker = np.full((len(rows), width), GIVEN)
    rooms = room.astype(int)
    return Rooms(before[:, None], after[:, None], speaker, grades, mask[..., None], rooms, np.zeros_like(rooms))
