"""The table of tagged lines of a run with readers."""

from __future__ import annotations

import pandas as pd

from parley.analysis.event_frames import typed_table
from parley.analysis.run_tables import Events, RunTable
from parley.model.events import Utterance

from .events import Tagged
from .tags import PARTS


def tag_frame(record: Events) -> pd.DataFrame:
    """Return what the judge said of each line of an agent that readers heard: direction, argument and appeal.

    argument: the reason that the line gives. `reason` says why parts are missing.
    """
    speakers = {(line.room, line.iteration): line.agent for line in record.get(Utterance, ())}
    rows = []
    for line in record.get(Tagged, ()):
        if (speaker := speakers.get((line.room, line.iteration))) is not None:
            missing = "; ".join(f"{part} {why}" for part, why in zip(PARTS, line.reasons, strict=True) if why)
            said = (tag or None for tag in line.tags)
            rows.append((line.room, speaker, line.round, line.iteration, *said, missing or None, line.hearers, 1))
    types = {"room": "object", "agent": "int64", "round": "int64", "iteration": "int64"}
    return typed_table(
        rows,
        **types,
        direction="object",
        argument="object",
        appeal="object",
        reason="object",
        hearers="int64",
        asked="int64",
    )


TAGS = RunTable(tag_frame, "tagged lines", "direction", "tag")
