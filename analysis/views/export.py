"""The run so far as files: the main figure, every table and the transcript, the same as those of a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial

import pandas as pd
import solara

from parley.analysis import transcript
from parley.analysis.deliberation import session_transcript
from parley.analysis.deliberation.consensus_report import deliberates
from parley.analysis.deliberation.run_episodes import candidate_table, episodes_of_events, position_before
from parley.analysis.tables import Tables, table_csv
from parley.analysis.views._html import KINDS, Select, element, painted
from parley.analysis.views._session import Shown
from parley.analysis.views.attitudes import drawable, main

ORDER = 12
TITLE = "Export"


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    frames = tables_of(shown.tables)
    chosen = solara.use_reactive("attitudes")
    frame = frames[chosen.value]
    stem = shown.session.folder.name if shown.session.folder else "run"
    now = [shown.tables, shown.round, chosen.value]
    element("p", "The figure is up to the chosen round; tables and transcript have all rounds so far.", css="soft")
    if drawable(shown.tables):
        for kind, mime in KINDS.items():
            draw = partial(painted, partial(main, shown), kind)
            Download(draw, f"{stem}.{kind}", mime, f"Figure ({kind.upper()})", now)
    Select("Table", list(frames), chosen)
    csv = f"{stem}-{chosen.value}.csv"
    Download(lambda: table_csv(frame).encode(), csv, "text/csv", f"Table (CSV, {len(frame):,} rows)", now)
    Download(lambda: text(shown).encode(), f"{stem}-transcript.md", "text/markdown", "Transcript (Markdown)", now)


@solara.component
def Download(make: Callable[[], bytes], name: str, mime: str, label: str, now: list[object]) -> None:
    """A button that downloads a file."""
    made = solara.use_memo(lambda: make(), now)  # a partial has no name, which use_memo wants
    solara.FileDownload(made, name, label=label, mime_type=mime, icon_name=None)


def tables_of(tables: Tables) -> dict[str, pd.DataFrame]:
    """Return every table with rows, and the attitudes, by name."""
    named = {field.name: getattr(tables, field.name) for field in fields(tables)}
    frames = {name: frame for name, frame in named.items() if isinstance(frame, pd.DataFrame)}
    return {name: frame for name, frame in frames.items() if len(frame) or name == "attitudes"}


def text(shown: Shown) -> str:
    """Return the transcript in Markdown."""
    if not deliberates(shown.tables):
        return transcript.text(shown.tables)
    events = shown.events
    episodes, candidates = episodes_of_events(events), candidate_table(events)
    return session_transcript.text(shown.tables, episodes, candidates, position_before(events))
