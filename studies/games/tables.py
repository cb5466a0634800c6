"""The tables of games: moves, expectations before the first round, and what rounds paid."""

from __future__ import annotations

import pandas as pd

from parley.analysis.event_frames import event_frame, json_column, mean_answer, typed_table
from parley.analysis.run_tables import Events, RunTable

from .events import Expected, Moved, Settled


def move_frame(record: Events) -> pd.DataFrame:
    """Return a row per move, with lists as JSON."""
    return _answers(record, Moved)


def expectation_frame(record: Events) -> pd.DataFrame:
    """Return a row per expectation; `expected` is the mean of the answer distribution."""
    frame = _answers(record, Expected)
    frame["expected"] = pd.Series([mean_answer(shares, 0) for shares in frame["probabilities"]], dtype="float64")
    return frame


def _answers(record: Events, kind: type) -> pd.DataFrame:
    frame = event_frame(record.get(kind, ()), kind)
    for name in ("earlier", "probabilities"):
        frame[name] = json_column(frame[name])
    return frame


def outcome_frame(record: Events) -> pd.DataFrame:
    """Return a row per player and round: its points, and how the game went, in its last round."""
    rows = [
        (settled.room, settled.round, agent, points, settled.outcome, settled.package, int(settled.ended))
        for settled in record.get(Settled, ())
        for agent, points in zip(settled.agents, settled.points, strict=True)
    ]
    kinds = {"room": "object", "round": "int64", "agent": "int64", "points": "float64", "outcome": "object"}
    return typed_table(rows, **kinds, package="float64", ended="int64")


MOVES = RunTable(move_frame, "moves of a game", "value", "move", outcome="value")
EXPECTATIONS = RunTable(expectation_frame, "expectations before a game", "value", "expectation")
OUTCOMES = RunTable(outcome_frame, "outcomes of games", outcome="points")
