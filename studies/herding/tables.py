"""The table of choices one after another."""

from __future__ import annotations

import pandas as pd

from parley.analysis.event_frames import event_frame, json_column
from parley.analysis.run_tables import Events, RunTable

from .events import Decided, StateDrawn


def decision_frame(record: Events) -> pd.DataFrame:
    """Return a row per person and period: the fields of Decided, then the right option `state` and `prior` of the period."""
    frame = event_frame(record.get(Decided, ()), Decided)
    frame["earlier"] = json_column(frame["earlier"])
    states = event_frame(record.get(StateDrawn, ()), StateDrawn)
    return frame.merge(states, on=["room", "round"], how="left", validate="many_to_one")


DECISIONS = RunTable(decision_frame, "choices one after another", "act", "choice")
