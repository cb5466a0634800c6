"""What all figures share: canvas, style, title, note, legend, files, the look of each party, and plots of estimates.

The title above a figure is in words. Model, seed and what the points are is in the note below it. Both are in
the caption file that is written next to the picture. Text is measured before it is drawn, so that no label leaves the paper.

Colour, marker and dash each identify a party. The colours of thirteen parties are at least 18 apart (CIE 1976) for every kind of
colour vision, with a contrast of 2.8 to white.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, count
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import MaxNLocator

from parley.agents.society import load_society
from parley.analysis.figure_text import text_height, text_width, wrap_text
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
    entries_by_party = us.header_entries(list(us.parties)) | dict(told or {})
    for party in dict.fromkeys(map(str, parties)):
        about = {key: value for key, value in entries_by_party.get(party, {}).items() if value}
        look = {} if {"colour", "marker", "line"} <= about.keys() else _other_look(next(places))
        looks[party] = look | _own_look(about, look.get("markers", ""))
    return looks


def _own_look(about: Mapping[str, str], markers: str) -> dict[str, Any]:
    """Return what a society says of a party's look. Its first seats have its markers; further seats have those of `markers`."""
    look = {"color": about.get("colour"), "linestyle": about.get("line")}
    look["markers"] = (about["marker"] + _without(markers or SPARE, about["marker"]))[:4] if "marker" in about else None
    return {key: value for key, value in look.items() if value}


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
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 300,
}
ESTIMATE = "#0072b2"
KINDS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Formats of a figure, with the metadata that would differ between days or machines taken out."""
WRITTEN = ("png", "svg")
"""The formats that every figure is written in. A PDF takes longer than both, so it is written on request."""
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.0
"""Widths of a figure in a paper, in inches."""
TITLE, LABEL, NOTE = 8.5, 7.0, 6.0
"""Sizes of the title, of the legend and of the note, in points."""
EDGE = 0.06
"""Distance of text from the edge of the paper, in inches."""
SOFT = "#555555"


class PaperFigure(Figure):
    """A figure with the texts of its caption: title, note (below it), and about (only in the caption file)."""

    title = note = about = ""

    @property
    def caption(self) -> str:
        """The caption in a paragraph; empty without a title and a note."""
        return " ".join(sentence if sentence[-1] in ".?!" else f"{sentence}." for sentence in self._sentences())

    def _sentences(self) -> list[str]:
        return [text for text in (self.title, self.about, self.note) if text]


@contextmanager
def style() -> Iterator[None]:
    """Use the house style on Matplotlib's own defaults, independent of the user's matplotlibrc."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def make_canvas(width: float, height: float, layout: Any = None) -> PaperFigure:
    """Return an empty figure of this size in inches. Every figure of the package is made here; call it inside `style()`."""
    figure = PaperFigure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def new_figure(
    width: float, height: float, note: str = "", size: float = NOTE, title: str = "", about: str = ""
) -> Iterator[PaperFigure]:
    """Yield an empty figure in the house style to draw in; at the end it grows by its title and its note (`size` points).

    about: what the caption file says besides.
    """
    with style():
        figure = make_canvas(width, height, "constrained")
        yield figure
        figure.title, figure.note, figure.about = map(strip_controls, (title, note, about))
        _wrap_labels(figure)
        _add_title(figure)
        _add_note(figure, note, size)


PLACES = 6
"""Digits of the place of a panel, in shares of the figure."""


def save(figure: Figure, stem: Path, kinds: Iterable[str] = WRITTEN) -> Path:
    """Write the figure as stem.KIND, and its caption as stem.txt, the same bytes for the same data; return the path of the PNG.

    kinds: some of `KINDS`.
    """
    with style():
        _settle(figure)
        for kind in kinds:
            _write(figure, stem.with_name(f"{stem.name}.{kind}"), kind)
    if caption := getattr(figure, "caption", ""):
        stem.with_name(f"{stem.name}.txt").write_text(f"{caption}\n", encoding="utf-8")
    return stem.with_name(f"{stem.name}.png")


def _write(figure: Figure, path: Path, kind: str) -> None:
    """Write a settled figure: what `savefig` writes, without its first drawing, which is for layouts that are not settled."""
    if kind not in ("png", "svg"):
        figure.savefig(path, metadata=KINDS[kind])
        return
    dpi = figure.dpi
    figure.dpi = RC["savefig.dpi"]
    if kind == "png":
        FigureCanvasAgg(figure).print_png(path, metadata=KINDS[kind])
    else:
        FigureCanvasSVG(figure).print_svg(path, metadata=KINDS[kind])
        FigureCanvasAgg(figure)  # a figure is measured and shown with this one
    figure.dpi = dpi


def _settle(figure: Figure) -> None:
    """Lay the panels out once, and round their places.

    The solver of Matplotlib's layout orders its variables by their addresses in memory, so that the last digits of a place differ
    from process to process, and with them the names of clip paths in an SVG file.
    """
    if figure.get_layout_engine() is None:
        return
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axis in figure.axes:
        left, bottom, width, height = axis.get_position(original=True).bounds
        axis.set_position((round(left, PLACES), round(bottom, PLACES), round(width, PLACES), round(height, PLACES)))


def _wrap_labels(figure: Figure) -> None:
    """Wrap titles and x labels of panels at the width of a panel; the figure grows by the lines that this adds."""
    grown: dict[int, float] = {}
    for axis in figure.axes:
        if (place := axis.get_subplotspec()) is None:
            continue
        grid = place.get_gridspec()
        width = (figure.get_figwidth() - 0.75) / grid.ncols * (place.colspan.stop - place.colspan.start) - 0.08
        for label in (axis.title, axis.xaxis.label):
            text, size = label.get_text(), float(label.get_fontsize())
            label.set_text(wrap_text(text, width, size))
            more = text_height(label.get_text(), size) - text_height(text, size)
            grown[place.rowspan.start] = max(more, grown.get(place.rowspan.start, 0.0))
    figure.set_figheight(figure.get_figheight() + sum(grown.values()))


def _add_title(figure: PaperFigure) -> None:
    """Put the title above the panels."""
    if figure.title:
        text = wrap_text(figure.title, figure.get_figwidth() - 4 * EDGE, TITLE)
        figure.set_figheight(figure.get_figheight() + text_height(text, TITLE))
        figure.suptitle(text, fontsize=TITLE)


def _add_note(figure: PaperFigure, note: str, size: float) -> None:
    """Put the note below panels and legends."""
    text = wrap_text(note, figure.get_figwidth() - 4 * EDGE, size)
    tall = text_height(text, size) + EDGE
    engine = figure.get_layout_engine()
    if not text or engine is None:
        return
    figure.set_figheight(figure.get_figheight() + tall)
    share = tall / figure.get_figheight()
    taken = share
    for legend in figure.legends:  # the layout does not keep both a legend and a strip at one edge free
        taken += _legend_height(legend) / figure.get_figheight()
        legend.set_in_layout(False)
        legend.set_bbox_to_anchor((0, share, 1, 1 - share), figure.transFigure)
    engine.set(rect=(0, taken, 1, 1 - taken))  # type: ignore[call-arg]
    look: Any = {"fontsize": size, "color": SOFT, "va": "bottom", "in_layout": False}
    across, up = (EDGE / inches for inches in figure.get_size_inches())
    figure.text(2 * across, up, text, **look)


def make_panels(figure: Figure, rows: int, titles: Sequence[str], below: str = "", **shared: Any) -> Any:
    """Return rows of panels, one under each title; `below` is the label under the last row."""
    grid = figure.subplots(rows, len(titles), squeeze=False, **shared)
    for axis, title in zip(grid[0], titles, strict=True):
        axis.set_title(title)
    for axis in grid[-1]:
        axis.set_xlabel(below)
    return grid


def legend_entries(axes: Iterable[Axes]) -> tuple[list[Artist], list[str]]:
    """Return handles and labels of all panels, each label once; first the points with their bars, then single lines."""
    handle_by_label: dict[str, Artist] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handle_by_label.setdefault(str(label), handle)
    order = sorted(handle_by_label, key=lambda label: not isinstance(handle_by_label[label], Container))
    return [handle_by_label[label] for label in order], order


def add_legend(
    figure: Figure, axes: Iterable[Axes], columns: int = 0, title: str | None = None, handles: Sequence[Artist] = ()
) -> None:
    """Draw one legend under all panels, each label once; the figure grows by its height.

    columns: at most so many (0: as many as fit). handles: entries before those of the panels.
    """
    drawn, named = legend_entries(axes)
    handles, labels = [*handles, *drawn], [*(str(handle.get_label()) for handle in handles), *named]
    if not handles:
        return
    width = figure.get_figwidth() - 2 * EDGE
    wrapped = [wrap_text(label, width - ENTRY, LABEL) for label in labels]
    across = _legend_columns(width, wrapped)
    look: Any = {
        "loc": "outside lower center",
        "frameon": False,
        "fontsize": LABEL,
        "borderpad": 0.2,
        "title_fontsize": LABEL,
    }
    ncols = min(across, columns) if columns else across
    legend = figure.legend(handles, wrapped, ncols=ncols, title=title, **look)
    figure.set_figheight(figure.get_figheight() + _legend_height(legend))


def _legend_height(legend: Legend) -> float:
    """Return how tall a legend of a figure is, with its distance to the panels, in inches."""
    figure: Any = legend.get_figure(root=True)
    return float(legend.get_window_extent(figure.canvas.get_renderer()).height / figure.dpi + EDGE)


ENTRY = 0.48
"""Width of an entry of a legend besides its text, in inches."""


def _legend_columns(width: float, labels: Sequence[str]) -> int:
    """Return how many entries of the legend fit in a row, also the longest ones."""
    lengths = (max(text_width(line, LABEL) for line in label.split("\n")) for label in labels)
    needed = accumulate(ENTRY + length for length in sorted(lengths, reverse=True))
    return max(1, sum(end - 0.1 <= width for end in needed))


def error_bars(frame: pd.DataFrame, value: str) -> list[pd.Series]:
    """Return the lengths of the interval below and above the values; 0 without an interval. Columns: see `interval_ends`."""
    low, high = interval_ends(value, frame)
    return [(frame[value] - frame[low]).fillna(0).clip(lower=0), (frame[high] - frame[value]).fillna(0).clip(lower=0)]


def draw_points(axis: Axes, places: Any, frame: pd.DataFrame, value: str, upright: bool = False, **look: Any) -> None:
    """Draw the values of a column at places, with their intervals (see `error_bars`): across, or upright at places of x.

    look: of Matplotlib's errorbar, where it is not that of an estimate.
    """
    bars = error_bars(frame, value)
    drawn: Any = (
        {"x": places, "y": frame[value], "yerr": bars} if upright else {"x": frame[value], "y": places, "xerr": bars}
    )
    axis.errorbar(**drawn, **(_dot_look(0) | look))


NULL = "null"
"""The name of the line of no effect in a figure; tests/figure_rules.py looks for it."""


def draw_null(axis: Axes, value: float = 0.0, upright: bool = False) -> None:
    """Draw the grey line of no effect, such as a difference of 0 or a ratio of 1: across, or upright at a value of x."""
    draw = axis.axvline if upright else axis.axhline
    draw(value, color="#999999", linewidth=0.6, zorder=0, gid=NULL)


def name_rows(axis: Axes, names: Sequence[str], line: float | None = None) -> list[int]:
    """Name the rows of a panel, from top to bottom, with a grey line at a value; return their places."""
    places = list(range(len(names)))[::-1]
    if line is not None:
        draw_null(axis, line, upright=True)
    axis.set_yticks(places, list(names), fontsize=7)
    axis.set_ylim(-0.6, len(names) - 0.4)
    return places


def plot_line(axis: Axes, points: pd.DataFrame, at: str, value: str, label: str, look: Mapping[str, Any]) -> None:
    """Plot a line with intervals in the look of a party."""
    axis.errorbar(
        points[at], points[value], yerr=error_bars(points, value), label=label, color=look["color"],
        marker=look["markers"][0], linestyle=look["linestyle"], markersize=3.5, linewidth=1.0, capsize=2, elinewidth=0.8,
    )  # fmt: skip
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))


def dot_plot(
    table: pd.DataFrame, names: Sequence[str], value: str, label: str, caption: str, title: str = "", by: str = ""
) -> Figure:
    """Draw a point with its interval for each row, from top to bottom, and a line at 0.

    names: the columns that name a row. label: of the axis of values. caption: the note below. title: above the figure. by: a
    column whose values have a colour and a marker each; points of the same name then share a row.
    """
    named = pd.Series(
        [", ".join(map(str, row)) for row in table[list(names)].to_numpy().tolist()], table.index, dtype=object
    )
    lines = list(dict.fromkeys(named)) if by else list(named)
    rows = named.map(lines.index) if by else pd.Series(range(len(named)), named.index)
    kinds = list(dict.fromkeys(table[by])) if by else [""]
    height = 0.32 * len(lines) * (1 + 0.35 * (len(kinds) - 1)) + 1.1
    with new_figure(4.2, height, f"{caption}. Bars: 95% intervals", title=title) as figure:
        axis = figure.subplots()
        for number, kind in enumerate(kinds):
            of_kind = table[by] == kind if by else pd.Series(True, table.index)
            apart = 0.6 * (number + 0.5) / len(kinds) - 0.3
            shown, places = table[of_kind], len(lines) - 1 - rows[of_kind] - apart
            draw_points(axis, places, shown, value, label=kind or None, **_dot_look(number))
        name_rows(axis, [wrap_text(line, 1.7, LABEL) for line in lines], 0)
        axis.set_xlabel(label)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=4))  # numbers with three decimals would lie over each other
        if by:
            add_legend(figure, [axis])
    return figure


def _dot_look(number: int) -> dict[str, Any]:
    """Return the look of the points of a kind: the first is that of an estimate."""
    color, marker = (ESTIMATE, "o") if number == 0 else (OTHERS[number - 1]["color"], SPARE[number])
    return {"fmt": marker, "color": color, "markersize": 4, "capsize": 2}
