"""Where people are drawn who meet in several places: around their tables; in a network, where its links put them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from parley.analysis.network_plot import Floats
from parley.analysis.tables import Tables

LINKED = ("network", "medium")
"""Kinds of places in which links decide who hears whom."""
WIDTH_TO_HEIGHT = 1000 / 700
AROUND = 0.27
"""The radius of a table, as a share of what it has of the drawing."""


def seatings(tables: Tables, room: str) -> dict[str, pd.DataFrame]:
    """Return who sits where in a room, by a title such as `Stage 2: echo`; empty where there are no tables."""
    places = tables.places[tables.places["room"] == room]
    return {
        f"Stage {stage}: {place.replace('_', ' ')}": seats
        for (stage, place), seats in places.groupby(["stage", "place"], sort=False)
    }


def seating_now(by_title: Mapping[str, pd.DataFrame], round_: int) -> str:
    """Return the title of the first place in which people sit in a round."""
    begun = {title: int(seats["round"].iloc[0]) for title, seats in by_title.items()}
    latest = max((first for first in begun.values() if first <= max(round_, 1)), default=0)
    return next(title for title, start in begun.items() if start == latest)


def around_tables(seats: pd.DataFrame, agents: Sequence[int]) -> Floats:
    """Return the place of each agent, from 0 to 1 in width and height: around its table, or below all tables without one.

    Tables are in rows, in their order.
    """
    numbers = list(dict.fromkeys(seats["table"]))
    columns = max(1, round((len(numbers) * WIDTH_TO_HEIGHT) ** 0.5))
    rows = -(-len(numbers) // columns)
    at = {agent: ((place + 0.5) / len(agents), 0.985) for place, agent in enumerate(agents)}
    for place, number in enumerate(numbers):
        members = seats.loc[seats["table"] == number, "agent"].tolist()
        angles = 2 * np.pi * np.arange(len(members)) / max(1, len(members))
        middle = (place % columns + 0.5) / columns, (place // columns + 0.5) / rows * 0.95
        for member, angle in zip(members, angles, strict=True):
            at[member] = (
                middle[0] + AROUND / columns * float(np.sin(angle)),
                middle[1] - AROUND / rows * 0.95 * float(np.cos(angle)),
            )
    return np.array([at[agent] for agent in agents], dtype=np.float64)
