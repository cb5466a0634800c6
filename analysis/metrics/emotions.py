"""Emotion of each party by round: valence (how good people feel) and arousal (how worked up they are).

Source: Russell 1980 (valence and arousal).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.probe import EMOTIONS
from parley.analysis.metrics._emotions import emotion_rooms
from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.statistics.intervals import Floats
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.model.titles import join_phrases

ORDER = 23
TITLE = "Emotions by round"
NOTE = (
    "Valence runs from 1 (very bad) to 7 (very good), arousal from 1 (very calm) to 7 (very worked up). The table shows means "
    "over the people of a party, then over rooms. If the model gives the probability of each answer, a rating is the mean of "
    "this distribution. The column *missing* counts the ratings that could not be read."
)
LABELS = {
    "party": "party", "rooms": "rooms", "valence": "valence", "arousal": "arousal", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "emotions"
BOUNDS = dict.fromkeys(EMOTIONS, (1.0, 7.0))
UNRATED, NOT_ASKED = "no rating could be read", "not asked"


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group, party and round: rooms, missing (ratings), valence, arousal (1 to 7), reason."""
    return room_means(_rows(tables), EMOTIONS, by=("party", "round"), bounds=BOUNDS)


def headline(table: pd.DataFrame) -> str:
    """Return the mean valence of each party at the first and the last survey, averaged over topics and groups that have both."""
    if table["valence"].isna().all():
        was_asked = table["reason"].str.contains(f"valence: {UNRATED}", regex=False).any()
        return unknown_sentence("how valence changed", UNRATED if was_asked else NOT_ASKED)
    ends = table.groupby(["topic", "group", "party"], sort=False)["valence"].agg(
        first=lambda values: values.iloc[0], last=lambda values: values.iloc[-1]
    )
    party_ends = ends.dropna().groupby(level="party", sort=False).mean()
    if party_ends.empty:
        return unknown_sentence("how valence changed", "no party has ratings at the first and at the last survey")
    phrases = [f"of {party} from {row['first']:.1f} to {row['last']:.1f}" for party, row in party_ends.iterrows()]
    return f"From the first to the last survey, mean valence (1 very bad, 7 very good) changed {join_phrases(phrases)}."


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    for emotion_room in emotion_rooms(tables):
        for party in emotion_room.room.parties.unique():
            of_party = (emotion_room.room.parties == party).to_numpy()
            for place, round_ in enumerate(emotion_room.surveys):
                felt = {name: ratings[of_party, place] for name, ratings in emotion_room.ratings.items()}
                missing = sum(int(np.isnan(values).sum()) for values in felt.values())
                means = {name: _mean(felt.get(name)) for name in EMOTIONS}
                yield {**emotion_room.room.keys, "party": party, "round": round_, "missing": missing, **means}


def _mean(felt: Floats | None) -> RoomMeasurement:
    if felt is None:
        return RoomMeasurement(None, NOT_ASKED)
    rated = felt[~np.isnan(felt)]
    return RoomMeasurement(float(rated.mean())) if len(rated) else RoomMeasurement(None, UNRATED)
