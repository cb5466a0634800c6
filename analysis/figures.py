"""How a party looks in every figure of a run: colour, marker and dash, each enough to tell it from the others.

Colours of thirteen parties are at least 18 apart (CIE 1976) for every kind of colour vision, with a contrast of 2.8 to white.

What every figure shares: its canvas, style, caption, legend and files, and the plot of estimates with intervals.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis.formatting import interval_ends, strip_controls
from parley.analysis.tables import Tables

DEFAULT = "default"
STYLES: dict[str, dict[str, Any]] = {
    "republican": {"color": "#c1272d", "markers": "s^DP", "linestyle": "-"},
    "democrat": {"color": "#1f5fa8", "markers": "ovhX", "linestyle": "-."},
    DEFAULT: {"color": "#777777", "markers": "dp*8", "linestyle": ":"},
}
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
"""For the parties that have no look of their own, in their order."""
LABELLED = len(STYLES) + len(OTHERS)
"""With more parties than these a colour comes again, with another dash and marker: lines are then named where they end."""


def styles_by_party(parties: Iterable[str], colours: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """Return the look of each party: color, markers (four, for its seats), linestyle.

    parties: all of a run, in order of seating, so that one has the same look in each figure. colours: those that a persona set
    gives. The same list gives the same looks. Beyond ten unknown parties markers and dashes are combined with other colours.
    """
    given, found, place = colours or {}, dict[str, dict[str, Any]](), 0
    for party in dict.fromkeys(map(str, parties)):
        look = STYLES.get(party)
        if look is None:
            lap, number = divmod(place, len(OTHERS))
            dash, marker = (OTHERS[(number + step * lap) % len(OTHERS)] for step in (3, 7))
            look = {"color": OTHERS[number]["color"], "markers": marker["markers"], "linestyle": dash["linestyle"]}
            place += 1
        found[party] = look | ({"color": given[party]} if party in given else {})
    return found


def styles_of_run(*runs: Tables) -> dict[str, dict[str, Any]]:
    """Return the looks of all parties of a run, or of several that are drawn together."""
    parties = [party for tables in runs for party in tables.agents["party"].unique()]
    colours = {
        party: told["colour"] for tables in runs for party, told in tables.header.parties.items() if told["colour"]
    }
    return styles_by_party(parties, colours)


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
    """The house style over Matplotlib's own defaults, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def make_canvas(width: float, height: float, layout: Any = None) -> Figure:
    """An empty figure of this size in inches. Every figure of the package is made here; call it inside of `style()`."""
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def new_figure(width: float, height: float, caption: str = "", size: float = 7) -> Iterator[Figure]:
    """An empty figure in the house style, to draw in; its caption is set at the end."""
    with style():
        figure = make_canvas(width, height, "constrained")
        yield figure
        if caption:
            add_caption(figure, caption, size)


def save(figure: Figure, stem: Path) -> Path:
    """Write stem.png and stem.svg, the same bytes for the same data; the path of the PNG."""
    png = stem.with_name(f"{stem.name}.png")
    with style():
        figure.savefig(png, metadata={"Software": None})
        figure.savefig(stem.with_name(f"{stem.name}.svg"), metadata={"Date": None, "Creator": None})
    return png


def add_caption(figure: Figure, caption: str, size: float = 7) -> None:
    """Put the caption above the panels, in as many lines as the figure's width asks for, so that nothing of it is cut off."""
    letters = int(figure.get_figwidth() * 112 / size)
    figure.suptitle(
        "\n".join(textwrap.fill(line, letters) for line in map(strip_controls, caption.splitlines())), fontsize=size
    )


def make_panels(figure: Figure, rows: int, titles: Sequence[str], below: str = "", **shared: Any) -> Any:
    """Rows of panels, one under each title; `below` is said under the last row."""
    grid = figure.subplots(rows, len(titles), squeeze=False, **shared)
    for axis, title in zip(grid[0], titles, strict=True):
        axis.set_title(title)
    for axis in grid[-1]:
        axis.set_xlabel(below)
    return grid


def legend_entries(axes: Iterable[Axes]) -> tuple[list[Artist], list[str]]:
    """Handles and labels of all panels, each label once."""
    known: dict[str, Artist] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(str(label), handle)
    return list(known.values()), list(known)


def add_legend(figure: Figure, axes: Iterable[Axes], columns: int, title: str | None = None) -> None:
    """One legend under all panels, each label once."""
    handles, labels = legend_entries(axes)
    look: Any = {"loc": "outside lower center", "frameon": False, "fontsize": 7}
    figure.legend(handles, labels, ncols=columns, title=title, **look)


def error_bars(frame: pd.DataFrame, value: str) -> list[pd.Series]:
    """How far the interval reaches below and above the values; 0 where there is none. Ends: see `interval_ends`."""
    low, high = interval_ends(value, frame)
    return [(frame[value] - frame[low]).fillna(0).clip(lower=0), (frame[high] - frame[value]).fillna(0).clip(lower=0)]


def plot_line(axis: Axes, points: pd.DataFrame, at: str, value: str, label: str, look: Mapping[str, Any]) -> None:
    """A line with intervals in the look of a party (analysis/figures.py)."""
    axis.errorbar(
        points[at], points[value], yerr=error_bars(points, value), label=label, color=look["color"],
        marker=look["markers"][0], linestyle=look["linestyle"], markersize=3.5, linewidth=1.0, capsize=2, elinewidth=0.8,
    )  # fmt: skip
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def dot_plot(table: pd.DataFrame, names: Sequence[str], value: str, title: str, caption: str) -> Figure:
    """A point with its interval for each row, from top to bottom; a line at 0. names: the columns that name a row."""
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
