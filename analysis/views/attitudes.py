"""Mean attitude of each party by round, with intervals, single rooms, the middle half of agents, and interventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import solara

from parley.analysis.disclaimers import model_label
from parley.analysis.figures import STYLES, styles_of_run
from parley.analysis.formatting import count_phrase, format_number
from parley.analysis.meetings import stage_starts
from parley.analysis.metrics._cells import DEFAULT, default_level
from parley.analysis.plots import SEATS
from parley.analysis.provenance import intervention_event
from parley.analysis.statistics.intervals import SCALE, mean_interval
from parley.analysis.tables import Tables
from parley.analysis.views._chart import Chart, Drawn, Key, Line, Panel, last_round, party_key, rounded, scale_ends
from parley.analysis.views._session import Shown, surveyed
from parley.model.missing_replies import UNASKED
from parley.model.titles import group_title, seat_title

ORDER = 1
TITLE = "Attitudes"
PANE = "right"
HEADER = ("topic", "group", "party", "round", "mean", "95% interval, low", "high", "rooms", "missing ratings")
THIN = 1000
"""With more rooms or agents of a party than this, they have no lines of their own."""
TEXTS = 4
"""Different texts of one kind of intervention that a flag names."""


def shows(tables: Tables) -> bool:
    """Return whether there is a rating to draw."""
    return surveyed(tables) and bool(tables.attitudes["rating"].notna().any())


@solara.component
def View(shown: Shown) -> None:
    tables, stem = shown.tables, shown.session.folder.name if shown.session.folder else "run"
    chart = solara.use_memo(lambda: attitude_chart(tables, f"{stem}-attitudes"), [tables, stem])
    Drawn(chart, shown.round, spoken(chart, shown.round))


def spoken(chart: Chart, upto: int) -> str:
    """Return the chart as a sentence for screen readers: each party's mean before the debate and after the round."""
    return f"Mean attitude from 0 to 10, {spoken_means(chart, upto)}"


def spoken_means(chart: Chart, upto: int) -> str:
    """Return the means of each party before the debate and after the round."""
    names = {key.id: key.name for key in chart.keys}
    moved = [f"{panel.title}, {names[line.key]} {_ends(line, upto)}" for panel in chart.panels for line in panel.lines]
    return f"before the debate and after round {upto}: {'; '.join(moved)}"


def _ends(line: Line, upto: int) -> str:
    last = line.means[min(upto, len(line.means) - 1)]
    return " to ".join(format_number(mean, 1) for mean in (line.means[0][0], last[0]))


def attitude_chart(tables: Tables, file: str) -> Chart:
    """Return a panel for each topic and group, with a line for each party."""
    panels: list[Panel] = []
    rows: list[tuple[str, int, Any]] = []
    looks = styles_of_run(tables)
    seated = tables.agents[tables.agents["group"].isin(tables.groups)]
    for topic, group in product(tables.topics, tables.groups):
        if len(_rated(tables, topic, group)):
            panel, more = attitude_panel(tables, topic, group)
            panels, rows = [*panels, panel], [*rows, *more]
    alone = seated.groupby(["topic", "group"])["room"].nunique().max() == 1
    crowd = seated.groupby(["room", "party"]).size().max() > SEATS
    lines = [line for panel in panels for line in panel.lines]
    drawn = {line.key for line in lines}
    keys = [
        party_key(party, seat_title(party, tables.names), looks[party])
        for party in seated["party"].unique()
        if party in drawn
    ]
    options = [
        Key("thin", "Single agents" if alone else "Single rooms", "", shown=not alone),
        Key("middle", "Middle half of agents", "", shown=bool(crowd)),
    ]
    options = [key for key in options if any(getattr(line, key.id) for line in lines)]
    if any(panel.level is not None for panel in panels):
        options.append(Key("level", "Default before the debates", STYLES[DEFAULT]["color"], dash=[6, 3]))
    if any(panel.flags for panel in panels):
        options.append(Key("flags", "Interventions", ""))
    return Chart("lines", file, chart_caption(tables), last_round(tables), [*keys, *options], panels, HEADER, rows)


def chart_caption(tables: Tables) -> str:
    """Return the line under a saved chart: scenario, model, seed, and what the bars are."""
    scenario, unfinished = tables.header.scenario, "" if tables.finished else " (unfinished)"
    run = f"{scenario['name']}{unfinished}, {model_label(tables.header)}, seed {scenario['seed']}"
    return f"{run}. Points are means over rooms; bars are 95% intervals (five rooms or more)."


def attitude_panel(tables: Tables, topic: str, group: str, run: str = "") -> tuple[Panel, list[tuple[str, int, Any]]]:
    """Return the panel of a topic and group, and the rows of its values. run: the run's name, where two are drawn."""
    ratings, lines, rows = _rated(tables, topic, group), [], []
    where = (tables.title(topic), group_title(group, tables.names))
    for party in ratings["party"].unique():
        party_ratings, key = ratings[ratings["party"] == party], f"{run}|{party}" if run else str(party)
        line, cells = party_line(party_ratings, key, bool(run))
        lines.append(line)
        name = seat_title(str(party), tables.names)
        rows += [(key, round_, [*where, f"{name}, {run}" if run else name, round_, *row]) for round_, row in cells]
    level = None if run or DEFAULT in set(ratings["party"]) else default_level(tables, topic, group)
    title = where[0] if len(tables.groups) == 1 else f"{where[0]}: {where[1]}"
    panel = Panel(title, lines, *scale_ends(tables, topic), flags(tables, topic, group))
    panel = replace(panel, stages=stage_starts(tables, group, topic))
    return replace(panel, level=rounded(level.value) if level else None), rows


def _rated(tables: Tables, topic: str, group: str) -> pd.DataFrame:
    ratings = tables.attitudes
    here = (ratings["topic"] == topic) & (ratings["group"] == group)
    return ratings[here & (ratings["probe"] == tables.header.scenario["probe"])]


def party_line(ratings: pd.DataFrame, key: str, plain: bool) -> tuple[Line, list[tuple[int, list[Any]]]]:
    """Return the line of a party and, by round, the cells of its values: mean, ends of the interval, rooms, missing ratings."""
    rounds = range(int(ratings["round"].max()) + 1)
    rooms = _wide(ratings, ["room"]).reindex(columns=rounds)
    missing = (ratings["attitude"].isna() & ~ratings["reason"].isin(UNASKED)).groupby(ratings["round"]).sum()
    means, cells = [], []
    for round_ in rounds:
        values = rooms[round_].dropna().to_numpy(dtype=float)
        low, high = (rounded(end) for end in mean_interval(values, bounds=SCALE))
        mean = rounded(values.mean()) if len(values) else None
        means.append([mean, low, high])
        if round_ in missing.index:
            cells.append((round_, [mean, low, high, len(values), int(missing[round_])]))
    if plain:
        return Line(key, means), cells
    thin = rooms if len(rooms) > 1 else _wide(ratings, ["room", "agent"]).reindex(columns=rounds)
    quartiles = ratings.groupby("round")["attitude"].quantile([0.25, 0.75]).unstack().reindex(rounds)
    middle = _lists(quartiles) if len(ratings) > len(rounds) else []
    return Line(key, means, middle, _lists(thin) if 1 < len(thin) <= THIN else []), cells


def _wide(ratings: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return mean attitudes with a row per room (or agent) and a column per round."""
    return ratings.groupby([*by, "round"], sort=False)["attitude"].mean().unstack("round").sort_index(axis=1)


def _lists(frame: pd.DataFrame) -> list[list[float | None]]:
    values = frame.to_numpy(dtype=float).round(3)
    return [[None if np.isnan(value) else value for value in row] for row in values.tolist()]


def flags(tables: Tables, topic: str, group: str) -> list[tuple[int, str]]:
    """Return the interventions of a panel as (round, text); what is the same in several rooms is named once."""
    acts = tables.interventions
    acts = acts[(acts["topic"] == topic) & (acts["group"] == group)]
    named = []
    for round_, here in acts.groupby("round"):
        texts: dict[tuple[str, str], list[Mapping[Any, Any]]] = {}
        for row in here.to_dict("records"):
            texts.setdefault((f"{row['what']} {row['by']}", str(row["text"])), []).append(row)
        shown = [_flag(tables, rows) for rows in list(texts.values())[:TEXTS]]
        more = len(texts) - TEXTS
        named += [(int(str(round_)), text) for text in shown]
        if more > 0:
            named.append((int(str(round_)), f"and {count_phrase(more, 'other text')}; the view Conversation has all"))
    return named


def _flag(tables: Tables, rows: Sequence[Mapping[Any, Any]]) -> str:
    seated = tables.agents[tables.agents["room"] == rows[0]["room"]].to_dict("records")
    if len(rows) == 1:
        return intervention_event(dict(rows[0]), seated).removeprefix("Intervention: ")
    everyone = [dict(seat, name=seat_title(seat["seat"], tables.names)) for seat in seated]
    text = intervention_event(dict(rows[0]), everyone).removeprefix("Intervention: ")
    return f"{text} (in {count_phrase(len(rows), 'room')})"


def drawable(tables: Tables) -> bool:
    """Return whether there is a main figure."""
    return bool(tables.header.scenario["survey"] != "never") and bool(tables.groups)
