"""Another run beside this one: both on the same axes, and what differs between them (seed, model, adapters, settings)."""

from __future__ import annotations

from pathlib import Path

import solara

from parley.analysis.run_comparison import differences, draw_comparison, shared_seats
from parley.analysis.tables import Tables, load
from parley.analysis.views._html import element, painted, picture, table
from parley.analysis.views._session import Shown, runs, surveyed
from parley.llm.errors import UserError

ORDER = 8
TITLE = "Compare"


def shows(tables: Tables) -> bool:
    return surveyed(tables)


@solara.component
def View(shown: Shown) -> None:
    mine = str(shown.session.folder)
    others = solara.use_memo(lambda: [name for name in runs() if name != mine], [mine, shown.session.phase])
    chosen = solara.use_reactive("")
    other = solara.use_memo(lambda: looked_up(chosen.value), [chosen.value])
    if others:
        solara.Select("Compare with", others, chosen)
    if isinstance(other, Tables):
        Both(shown, other, chosen.value)
    else:
        element(
            "p",
            other
            or ("Choose a run to see both on the same axes." if others else "There is no other run in runs/ yet."),
        )


@solara.component
def Both(shown: Shown, other: Tables, name: str) -> None:
    mine = Path(str(shown.session.folder)).name
    names = (mine, Path(name).name)
    drawn = solara.use_memo(lambda: painted(lambda: draw_comparison(shown.tables, other, names)), [shown.tables, other])
    if shared_seats(shown.tables, other):
        picture(drawn, f"Mean attitudes by round of {mine} (filled) and {names[1]} (open), by party")
    else:
        element("p", "These runs have no topic and group in common: there is nothing to draw on the same axes.")
    rows = [list(row) for row in differences(shown.tables.header, other.header)]
    table(["what", mine, names[1]], rows, "What differs")


def looked_up(folder: str) -> Tables | str:
    """The run in a folder, or a line that says why there is none."""
    try:
        return load(Path(folder)) if folder else ""
    except UserError as error:
        return str(error)
