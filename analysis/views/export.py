"""What is shown, as files: the main figure, every table, the transcript. They are those that a report of the run so far has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import pandas as pd
import solara

from parley.analysis import transcript
from parley.analysis.deliberation import session_transcript
from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.deliberation.run_episodes import candidate_table, episodes_of_events, position_before
from parley.analysis.tables import Tables, table_csv
from parley.analysis.views._drawing import drawable, main
from parley.analysis.views._html import KINDS, element, painted
from parley.analysis.views._session import Shown

ORDER = 12
TITLE = "Export"


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    named = tables_of(shown.tables)
    chosen = solara.use_reactive("attitudes")
    stem = shown.session.folder.name if shown.session.folder else "run"
    now = [shown.tables, shown.round, chosen.value]
    element("p", "The figure up to the chosen round; tables and transcript as far as the run has come.", css="soft")
    if drawable(shown.tables):
        for kind, mime in KINDS.items():
            Saved(
                lambda kind=kind: painted(lambda: main(shown), kind),
                f"{stem}.{kind}",
                mime,
                f"Figure ({kind.upper()})",
                now,
            )
    solara.Select("Table", list(named), chosen)
    told = f"Table (CSV, {len(named[chosen.value]):,} rows)"
    Saved(lambda: table_csv(named[chosen.value]).encode(), f"{stem}-{chosen.value}.csv", "text/csv", told, now)
    Saved(lambda: text(shown).encode(), f"{stem}-transcript.md", "text/markdown", "Transcript (Markdown)", now)


@solara.component
def Saved(make: Callable[[], bytes], name: str, mime: str, label: str, now: list[object]) -> None:
    """A button for a file, which is made when it is asked for."""
    made = solara.use_memo(lambda: make, now)
    solara.FileDownload(made, name, label=label, mime_type=mime, icon_name=None)


def tables_of(tables: Tables) -> dict[str, pd.DataFrame]:
    """Every table that has a row, by its name."""
    named = {one.name: getattr(tables, one.name) for one in fields(tables)}
    return {
        name: table
        for name, table in named.items()
        if isinstance(table, pd.DataFrame) and (len(table) or name == "attitudes")
    }


def text(shown: Shown) -> str:
    """The transcript in Markdown."""
    if not deliberates(shown.tables):
        return transcript.text(shown.tables)
    record = shown.events
    return session_transcript.text(
        shown.tables, episodes_of_events(record), candidate_table(record), position_before(record)
    )
