"""The table of answers for and against a claim."""

from __future__ import annotations

import pandas as pd

from parley.analysis.event_frames import event_frame, json_column
from parley.analysis.run_tables import Events, RunTable

from .events import TookSide


def side_frame(record: Events) -> pd.DataFrame:
    """Return a row per person and round: the fields of TookSide."""
    frame = event_frame(record.get(TookSide, ()), TookSide)
    frame["earlier"] = json_column(frame["earlier"])
    return frame


SIDES = RunTable(side_frame, "answers for and against a claim", "side", "answer")
