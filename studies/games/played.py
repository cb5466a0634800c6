"""Games: the rules of a run, and its moves room by room."""

from __future__ import annotations

import pandas as pd

from parley.analysis.run_tables import environment_as
from parley.analysis.tables import Tables

from .environment import Game

ROOM = ["topic", "group", "room"]
BARGAINING = ("offer", "response")
"""Kinds of move that are no amounts."""
WHAT = {
    "sent": "what is sent",
    "returned": "what is returned",
    "choice": "cooperation",
    "contributed": "what is put in",
}
"""Kinds of move in sentences."""


def rules(tables: Tables) -> Game:
    """Return the environment of a run, with its options."""
    return environment_as(Game, tables.header.scenario["options"])


def amounts(tables: Tables) -> pd.DataFrame:
    """Return the moves that are amounts, and those that are missing although they were asked for."""
    moves = tables.moves[~tables.moves["move"].isin(BARGAINING)]
    return moves[moves["asked"] > 0]


def endings(tables: Tables) -> pd.DataFrame:
    """Return one row per room whose game has ended: ROOM, repetition, outcome (None if unknown), package, ending.

    `ending` has the agreed package in its word: `agreement on 5`.
    """
    last = tables.outcomes[tables.outcomes["ended"] == 1].drop_duplicates("room").copy()
    agreed = last["package"].notna()
    last["ending"] = last["outcome"]
    last.loc[agreed, "ending"] = [f"agreement on {package:.0f}" for package in last.loc[agreed, "package"]]
    return last[[*ROOM, "repetition", "outcome", "package", "ending"]].reset_index(drop=True)
