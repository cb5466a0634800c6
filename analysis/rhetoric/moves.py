"""How far each hearer moved toward the speaker after a turn, where everybody was asked after every turn (`also=NAME:turns`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from parley.analysis.human.rooms import each_turn
from parley.analysis.load import Tables

TYPES = {"room": "object", "iteration": "int64", "agent": "int64", "toward": "float64"}
COLUMNS = list(TYPES)


def moves(tables: Tables) -> pd.DataFrame:
    """A row a hearer and turn: room, iteration, agent (the hearer), toward: change of attitude (points of 0-10) since it was last
    asked, positive toward where the speaker stood. Without a rating before and after, or a side to go to, there is no row; nor
    where several turns went by between two surveys of the room, which nobody could tell apart.
    """
    before = tables.attitudes[(tables.attitudes["round"] == 0) & tables.attitudes["group"].isin(tables.groups)]
    ratings = pd.concat([before, each_turn(tables)])
    speakers = tables.utterances[tables.utterances["text"].notna()].set_index(["room", "iteration"])["agent"].to_dict()
    rows = [row for room, part in ratings.groupby("room", sort=False) for row in _room(str(room), part, speakers)]
    return pd.DataFrame(rows, columns=COLUMNS).astype(TYPES).dropna(subset="toward")


def _room(
    room: str, ratings: pd.DataFrame, speakers: dict[tuple[str, int], int]
) -> Iterator[tuple[str, int, int, float]]:
    last: dict[int, float] = {}
    before = 0
    for iteration, told in ratings.sort_values("iteration", kind="stable").groupby("iteration"):
        turn = int(str(iteration))
        speaker, before = speakers.get((room, turn)) if turn == before + 1 else None, turn
        now = dict(zip(told["agent"], told["attitude"], strict=True))
        for agent, attitude in now.items():
            if speaker not in (None, agent) and agent in last:
                side = np.sign(last.get(speaker, np.nan) - last[agent])
                yield room, turn, int(agent), (attitude - last[agent]) * side if side else np.nan
        last |= now
