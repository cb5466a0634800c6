"""A population as a moving field: how many people hold each opinion at each step, drawn by the browser (field.vue)."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import pandas as pd
import solara

TABLE = Path("tables") / "distribution.csv"
LARGEST = 20_000_000
"""Bytes of the table that are read: a folder of a stranger may hold any number."""
MOST = 400
"""Steps that are sent to the browser, evenly taken."""


@solara.component_vue("field.vue")
def Field(field: str) -> None:
    """field: JSON of `field_of`: the steps, the edges of the opinions, and the people by step and opinion."""


@solara.component
def PopulationField(folder: Path, changed: float) -> None:
    """The field of a population; nothing where its table cannot be read."""
    field = field_of(folder, changed)
    if field:
        Field(field=field).key("field")


@lru_cache(maxsize=8)
def field_of(folder: Path, changed: float) -> str:
    """Return the numbers of the field as JSON; "" where there are none. changed: when they were, so that they are read anew."""
    try:
        if (folder / TABLE).stat().st_size > LARGEST:
            return ""
        table = pd.read_csv(folder / TABLE)
        if "dimension" in table:
            table = table[table["dimension"] == 1]
        counts = table.pivot_table(index="step", columns="low", values="people", aggfunc="sum", fill_value=0)
        high = float(table["high"].max())
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    counts = counts.iloc[:: max(1, -(-len(counts) // MOST))]
    edges = [*map(float, counts.columns), high]
    return json.dumps({"steps": counts.index.tolist(), "edges": edges, "people": counts.to_numpy().tolist()})
