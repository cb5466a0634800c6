"""Other runs next to this one: all on the same axes, and how far their agents moved apart, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import solara

from parley.agents.society import PartyNames
from parley.analysis.figures import styles_of_run
from parley.analysis.run_comparison import shared_seats
from parley.analysis.tables import Tables
from parley.analysis.views._chart import Chart, Key, last_round, party_key
from parley.analysis.views._session import Shown, surveyed
from parley.analysis.views.attitudes import HEADER, attitude_panel
from parley.model.titles import join_phrases, seat_title

ORDER = 8
TITLE = "Compare"
shows = surveyed


@solara.component
def View(shown: Shown) -> None:
    from parley.analysis.views._comparison import Chooser, Comparison

    chosen = solara.use_reactive(list[str]())
    mine = str(shown.session.folder)
    Chooser(mine, chosen.value, chosen.set)
    if chosen.value:
        Comparison([mine, *chosen.value], {mine: shown.tables}, shown.round)


def comparison_chart(runs: Mapping[str, Tables]) -> Chart:
    """Return a panel for each topic and group that all runs have. Markers of the second run are open, its lines broken."""
    names, first = list(runs), next(iter(runs.values()))
    titles = PartyNames.from_header(
        {key: about for run in reversed(list(runs.values())) for key, about in run.header.parties.items()}
    )
    panels, rows, looks, keys = [], [], styles_of_run(*runs.values()), dict[str, Key]()
    for topic, group in shared_seats(first, first):
        if not all((topic, group) in shared_seats(first, other) for other in runs.values()):
            continue
        drawn = {name: attitude_panel(tables, topic, group, name) for name, tables in runs.items()}
        flags = [(round_, f"{name}: {text}") for name, (panel, _) in drawn.items() for round_, text in panel.flags]
        lines = [line for panel, _ in drawn.values() for line in panel.lines]
        for line in lines:
            run, _, party = line.key.rpartition("|")
            title = f"{seat_title(party, titles)}, {run}"
            keys[line.key] = party_key(line.key, title, looks[party], names.index(run))
        panels.append(replace(drawn[names[0]][0], lines=lines, flags=flags))
        rows += [row for _, cells in drawn.values() for row in cells]
    ordered = sorted(keys.values(), key=lambda key: names.index(key.id.rpartition("|")[0]))
    if any(panel.flags for panel in panels):
        ordered.append(Key("flags", "Interventions", ""))
    marks = " (filled)" if len(names) == 2 else ""
    others = f"{join_phrases(names[1:])}{' (open)' if marks else ''}" if names[1:] else "no other run"
    caption = (
        f"{names[0]}{marks} and {others}. Points are means over rooms; bars are 95% intervals (five rooms or more)."
    )
    last = max(map(last_round, runs.values()))
    return Chart("lines", "-compared-with-".join(map(_stem, names)), caption, last, ordered, panels, HEADER, rows)


def _stem(name: str) -> str:
    return Path(name).name.replace(" ", "-")
