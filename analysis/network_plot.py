"""The figure of a network: who hears whom before the first and after the last round, with opinions as colours.

Places of agents in a picture of their network.

Linked agents are near each other (Fruchterman and Reingold 1991), by the links alone. networkx has the same law for one agent at
a time; for 1,000 agents that takes twenty times as long (benchmarks/app.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline
from numpy.typing import NDArray

from parley.analysis.figures import LABEL, TWO_COLUMNS, add_legend, new_figure, styles_of_run
from parley.analysis.metrics._network import Links, Population, populations
from parley.analysis.network_field import CAPTION, field_figure, is_large
from parley.analysis.plots import figure_title, topic_ends
from parley.analysis.tables import Tables
from parley.llm.seeding import stream
from parley.model.titles import group_title, seat_title

ROUNDS, GRAVITY = 60, 0.1
ROWS = 32
"""Agents whose distances to all others are computed at once: their numbers stay in the processor's cache."""
Floats = NDArray[np.float32]


def layout(people: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> Floats:
    """Return places in the unit square, one row per person. source, target: the persons at the ends of each link.

    Linked people attract by d^2/k, all repel by k^2/d; a step is at most the temperature, which falls to nothing. Gravity keeps
    people without links in the picture; the outermost hundredth is drawn at its edge.
    """
    draw = stream(0, "layout")
    at = np.array([[draw.random(), draw.random()] for _ in range(people)], np.float32)
    at = at.reshape(people, 2) - np.float32(0.5)
    near = np.float32(1 / max(people, 1) ** 0.5)
    for temperature in np.linspace(0.1, 0.005, ROUNDS, dtype=np.float32):
        force = _push_apart(at, near)
        along = at[source] - at[target]
        pull = along * (np.linalg.norm(along, axis=1) / near)[:, None]
        for axis in (0, 1):
            force[:, axis] -= np.bincount(source, pull[:, axis], people) - np.bincount(target, pull[:, axis], people)
        force -= GRAVITY * at / near
        length = np.linalg.norm(force, axis=1, keepdims=True)
        at += force / np.maximum(length, 1e-9) * np.minimum(length, temperature)
    low, high = np.quantile(at, [0.01, 0.99], axis=0) if people else (0, 1)
    return np.asarray(np.clip((at - low) / np.maximum(high - low, 1e-9), 0, 1), np.float32)


def _push_apart(at: Floats, near: np.float32) -> Floats:
    """Return the force by which all others push each person away, k^2/d, one row per person.

    Without matrix products: their last digits depend on the number of processors, and so would the picture.
    """
    x, y = np.ascontiguousarray(at.T)
    force = np.empty_like(at)
    for first in range(0, len(at), ROWS):
        rows = slice(first, first + ROWS)
        across, down = x[rows, None] - x, y[rows, None] - y
        weight = across * across
        weight += down * down
        np.maximum(weight, 1e-6, out=weight)  # everyone is at distance 0 of itself
        np.divide(near**2, weight, out=weight)
        force[rows, 0], force[rows, 1] = (across * weight).sum(1), (down * weight).sum(1)
    return force


COLOURS = "cividis"
"""Lighter is higher, for every kind of colour vision."""
NO_RATING = "#ffffff"
MISSING = "White: no rating"
TALL = 2.9


def has_network(tables: Tables) -> bool:
    """Return whether agents of a run are linked."""
    return not tables.links.empty


def network_caption(tables: Tables) -> str:
    """Return what the figure of the networks shows."""
    return CAPTION if is_large(tables) else FIGURE_CAPTION


def network_figure(tables: Tables, note: str) -> Figure:
    """Draw the networks of a run before the debate and after the last survey: colour is opinion, shape is party.

    Of several rooms the first `MOST` are drawn, and the note says which. Both panels of a room have the same places, by the links
    at the start. note: the text below the figure.
    """
    networks = list(populations(tables))
    shown = networks[:MOST]
    if is_large(tables):
        return _field(tables, networks, note)
    across = 1 if len(shown) == 1 else 2
    markers = {party: look["markers"][0] for party, look in styles_of_run(tables).items()}
    groups = list(dict.fromkeys(network.room.group for network in networks))
    title = f"Who hears whom: {figure_title(tables, groups)}"
    down = -(-len(shown) // across)
    with new_figure(TWO_COLUMNS, TALL / across * down + (across - 1) * 0.4, f"{note}{_which(networks)}", title=title,
                    about=ABOUT) as figure:  # fmt: skip
        grid = figure.subplots(down, 2 * across, squeeze=False)
        axes = [pair for row in grid for pair in zip(row[::2], row[1::2], strict=True)]
        for place, pair in enumerate(axes):
            if place < len(shown):
                name = "" if len(shown) == 1 else _room_name(tables, networks, place)
                _draw_room(pair, shown[place], markers, name)
            else:
                for axis in pair:
                    axis.set_visible(False)
        scale = figure.colorbar(_scale(), ax=list(grid.flat), shrink=0.75 if down == 1 else 0.4, ticks=[0, 5, 10])
        ends = {topic_ends(tables, network.room.topic) for network in shown}
        low, high = (ends.pop() or ("", "")) if len(ends) == 1 else ("", "")
        scale.set_label(f"Attitude\n0: {low}\n10: {high}" if low and high else "Attitude (0 to 10)", fontsize=LABEL)
        _legend(figure, tables, shown, markers)
    return figure


def _field(tables: Tables, networks: Sequence[Population], note: str) -> Figure:
    """Draw the networks of a run with many people as numbers of agents (analysis/network_field.py)."""
    shown = networks[:MOST]
    groups = list(dict.fromkeys(network.room.group for network in networks))
    names = ["" if len(shown) == 1 else _room_name(tables, networks, place) for place in range(len(shown))]
    ends = {topic_ends(tables, network.room.topic) for network in shown}
    low, high = (ends.pop() or ("", "")) if len(ends) == 1 else ("", "")
    title = f"Attitudes of agents, and of the agents that they hear: {figure_title(tables, groups)}"
    words = f"\n0: {low}\n10: {high}" if low and high else " (0 to 10)"
    return field_figure(shown, names, title, f"{note}{_which(networks)}", words)


MOST = 6
"""Rooms of a run that are drawn."""


def _which(networks: Sequence[Population]) -> str:
    """Return which rooms are shown; empty where it is the only one."""
    if len(networks) <= MOST:
        return f" All {len(networks)} rooms are shown." if len(networks) > 1 else ""
    return f" The first {MOST} of {len(networks)} rooms are shown."


def _room_name(tables: Tables, networks: Sequence[Population], place: int) -> str:
    """Return `Room 2`, with its topic and group where rooms differ in them. Rooms are counted within a topic and group."""
    room = networks[place].room
    alike = [
        network.room for network in networks if (network.room.topic, network.room.group) == (room.topic, room.group)
    ]
    topics, groups = ({getattr(network.room, key) for network in networks} for key in ("topic", "group"))
    parts = [f"Room {[alike_room.name for alike_room in alike].index(room.name) + 1}"]
    parts += [tables.title(room.topic)] if len(topics) > 1 else []
    parts += [group_title(room.group, tables.names)] if len(groups) > 1 else []
    return ", ".join(parts)


def _draw_room(pair: Sequence[Axes], network: Population, markers: Mapping[str, str], name: str) -> None:
    """Draw a room in two panels: at the first and at the last survey; with one survey the second panel is left out.

    A network of a later stage is first drawn with the ratings of the last survey before it.
    """
    begun = int(network.changes["round"].min()) if len(network.changes) else 0
    links = network.links(begun)
    places = layout(len(network.room.parties), links.source, links.target)
    surveys = [int(round_) for round_ in network.room.attitudes.columns]
    first = [round_ for round_ in surveys if round_ < max(begun, 1)][-1:] or surveys[:1]
    rounds = list(dict.fromkeys((*first, surveys[-1]))) if surveys else [0, network.last]
    for axis, round_ in zip(pair, rounds, strict=False):
        _draw(axis, network, round_, network.links(max(round_, begun)), places, markers)
        when = f"after round {round_}" if round_ else "before the debate"
        axis.set_title(f"{name}, {when.removesuffix(' the debate')}" if name else f"{when[0].upper()}{when[1:]}")
    for axis in pair[len(rounds) :]:
        axis.set_visible(False)


FIGURE_CAPTION = "Who hears whom, before the debate and after the last round: colour is attitude, shape is party"
ABOUT = (
    "A point is an agent. A line joins two agents if one agent hears the other agent. Linked agents are drawn near each other. "
    "The colour of a point is the attitude, and its shape the party."
)


def _scale() -> ScalarMappable:
    return ScalarMappable(Normalize(0, 10), COLOURS)


def _draw(
    axis: Axes, network: Population, round_: int, links: Links, places: Floats, markers: Mapping[str, str]
) -> None:
    ends = places[np.stack([links.source, links.target], axis=1)].reshape(-1, 2)
    codes = np.tile([Outline.MOVETO, Outline.LINETO], len(links.source))
    faint = max(0.08, min(0.6, 60 / max(len(links.source), 1)))
    if len(ends):
        axis.add_patch(
            PathPatch(Outline(ends, codes), edgecolor="#333333", facecolor="none", linewidth=0.4, alpha=faint)
        )
    attitudes = network.room.attitudes
    values = attitudes[round_].to_numpy(dtype=float) if round_ in attitudes else np.full(len(places), np.nan)
    parties, colours = network.room.parties.to_numpy(), colormaps[COLOURS]
    area = max(5.0, min(40.0, 2500 / max(len(places), 1)))
    for party in dict.fromkeys(parties):
        here = parties == party
        fills = colours(values[here] / 10)
        fills[np.isnan(values[here])] = to_rgba(NO_RATING)
        axis.scatter(
            places[here, 0],
            places[here, 1],
            s=area,
            c=fills,
            marker=markers[party],
            edgecolors="#222222",
            linewidths=0.3,
            zorder=2,
        )
    axis.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


def _legend(figure: Figure, tables: Tables, shown: Sequence[Population], markers: Mapping[str, str]) -> None:
    parties = dict.fromkeys(str(party) for network in shown for party in network.room.parties)
    look: Any = {"color": "none", "markeredgecolor": "#222222", "markeredgewidth": 0.5, "markersize": 5}
    handles = [
        Line2D([], [], marker=markers[party], markerfacecolor="#9a9a9a", label=seat_title(party, tables.names), **look)
        for party in parties
    ]
    if any(network.room.attitudes.isna().any(axis=None) for network in shown):
        handles.append(Line2D([], [], marker="o", markerfacecolor=NO_RATING, label=MISSING, **look))
    add_legend(figure, [], handles=handles)
