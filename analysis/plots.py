"""Attitude figures, and the figure of who believes an item of news.

An attitude figure shows attitude 0-10 by round, a panel per topic, each party in the colour of its society. Colour, marker and
line style each identify a party, so that the figure can be read without colour. Bars are 95% intervals over rooms; a point of
fewer than five rooms has none. The dashed line is the Default's first rating when no Default takes part (Figs 4 and 8
of Taubenfeld et al.). A group with many seats has a line per party, and a shade that encloses half of its agents (`party_means`).
A vertical line with a letter is an intervention; the legend says which. A dotted line is where a stage begins. A figure with one
panel per row is as wide as a column of a page, any other as wide as the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.society import PartyNames
from parley.agents.topic import load_topic
from parley.analysis import disclaimers, figures
from parley.analysis.figure_text import rooms_phrase, wrap_text
from parley.analysis.figures import MARK, ONE_COLUMN, OTHERS, STYLES, TWO_COLUMNS, add_legend, new_figure
from parley.analysis.formatting import format_range, slug
from parley.analysis.meetings import stage_starts
from parley.analysis.metrics._cells import DEFAULT, Level, default_level
from parley.analysis.provenance import run_title
from parley.analysis.statistics.intervals import SCALE, Floats, bounded_ends, reach_of_mean
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.titles import group_title, seat_title

LEVEL: Any = {"color": STYLES[DEFAULT]["color"], "linestyle": (0, (6, 3)), "linewidth": 1.0}
STAGE: Any = {"color": "#555555", "linestyle": ":", "linewidth": 0.8, "zorder": 0.5}
"""The line at the beginning of a stage."""
STAGE_LETTER = 0.055
"""Inches of a letter of a stage's name."""
SEATS = 8
"""Up to this number of seats of a party each has a line (`party_means`)."""
HALF = "Middle half of a party's agents"
"""The legend's entry for the shade."""
APART = 0.05
"""Distance in rounds between two lines, so that their bars do not cover each other."""
BELIEF_LOOKS: dict[str, dict[str, Any]] = {
    "infected": {"color": OTHERS[0]["color"], "marker": "s", "linestyle": "-"},
    "susceptible": {"color": OTHERS[1]["color"], "marker": "o", "linestyle": "--"},
}
BELIEF_LABELS = {"infected": "Believe the news", "susceptible": "Do not believe it"}
Tags = Mapping[tuple[str, ...], str]


def run_figures(tables: Tables, points: pd.DataFrame, caption: str) -> dict[str, Callable[[], Figure]]:
    """Return the attitude figures of a run by name: all groups first, then each of several groups. points: trajectory metric.

    A figure is drawn when its entry is called.
    """
    drawn: dict[str, Callable[[], Figure]] = {"attitudes": partial(attitudes, tables, points, tables.groups, caption)}
    for group in tables.groups if len(tables.groups) > 1 else ():
        drawn[f"attitudes_{slug(group)}"] = partial(attitudes, tables, points, [group], caption)
    return drawn


def write_figures(tables: Tables, points: pd.DataFrame, folder: Path, caption: str) -> Path:
    """Write the attitude figures of a run; return the path of the main one (all groups and topics)."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [figures.save(draw(), folder / name) for name, draw in run_figures(tables, points, caption).items()]
    return written[0]


MOST_NAMED = 4
"""Groups that a title lists; of more it says only how many."""


def figure_title(tables: Tables, groups: Sequence[str]) -> str:
    """Return a title in words: `Two Greens and a Default, on climate change`; with several topics only who debates."""
    named = len(groups) == 1 and not tables.header.is_log
    people = group_title(groups[0], tables.names) if named else run_title(tables.header)
    if len(groups) > MOST_NAMED:
        people = f"Debates in {len(groups)} groups"
    return f"{people}, on {_topic_words(tables, tables.topics[0])}" if len(tables.topics) == 1 else people


def _topic_words(tables: Tables, topic: str) -> str:
    """Return a topic within a sentence; its slug when this version has no such topic."""
    try:
        return load_topic(topic).title
    except UserError:
        return topic


def attitudes(tables: Tables, points: pd.DataFrame, groups: Sequence[str], caption: str) -> Figure:
    """Draw a row per group and a column per topic; one group or one topic has up to three panels per row, and four two by two.

    caption: the note below the figure.
    """
    panels = [(group, topic) for group in groups for topic in tables.topics]
    lines = [_points(tables, points, *panel) for panel in panels]
    levels = [_level(tables, *panel, rows) for panel, rows in zip(panels, lines, strict=True)]
    dashed = f"Default, before (n={format_range(level.n for level in levels if level)})"
    rows, columns = _grid(len(groups), len(tables.topics))
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    tall = min(max(width / columns - 0.2, 1.5), 2.2 if rows < 3 else 1.6)
    looks, tags = figures.styles_of_run(tables), intervention_tags(tables, panels)
    title = figure_title(tables, groups)
    with new_figure(width, rows * (tall + 0.3) + 0.35, caption, title=title, about=_about(tables)) as figure:
        axes = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
        for axis, panel, points_, level in zip(axes, panels, lines, levels, strict=False):
            _plot_lines(axis, points_, looks, tables.names)
            if level:
                axis.axhline(level.value, label=dashed, **LEVEL)
            mark(axis, tables, *panel, tags)
            _mark_stages(axis, stage_starts(tables, *panel), width / columns - 0.6)
            if not axis.has_data():  # no rating could be read: the rounds are there all the same
                axis.set_xlim(-0.5, int(tables.header.scenario["rounds"]) + 0.5)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        _label(axes[: len(panels)], tables, groups, columns, width / columns - 0.3, tall)
        add_legend(figure, axes)
    return figure


def _about(tables: Tables) -> str:
    """Return what the caption file says of an attitude figure."""
    ends = _shared_ends(tables)
    low, high = (f" ({end})" for end in ends) if ends else ("", "")
    panels = [(group, topic) for group in tables.groups for topic in tables.topics]
    stages = sorted({name for panel in panels for _, name in stage_starts(tables, *panel)})
    return (
        f"Mean attitude after each round, from 0{low} to 10{high}; round 0 is the survey before the debate. Points of the same "
        "round are drawn a little apart, so that all bars can be seen."
        + (f" Dotted lines show where a stage begins ({', '.join(stages)})." if stages else "")
    )


def _shared_ends(tables: Tables) -> tuple[str, str] | None:
    """Return what 0 and 10 mean, if they mean the same for all topics."""
    pairs = {topic_ends(tables, topic) for topic in tables.topics}
    return pairs.pop() if len(pairs) == 1 else None


def topic_ends(tables: Tables, topic: str) -> tuple[str, str] | None:
    """Return the labels of attitude 0 and 10 in the run's survey; None when this version has no such topic or question."""
    try:
        probe = load_topic(topic).probe(str(tables.header.scenario["probe"]))
        low, high = sorted((probe.scale.low, probe.scale.high), key=probe.attitude)
        return probe.scale.labels[low], probe.scale.labels[high]
    except (UserError, KeyError):
        return None


def _label(axes: Sequence[Axes], tables: Tables, groups: Sequence[str], columns: int, wide: float, tall: float) -> None:
    """Name topics above the first row, groups at their rows, and say what the ends of the scale mean."""
    ends = _shared_ends(tables)
    alone, several = len(tables.topics) == 1, len(groups) > 1
    for axis, topic in zip(axes, () if alone else tables.topics, strict=False):
        high = None if ends else topic_ends(tables, topic)
        axis.set_title(f"{tables.title(topic)}{f'{chr(10)}(10: {high[1]})' if high else ''}")
    for axis, group in zip(axes, groups if several and alone else (), strict=False):
        axis.set_title(wrap_text(group_title(group, tables.names), wide, figures.LABEL))
    for axis in axes[-columns:]:
        axis.set_xlabel("Round (0: before)")
    scale = f"Attitude\n0: {ends[0]}\n10: {ends[1]}" if ends else "Attitude (0 to 10)"
    for row, axis in enumerate(axes[::columns]):
        named = several and not alone
        name = f"{group_title(groups[row], tables.names)}\n" if named else ""
        axis.set_ylabel(wrap_text(f"{name}{scale}", tall, figures.LABEL), fontsize=figures.LABEL)


def intervention_tags(tables: Tables, panels: Sequence[tuple[str, str]]) -> Tags:
    """Return a letter for each combination of interventions that comes before one round, in order of time."""
    acts = tables.interventions
    here = acts[[pair in set(panels) for pair in zip(acts["group"], acts["topic"], strict=True)]]
    combinations = here.groupby(["round", "group", "topic"])["what"].agg(_kinds) if len(here) else []
    return {kinds: _letter(number) for number, kinds in enumerate(dict.fromkeys(combinations))}


def _kinds(of: pd.Series) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(kind).replace("_", " ") for kind in of))


def _letter(number: int) -> str:
    """Return A to Z, then A1 to Z1.

    >>> _letter(1), _letter(27)
    ('B', 'B1')
    """
    lap, place = divmod(number, 26)
    return f"{chr(ord('A') + place)}{lap or ''}"


def mark(axis: Axes, tables: Tables, group: str, topic: str, tags: Tags) -> None:
    """Draw a line with a letter before each round with interventions; the legend has the kinds and rounds of each letter."""
    acts = tables.interventions
    before = acts.loc[(acts["group"] == group) & (acts["topic"] == topic)].groupby("round")["what"].agg(_kinds)
    for kinds in dict.fromkeys(before):
        rounds = [int(round_) for round_ in before.index[[round_kinds == kinds for round_kinds in before]]]
        which = f"before round{'s' * (len(rounds) > 1)} {_ranges(rounds)}"
        for number, round_ in enumerate(rounds):
            label = "" if number else f"{tags[kinds]}: {', '.join(kinds)} {which}"
            axis.axvline(round_ - 0.5, label=label or None, **MARK)
        for round_ in rounds if len(before) <= MOST_LETTERS else rounds[:1]:
            _write_letter(axis, round_ - 0.5, tags[kinds], list(tags).index(kinds) if len(before) > LEVELS else 0)


def _mark_stages(axis: Axes, starts: Sequence[tuple[int, str]], wide: float) -> None:
    """Draw a dotted line where each stage begins, with its name above the panel: its number alone where the name has no room.

    wide: inches of the panel.
    """
    if not starts:
        return
    left, right = axis.get_xlim()
    edges = [*[round_ - 0.5 for round_, _ in starts], right]
    spans = list(pairwise(edges))
    letters = [(end - start) / (right - left) * wide / STAGE_LETTER for start, end in spans]
    names = [name if len(name) < room else name.partition(":")[0]
             for (_, name), room in zip(starts, letters, strict=True)]  # fmt: skip
    for edge in edges[:-1]:
        axis.axvline(edge, **STAGE)
    above = axis.secondary_xaxis("top")
    above.set_ticks([(start + end) / 2 for start, end in spans], names)
    above.tick_params(length=0, pad=1, labelsize=6, labelcolor=STAGE["color"])
    above.spines["top"].set_visible(False)
    axis.set_xlim(left, right)


MOST_LETTERS = 8
"""With interventions before more rounds than this, only the first line of each kind has its letter."""
LEVELS = 3
"""Letters of neighbouring lines are on different heights, so that they do not meet."""


def _write_letter(axis: Axes, at: float, letter: str, place: int) -> None:
    box: Any = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    high = 1 - 0.075 * (place % LEVELS)
    axis.text(
        at, high, letter, transform=axis.get_xaxis_transform(), fontsize=6, ha="center", va="top", color=MARK["color"],
        zorder=3, bbox=box,
    )  # fmt: skip


def _ranges(rounds: Sequence[int]) -> str:
    """Return rounds in words.

    >>> _ranges([1, 2, 3, 5])
    '1 to 3, 5'
    """
    runs: list[list[int]] = []
    for round_ in sorted(rounds):
        if runs and round_ == runs[-1][-1] + 1:
            runs[-1].append(round_)
        else:
            runs.append([round_])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _points(tables: Tables, points: pd.DataFrame, group: str, topic: str) -> pd.DataFrame:
    """Return the points of a panel, by seat; of a population, by party."""
    means = party_means(tables, topic, group)
    return points[(points["group"] == group) & (points["topic"] == topic)] if means is None else means


def _grid(groups: int, topics: int) -> tuple[int, int]:
    """Return rows and columns: a row per group and a column per topic, or a square of the panels of one topic or of one group."""
    if groups > 1 and (topics > 1 or groups <= 3):
        return groups, topics
    panels = max(groups, topics)
    columns = 2 if panels == 4 else min(panels, 3)
    return math.ceil(panels / max(columns, 1)), columns


def _level(tables: Tables, group: str, topic: str, lines: pd.DataFrame) -> Level | None:
    """Return the level of the dashed line; None if a Default takes part."""
    return None if DEFAULT in set(lines["party"]) else default_level(tables, topic, group)


def _plot_lines(axis: Axes, points: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], names: PartyNames) -> None:
    lines = list(points.groupby(["seat", "party"], sort=False))
    for number, ((seat, party), line) in enumerate(lines):
        look, name = looks[party], seat_title(str(seat), names)
        at = line["round"] + APART * (number - (len(lines) - 1) / 2) * min(1, 6 / len(lines))
        axis.errorbar(
            at, line["mean"], yerr=_bars(line), label=name, **_seat_look(look, str(seat)), capsize=2, elinewidth=0.8,
            capthick=0.8, linewidth=1.0,
        )  # fmt: skip
        if "low" in line:
            axis.fill_between(at, line["low"], line["high"], color=look["color"], alpha=0.12, linewidth=0, label=HALF)
        read = line.dropna(subset="mean")
        if len(looks) > figures.LABELLED and len(read):
            end = (at[read.index[-1]], read["mean"].iloc[-1])
            axis.annotate(f" {name}", end, fontsize=5, va="center", annotation_clip=False)
    if not points["n"].sum():
        axis.text(0.5, 0.5, "no ratings", transform=axis.transAxes, ha="center", va="center")
    axis.set(ylim=(-0.3, 10.3), yticks=range(0, 11, 2))
    _style_axis(axis, 6)
    axis.set_axisbelow(True)


def _bars(line: pd.DataFrame) -> Floats:
    """Return the lengths of the intervals of mean attitudes below and above them, which stay on the scale."""
    reach = reach_of_mean(line["se"].to_numpy(dtype=float), line["n"].to_numpy(dtype=float))
    means = line["mean"].to_numpy(dtype=float)
    ends = np.array([bounded_ends(mean, half, SCALE) for mean, half in zip(means, reach, strict=True)]).reshape(-1, 2)
    lengths: Floats = np.abs(ends.T - means)
    return lengths


def _style_axis(axis: Axes, ticks: int) -> None:
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=ticks))
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _seat_look(look: Mapping[str, Any], seat: str) -> dict[str, Any]:
    """Return colour and line of the party, with the marker of the seat's number: eight seats of a party look different.

    Open markers are larger, so that they enclose a filled one behind them.
    """
    last = seat.split()[-1]
    number = int(last) - 1 if last.isdigit() else 0
    is_open = number % 2 == 1
    return {
        "color": look["color"],
        "linestyle": look["linestyle"],
        "marker": look["markers"][number // 2 % 4],
        "markerfacecolor": "none" if is_open else look["color"],
        "markersize": 5.4 if is_open else 3.4,
        "markeredgewidth": 0.8,
    }


def party_means(tables: Tables, topic: str, group: str) -> pd.DataFrame | None:
    """Return the points of a panel with many seats by party; None if each seat has a line.

    One row per party and round: seat (the party), party, round, iteration (replies so far, mean over rooms), n (rooms rated),
    mean and se (over the rooms' means), low and high (quartiles over all agents), all on 0-10.
    """
    seats = tables.agents[tables.agents["group"] == group]
    if not seats.groupby("party")["seat"].nunique().max() > SEATS:
        return None
    ratings = tables.attitudes[(tables.attitudes["group"] == group) & (tables.attitudes["topic"] == topic)]
    keys = ["party", "round"]
    rooms = ratings.groupby([*keys, "room"], sort=False)["attitude"].mean().groupby(keys, sort=False)
    agents = ratings.groupby(keys, sort=False)
    points = rooms.agg(n="count", mean="mean", sd="std").assign(
        iteration=agents["iteration"].mean(),
        low=agents["attitude"].quantile(0.25),
        high=agents["attitude"].quantile(0.75),
        se=lambda points: points["sd"] / points["n"] ** 0.5,
    )
    return points.reset_index().assign(seat=lambda points: points["party"])


def contagion_figure(tables: Tables, believers: pd.DataFrame) -> Figure:
    """Draw believers and others by step, a panel per topic and group. believers: the metric sis; bars are its intervals."""
    scenario, rooms = tables.header.scenario, rooms_phrase(believers["rooms"])
    run = f"{scenario['name']} on {disclaimers.model_label(tables.header)}, seed {scenario['seed']}. {rooms}"
    panels = list(believers.groupby(["topic", "group"], sort=False))
    several, tags = (
        believers["group"].nunique() > 1,
        intervention_tags(tables, [(group, topic) for (topic, group), _ in panels]),
    )
    title = f"Who believes the news: {run_title(tables.header)}"
    with new_figure(TWO_COLUMNS if len(panels) > 1 else ONE_COLUMN, 2.4, run, title=title) as figure:
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, ((topic, group), points) in zip(axes, panels, strict=True):
            for name, look in BELIEF_LOOKS.items():
                line = {"fmt": "", "label": BELIEF_LABELS[name], "linewidth": 1.0, **look}
                figures.draw_points(axis, points["round"], points, name, upright=True, **line)
            mark(axis, tables, group, topic, tags)
            name = f"\n{group_title(group, tables.names)}" if several else ""
            axis.set_title(f"{tables.title(topic)}{name}")
            axis.set_xlabel("Step (0: before)")
            axis.set_ylim(bottom=0)
            _style_axis(axis, 8)
        axes[0].set_ylabel("Agents per room")
        add_legend(figure, axes)
    return figure
