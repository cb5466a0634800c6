"""Mean valence and arousal of each party by round, with intervals, if the surveys ask for emotion."""

from __future__ import annotations

from itertools import product
from typing import Any

import solara

from parley.agents.probe import EMOTIONS, shared_probes
from parley.analysis.figures import styles_of_run
from parley.analysis.tables import Tables
from parley.analysis.views._chart import Chart, Drawn, Key, Panel, last_round, party_key
from parley.analysis.views._html import element
from parley.analysis.views._session import Shown
from parley.analysis.views.attitudes import chart_caption, party_line, spoken_means
from parley.llm.errors import UserError
from parley.model.titles import group_title, seat_title

ORDER = 4
TITLE = "Emotions"
HEADER = (
    "topic",
    "group",
    "emotion",
    "party",
    "round",
    "mean",
    "95% interval, low",
    "high",
    "rooms",
    "missing ratings",
)
ENDS = (1, 7)
"""The ends of both scales."""
WORDS = "What people answer when a survey asks what they feel. Valence is how good it feels, arousal how worked up they are."


def shows(tables: Tables) -> bool:
    return len(tables.emotions) > 0


@solara.component
def View(shown: Shown) -> None:
    tables, stem = shown.tables, shown.session.folder.name if shown.session.folder else "run"
    chart = solara.use_memo(lambda: emotion_chart(tables, f"{stem}-emotions"), [tables, stem])
    element("p", WORDS, css="soft")
    Drawn(chart, shown.round, f"Mean emotion from 1 to 7, {spoken_means(chart, shown.round)}")


def emotion_chart(tables: Tables, file: str) -> Chart:
    """Return a panel for each topic, group and emotion, with a line for each party."""
    felt, looks = tables.emotions.assign(attitude=tables.emotions["value"]), styles_of_run(tables)
    panels: list[Panel] = []
    rows: list[tuple[str, int, Any]] = []
    for topic, group, emotion in product(tables.topics, tables.groups, EMOTIONS):
        panel_ratings = felt[(felt["topic"] == topic) & (felt["group"] == group) & (felt["probe"] == emotion)]
        if panel_ratings.empty:
            continue
        where, lines = (tables.title(topic), group_title(group, tables.names), emotion), []
        for party in panel_ratings["party"].unique():
            line, cells = party_line(panel_ratings[panel_ratings["party"] == party], str(party), False)
            lines.append(line)
            name = seat_title(str(party), tables.names)
            rows += [(str(party), round_, [*where, name, round_, *row]) for round_, row in cells]
        title = (
            f"{emotion.capitalize()}: {where[0]}"
            if len(tables.groups) == 1
            else f"{emotion.capitalize()}: {where[0]}, {where[1]}"
        )
        panels.append(Panel(title, lines, *_end_words(tables, emotion), ends=ENDS))
    drawn = dict.fromkeys(line.key for panel in panels for line in panel.lines)
    keys = [party_key(party, seat_title(party, tables.names), looks[party]) for party in drawn]
    thin = any(line.thin for panel in panels for line in panel.lines)
    keys += [Key("thin", "Single rooms", "", shown=False)] if thin else []
    keys += [Key("middle", "Middle half of agents", "", shown=False)]
    return Chart("lines", file, chart_caption(tables), last_round(tables), keys, panels, HEADER, rows)


def _end_words(tables: Tables, emotion: str) -> tuple[str, str]:
    """Return what 1 and 7 mean, in the words of the survey; empty where the society is not on this machine."""
    try:
        labels = shared_probes(tables.society.language)[emotion].scale.labels
    except UserError:
        return "", ""
    return labels[ENDS[0]], labels[ENDS[1]]
