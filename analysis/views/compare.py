"""Another run next to this one: both on the same axes, and their differences (seed, model, adapters, settings)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import solara

from parley.agents.society import PartyNames
from parley.analysis.comparisons import differences, shared_seats
from parley.analysis.figures import styles_of_run
from parley.analysis.formatting import seat_title
from parley.analysis.tables import Tables, load
from parley.analysis.views._chart import Chart, Drawn, Key, last_round, party_key
from parley.analysis.views._html import Select, element, table
from parley.analysis.views._session import Shown, runs, surveyed
from parley.analysis.views.attitudes import HEADER, attitude_panel
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
        Select("Compare with", others, chosen)
    if isinstance(other, Tables):
        Both(shown, other, chosen.value)
    else:
        help_ = "Choose a run to see both on the same axes." if others else "There is no other run in runs/ yet."
        element("p", other or help_)


@solara.component
def Both(shown: Shown, other: Tables, folder: str) -> None:
    names = Path(str(shown.session.folder)).name, Path(folder).name
    chart = solara.use_memo(lambda: comparison_chart(shown.tables, other, names), [shown.tables, other])
    if chart.panels:
        Drawn(chart, shown.round, f"Mean attitudes by round of {names[0]} (filled) and {names[1]} (open), by party")
    else:
        element(
            "p",
            "These runs have no topic and group in common, so they cannot be drawn "
            "on the same axes: choose another run.",
        )
    rows = [list(row) for row in differences(shown.tables.header, other.header)]
    table(["setting", *names], rows, "What differs")


def comparison_chart(one: Tables, other: Tables, names: tuple[str, str]) -> Chart:
    """Return a panel for each topic and group of both runs; the second run has open markers and broken lines."""
    first, second = names if names[0] != names[1] else (f"{names[0]} (1)", f"{names[1]} (2)")
    titles = PartyNames.told({**other.header.parties, **one.header.parties})
    panels, rows, looks, parties = [], [], styles_of_run(one, other), dict[str, Key]()
    for topic, group in shared_seats(one, other):
        panel, cells = attitude_panel(one, topic, group, first)
        further, more = attitude_panel(other, topic, group, second)
        flags = [
            (round_, f"{name}: {text}")
            for name, side in ((first, panel), (second, further))
            for round_, text in side.flags
        ]
        lines = [*panel.lines, *further.lines]
        for line in lines:
            run, _, party = line.key.rpartition("|")
            parties[line.key] = party_key(line.key, f"{seat_title(party, titles)}, {run}", looks[party], run == second)
        panels.append(replace(panel, lines=lines, flags=flags))
        rows += [*cells, *more]
    keys = sorted(parties.values(), key=lambda key: key.open)
    if any(panel.flags for panel in panels):
        keys.append(Key("flags", "Interventions", ""))
    last, file = max(last_round(one), last_round(other)), f"{names[0]}-compared-with-{names[1]}"
    caption = f"{first} (filled) and {second} (open). Means over rooms; bars are 95% intervals (five rooms or more)."
    return Chart("lines", file, caption, last, keys, panels, HEADER, rows)


def _load(folder: str) -> Tables | str:
    """Return the run in a folder, or a line that says why it cannot be loaded."""
    try:
        return load(Path(folder)) if folder else ""
    except UserError as error:
        return str(error)
