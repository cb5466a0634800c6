"""Another run next to this one: both on the same axes, and their differences (seed, model, adapters, settings)."""

from __future__ import annotations

from pathlib import Path

import solara

from parley.analysis.comparisons import differences, draw_comparison, shared_seats
from parley.analysis.tables import Tables, load
from parley.analysis.views._html import element, painted, picture, table
from parley.analysis.views._session import Shown, runs, surveyed
from parley.llm.errors import UserError

ORDER = 8
TITLE = "Compare"
shows = surveyed


@solara.component
def View(shown: Shown) -> None:
    mine = str(shown.session.folder)
    others = solara.use_memo(lambda: [name for name in runs() if name != mine], [mine, shown.session.phase])
    chosen = solara.use_reactive("")
    other = solara.use_memo(lambda: _load(chosen.value), [chosen.value])
    if others:
        solara.Select("Compare with", others, chosen)
    if isinstance(other, Tables):
        Both(shown, other, chosen.value)
    else:
        help_ = "Choose a run to see both on the same axes." if others else "There is no other run in runs/ yet."
        element("p", other or help_)


@solara.component
def Both(shown: Shown, other: Tables, folder: str) -> None:
    names = Path(str(shown.session.folder)).name, Path(folder).name
    svg = solara.use_memo(lambda: painted(lambda: draw_comparison(shown.tables, other, names)), [shown.tables, other])
    if shared_seats(shown.tables, other):
        picture(svg, f"Mean attitudes by round of {names[0]} (filled) and {names[1]} (open), by party")
    else:
        element(
            "p",
            "These runs have no topic and group in common, so they cannot be drawn "
            "on the same axes: choose another run.",
        )
    rows = [list(row) for row in differences(shown.tables.header, other.header)]
    table(["setting", *names], rows, "What differs")


def _load(folder: str) -> Tables | str:
    """Return the run in a folder, or a line that says why it cannot be loaded."""
    try:
        return load(Path(folder)) if folder else ""
    except UserError as error:
        return str(error)
