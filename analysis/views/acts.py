"""What people did on a social medium: every act, with its post, and why one is missing or had no effect."""

from __future__ import annotations

import pandas as pd
import solara

from parley.agents.act_names import ACTS
from parley.analysis.feeds import act_words, names_of, written
from parley.analysis.tables import Tables
from parley.analysis.views._finder import finder
from parley.analysis.views._html import Cell, Select, element, named, table
from parley.analysis.views._session import Shown, debates
from parley.analysis.views.conversation import person_of

ORDER = 3
TITLE = "Acts"
ALL, MISSING = "all acts", "missing"


def shows(tables: Tables) -> bool:
    return not tables.acts.empty


@solara.component
def View(shown: Shown) -> None:
    tables, titles = shown.tables, debates(shown.tables)
    room, kind = solara.use_reactive(next(iter(titles))), solara.use_reactive(ALL)
    here = room.value if room.value in titles else next(iter(titles))
    acts = tables.acts[(tables.acts["room"] == here) & (tables.acts["round"] <= shown.round)]
    with solara.Div(classes=["choose"]):
        if len(titles) > 1:
            finder("Room", titles, here, room.set, steps=True)
        Select("Acts", [ALL, *ACTS, MISSING], kind)
    element("p", act_counts(acts), css="soft", role="status")
    chosen = (
        acts if kind.value == ALL else acts[acts["act"].isna() if kind.value == MISSING else acts["act"] == kind.value]
    )
    table(["round", "who", "what"], act_rows(tables, here, chosen), "Acts of this room", shown.session.look_at)


def act_counts(acts: pd.DataFrame) -> str:
    """Return how often each act was chosen: `34 acts: nothing 22, post 8, like 4. Missing: 0.`"""
    counts = acts["act"].value_counts()
    words = ", ".join(f"{act} {counts[act]:,}" for act in ACTS if act in counts)
    return f"{len(acts):,} acts{f': {words}' if words else ''}. Missing: {int(acts['act'].isna().sum()):,}."


def act_rows(tables: Tables, room: str, acts: pd.DataFrame) -> list[list[Cell]]:
    """Return a row per act: round, who, and the act in words."""
    texts, names = written(tables, room), names_of(tables, room)
    return [
        [str(row["round"]), named(str(row["name"]), person_of(row)), act_words(row, texts, names)]
        for row in acts.to_dict("records")
    ]
