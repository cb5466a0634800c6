"""The table of versions of a story: what each person got, and the version that it made of it."""

from __future__ import annotations

import pandas as pd

from parley.analysis.event_frames import typed_table
from parley.analysis.run_tables import Events, RunTable
from parley.model.events import Endowed, Utterance
from parley.model.events.texts import RETELLING

from .events import Received


def version_frame(record: Events) -> pd.DataFrame:
    """Return what each agent got, and the version that it made of it. A version is made of one of an earlier day."""
    texts = [event for event in record.get(Utterance, ()) if event.form == RETELLING]
    written = {(event.room, event.round, event.agent): event for event in texts}
    roles = {(event.room, event.agent): event.role or None for event in record.get(Endowed, ())}
    depth: dict[tuple[str, int], int] = {}
    rows = []
    for got in record.get(Received, ()):
        made = written.get((got.room, got.round, got.agent))
        steps = depth.get((got.room, got.version), 0) + (made is not None)
        if made is not None:
            depth[got.room, made.iteration] = steps
        told = (made.iteration, steps, made.text, made.reason) if made else (None, steps, None, None)
        rows.append((got.room, got.agent, roles.get((got.room, got.agent)), got.round, got.version, got.source, *told))
    numbers = dict.fromkeys(("round", "received", "source"), "int64")
    types = {"room": "object", "agent": "int64", "role": "object"} | numbers | {"iteration": "Int64", "depth": "int64"}
    return typed_table(rows, **types, text="object", reason="object")


VERSIONS = RunTable(version_frame, "versions of a story")
