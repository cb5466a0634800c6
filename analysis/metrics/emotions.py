"""Emotion of each party by round: valence (how good people feel) and arousal (how worked up they are)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import EMOTIONS
from parley.analysis.bootstrap import Floats
from parley.analysis.formatting import seat_title
from parley.analysis.metrics._emotions import emotion_rooms
from parley.analysis.metrics._rooms import RoomMeasurement, room_means
from parley.analysis.tables import Tables

ORDER = 23
TITLE = "Emotions by round"
NOTE = (
    "Valence runs from 1 (very bad) to 7 (very good), arousal from 1 (very calm) to 7 (very worked up). Numbers are means over "
    "the people of a party, then over rooms. They are means of the distribution of answers where the model tells it. Missing "
    "counts the ratings that could not be read."
)
LABELS = {
    "party": "party", "rooms": "rooms", "valence": "valence", "arousal": "arousal", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "emotions"
UNRATED, NOT_ASKED = "no rating could be read", "not asked"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group, party and round: rooms, missing (ratings), valence, arousal (1 to 7), reason."""
    return room_means(_rows(tables), EMOTIONS, by=("party", "round"))


def headline(found: pd.DataFrame) -> str:
    """Return how valence changed from the first to the last survey, for each party."""
    if found["valence"].isna().all():
        return "Valence was not rated."
    by_party = found.dropna(subset="valence").groupby(["topic", "group", "party"], sort=False)["valence"]
    ends = [f"{seat_title(str(key[-1]))} from {part.iloc[0]:.1f} to {part.iloc[-1]:.1f}" for key, part in by_party]
    return f"Mean valence (1 very bad, 7 very good) from the first to the last survey: {', '.join(ends)}."


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    for one in emotion_rooms(tables):
        for party in one.room.parties.unique():
            own = (one.room.parties == party).to_numpy()
            for place, round_ in enumerate(one.surveys):
                felt = {name: ratings[own, place] for name, ratings in one.ratings.items()}
                missing = sum(int(np.isnan(values).sum()) for values in felt.values())
                means = {name: _mean(felt.get(name)) for name in EMOTIONS}
                yield {**one.room.keys, "party": party, "round": round_, "missing": missing, **means}


def _mean(felt: Floats | None) -> RoomMeasurement:
    if felt is None:
        return RoomMeasurement(None, NOT_ASKED)
    known = felt[~np.isnan(felt)]
    return RoomMeasurement(float(known.mean())) if len(known) else RoomMeasurement(None, UNRATED)
