"""What all figures share: canvas, style, caption, legend, files, the look of each party, and plots of estimates with intervals.

Colour, marker and dash each identify a party. The colours of thirteen parties are at least 18 apart (CIE 1976) for every kind of
colour vision, with a contrast of 2.8 to white.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.society import load_society
from parley.analysis.formatting import interval_ends, strip_controls
from parley.analysis.tables import Tables

MARK: Any = {"color": "#555555", "linestyle": "-", "linewidth": 0.6, "zorder": 0.5}
"""The line of an intervention."""
OTHERS: tuple[dict[str, Any], ...] = (
    {"color": "#cb7e00", "markers": "><H*", "linestyle": (0, (1, 1))},
    {"color": "#13aab5", "markers": "<H*>", "linestyle": (0, (8, 2, 1, 2, 1, 2))},
    {"color": "#811564", "markers": "H*><", "linestyle": (0, (3, 2))},
    {"color": "#78a35f", "markers": "*><H", "linestyle": (0, (10, 2))},
    {"color": "#0b232c", "markers": "^sPD", "linestyle": (0, (4, 1, 1, 1))},
    {"color": "#c976ea", "markers": "voXh", "linestyle": (0, (6, 1, 3, 1))},
    {"color": "#410591", "markers": "PDs^", "linestyle": (0, (2, 3))},
    {"color": "#431903", "markers": "Xhov", "linestyle": (0, (5, 1, 1, 1, 1, 1, 1, 1))},
    {"color": "#cb25fd", "markers": "p8d*", "linestyle": (0, (12, 2, 2, 2))},
    {"color": "#020aff", "markers": "hXvo", "linestyle": (0, (1, 4))},
)
"""For parties without a look of their own, in this order."""
SPARE = "osD^v"
"""Markers for the further seats of a party with a look of its own."""
LABELLED = 3 + len(OTHERS)
"""With more parties than this, colours repeat with another dash and marker, and lines are named at their ends."""


def styles_by_party(
    parties: Iterable[str], told: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the look of each party: color, markers (four, for its seats), linestyle.

    parties: all of a run in order of seating, so that each has the same look in every figure. told: what the header of the run
    says of the parties of its society; parties that it does not know look as in the society `us`, if they are there. The same
    list gives the same looks. Beyond ten unknown parties colours are combined with other markers and dashes.
    """
    us, looks, places = load_society(), {}, count()
    known = us.told(list(us.parties)) | dict(told or {})
    for party in dict.fromkeys(map(str, parties)):
        about = {key: value for key, value in known.get(party, {}).items() if value}
        look = {} if {"colour", "marker", "line"} <= about.keys() else _other_look(next(places))
        looks[party] = look | _own_look(about, look.get("markers", ""))
    return looks


def _own_look(about: Mapping[str, str], markers: str) -> dict[str, Any]:
    """Return what a society says of a party's look. Its first seats have its markers; further seats have those of `markers`."""
    own = {"color": about.get("colour"), "linestyle": about.get("line")}
    own["markers"] = (about["marker"] + _without(markers or SPARE, about["marker"]))[:4] if "marker" in about else None
    return {key: value for key, value in own.items() if value}


def _without(markers: str, taken: str) -> str:
    return "".join(marker for marker in markers if marker not in taken)


def _other_look(place: int) -> dict[str, Any]:
    lap, number = divmod(place, len(OTHERS))
    dash, marker = (OTHERS[(number + step * lap) % len(OTHERS)] for step in (3, 7))
    return {"color": OTHERS[number]["color"], "markers": marker["markers"], "linestyle": dash["linestyle"]}


def styles_of_run(*runs: Tables) -> dict[str, dict[str, Any]]:
    """Return the looks of all parties of a run, or of several runs in one figure."""
    parties = [party for tables in runs for party in tables.agents["party"].unique()]
    return styles_by_party(parties, {party: about for tables in runs for party, about in tables.header.parties.items()})


STYLES = styles_by_party(load_society().parties)
"""The looks of the parties of the society `us`."""
RC: Any = {
    "svg.hashsalt": "parley",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 160,
}
ESTIMATE = "#0072b2"


@contextmanager
def style() -> Iterator[None]:
    """Use the house style on Matplotlib's own defaults, independent of the user's matplotlibrc."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def make_canvas(width: float, height: float, layout: Any = None) -> Figure:
    """Return an empty figure of this size in inches. Every figure of the package is made here; call it inside `style()`."""
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def new_figure(width: float, height: float, caption: str = "", size: float = 7) -> Iterator[Figure]:
    """Yield an empty figure in the house style to draw in; its caption is set at the end."""
    with style():
        figure = make_canvas(width, height, "constrained")
        yield figure
        if caption:
            add_caption(figure, caption, size)


def save(figure: Figure, stem: Path) -> Path:
    """Write stem.png and stem.svg, the same bytes for the same data; return the path of the PNG."""
    png = stem.with_name(f"{stem.name}.png")
    with style():
        figure.savefig(png, metadata={"Software": None})
        figure.savefig(stem.with_name(f"{stem.name}.svg"), metadata={"Date": None, "Creator": None})
    return png


def add_caption(figure: Figure, caption: str, size: float = 7) -> None:
    """Put the caption above the panels, wrapped at the figure's width."""
    letters = int(figure.get_figwidth() * 112 / size)
    lines = [textwrap.fill(strip_controls(line), letters) for line in caption.splitlines()]
    figure.suptitle("\n".join(lines), fontsize=size)


def make_panels(figure: Figure, rows: int, titles: Sequence[str], below: str = "", **shared: Any) -> Any:
    """Return rows of panels, one under each title; `below` is the label under the last row."""
    grid = figure.subplots(rows, len(titles), squeeze=False, **shared)
    for axis, title in zip(grid[0], titles, strict=True):
        axis.set_title(title)
    for axis in grid[-1]:
        axis.set_xlabel(below)
    return grid


def legend_entries(axes: Iterable[Axes]) -> tuple[list[Artist], list[str]]:
    """Return handles and labels of all panels, each label once."""
    known: dict[str, Artist] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(str(label), handle)
    return list(known.values()), list(known)


def add_legend(figure: Figure, axes: Iterable[Axes], columns: int, title: str | None = None) -> None:
    """Draw one legend under all panels, each label once."""
    look: Any = {"loc": "outside lower center", "frameon": False, "fontsize": 7}
    figure.legend(*legend_entries(axes), ncols=columns, title=title, **look)


def error_bars(frame: pd.DataFrame, value: str) -> list[pd.Series]:
    """Return the lengths of the interval below and above the values; 0 without an interval. Columns: see `interval_ends`."""
    low, high = interval_ends(value, frame)
    return [(frame[value] - frame[low]).fillna(0).clip(lower=0), (frame[high] - frame[value]).fillna(0).clip(lower=0)]


def plot_line(axis: Axes, points: pd.DataFrame, at: str, value: str, label: str, look: Mapping[str, Any]) -> None:
    """Plot a line with intervals in the look of a party."""
    axis.errorbar(
        points[at], points[value], yerr=error_bars(points, value), label=label, color=look["color"],
        marker=look["markers"][0], linestyle=look["linestyle"], markersize=3.5, linewidth=1.0, capsize=2, elinewidth=0.8,
    )  # fmt: skip
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def dot_plot(table: pd.DataFrame, names: Sequence[str], value: str, title: str, caption: str) -> Figure:
    """Draw a point with its interval for each row, from top to bottom, and a line at 0. names: the columns that name a row."""
    rows = [textwrap.fill(", ".join(map(str, row)), 30) for row in table[list(names)].to_numpy().tolist()]
    with new_figure(4.2, 0.32 * len(table) + 1.1, f"{caption}. Bars: 95% intervals") as figure:
        axis = figure.subplots()
        places = list(range(len(table)))[::-1]
        look: Any = {"fmt": "o", "color": ESTIMATE, "markersize": 4, "capsize": 2}
        axis.errorbar(table[value], places, xerr=error_bars(table, value), **look)
        axis.axvline(0, color="#999999", linewidth=0.6)
        axis.set_yticks(places, rows, fontsize=7)
        axis.set_ylim(-0.6, len(table) - 0.4)
        axis.set_xlabel(title)
    return figure
