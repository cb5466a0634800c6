"""The share of answers that fit the persona's leaning, cell by cell.

Shares aligned as a heat map: rows leaning and variant, columns models, the sets of personas beside each other.

The layout of the UCL study's Figs 2 and 7. Colours are cividis, which reads the same for the colour-blind and in grey; the number
stands in every cell.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from parley.analysis.alignment.interviews import ALIGNED
from parley.analysis.bootstrap import clustered_share_interval
from parley.analysis.figures import make_canvas, style

PARTIES = {"default": "Default", "republican": "Republican", "democrat": "Democrat"}
VARIANTS = ("none", "male", "female", "21", "35", "67")
COLOURS = "cividis"
ROW, COLUMN, LEFT, RIGHT, GAP, TOP = 0.21, 0.62, 1.5, 0.75, 0.3, 0.34
"""Inches: a row, a column (at least), left and right of the panels, between them, over them."""
LETTER, LINE, LETTERS = 0.06, 0.12, 24
"""Inches of a letter and a line of a model's name, and letters a line."""


def draw_heatmap(shares: pd.DataFrame, caption: str) -> Figure:
    """A panel for each set of personas. shares: see shares.shares, in percent on the figure; no share: a dash on grey."""
    sets, models = list(shares["personas"].unique()), list(shares["model"].unique())
    present = set(zip(shares["party"], shares["variant"], strict=True))
    rows = [(party, variant) for party in PARTIES for variant in VARIANTS if (party, variant) in present]
    labels = [textwrap.fill(model, LETTERS) for model in models]
    with style():
        figure, axes = _canvas(len(sets), len(rows), labels, caption)
        for axis, name in zip(axes, sets, strict=True):
            _panel(axis, shares[shares["personas"] == name], rows, models)
            axis.set_xticks(range(len(models)), labels, fontsize=7, rotation=90 * (len(models) > 1))
            axis.set_title(f"{name} personas")
        _names(axes[0], rows)
        _scale(figure, axes[-1])
    return figure


def _canvas(panels: int, rows: int, labels: Sequence[str], caption: str) -> tuple[Figure, Sequence[Axes]]:
    """A figure with room for caption, rows and the models' names: upright when there are several."""
    wide = max(COLUMN * len(labels), 1.6)
    width = LEFT + panels * wide + (panels - 1) * GAP + RIGHT
    title = textwrap.fill(caption, int(width * 15))
    top = TOP + 0.13 * (title.count("\n") + 1)
    lines = [line for label in labels for line in label.split("\n")]
    bottom = 0.12 + (LETTER * max(map(len, lines)) if len(labels) > 1 else LINE * len(lines))
    height = top + rows * ROW + bottom
    figure = make_canvas(width, height)
    edges = {"left": LEFT / width, "right": 1 - RIGHT / width, "top": 1 - top / height, "bottom": bottom / height}
    grid = figure.subplots(1, panels, squeeze=False, gridspec_kw={**edges, "wspace": GAP / wide})
    figure.text(0.5, 1 - 0.08 / height, title, ha="center", va="top")
    return figure, list(grid.flat)


def _panel(axis: Axes, shares: pd.DataFrame, rows: Sequence[tuple[str, str]], models: Sequence[str]) -> None:
    known = shares.set_index(["party", "variant", "model"])["share"]
    values = [[100 * known.get((*row, model), math.nan) for model in models] for row in rows]
    axis.set_facecolor("#d9d9d9")
    axis.imshow(values, cmap=COLOURS, vmin=0, vmax=100, aspect="auto")
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            told = "–" if math.isnan(value) else f"{value:.0f}" if value in (0, 100) else f"{value:.1f}"
            axis.text(x, y, told, ha="center", va="center", fontsize=7, color="white" if value < 55 else "black")
    for y in range(1, len(rows)):
        if rows[y][0] != rows[y - 1][0]:
            axis.axhline(y - 0.5, color="white", linewidth=2)
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _names(axis: Axes, rows: Sequence[tuple[str, str]]) -> None:
    """The variants as labels of the rows; the leaning once, at the middle of its rows."""
    axis.set_yticks(range(len(rows)), [f"aged {variant}" if variant.isdigit() else variant for _, variant in rows])
    for party, title in PARTIES.items():
        places = [y for y, row in enumerate(rows) if row[0] == party]
        if places:
            middle = (places[0] + places[-1]) / 2
            where: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "textcoords": "offset points",
                "annotation_clip": False,
            }
            axis.annotate(title, (0, middle), (8 - 72 * LEFT, 0), ha="left", va="center", **where)


def _scale(figure: Figure, last: Axes) -> None:
    """The colours and what they stand for, at the right."""
    box, width = last.get_position(), figure.get_figwidth()
    bar = figure.add_axes((box.x1 + 0.12 / width, box.y0, 0.12 / width, box.height))
    figure.colorbar(ScalarMappable(Normalize(0, 100), COLOURS), cax=bar, label="aligned (%)")


CELL = ["personas", "party", "variant", "model"]
POOLED = ("none", "21", "35", "67")
"""The variants that the study's published "baseline" pools (84 answers a cell: 4 personas, 21 questions)."""


def aligned_shares(answers: pd.DataFrame, by: Sequence[str] = tuple(CELL)) -> pd.DataFrame:
    """A row a cell: answers (asked for), judged, missing, aligned, share (of those judged; NaN when none is), people (of whom an
    answer was judged) and the 95% interval of the share over people, low to high: the answers of one person are one person's.
    """
    rows = [dict(zip(by, key, strict=True)) | _row(part) for key, part in answers.groupby(list(by), sort=False)]
    return pd.DataFrame(
        rows, columns=[*by, "answers", "judged", "missing", "aligned", "share", "people", "low", "high"]
    )


def pooled_share(answers: pd.DataFrame) -> pd.DataFrame:
    """Shares by set, party and model over the variants of the study's published baseline: none and the three ages."""
    return aligned_shares(answers[answers["variant"].isin(POOLED)], ["personas", "party", "model"])


def _row(part: pd.DataFrame) -> dict[str, Any]:
    known = part[part["verdict"] != ""]
    by_person = (known["verdict"] == ALIGNED).groupby([known["party"], known["name"]]).agg(["sum", "size"])
    hits, sizes = by_person.to_numpy(dtype=float).T
    low, high = clustered_share_interval(hits, sizes)
    judged, aligned = len(known), int(hits.sum())
    share = aligned / judged if judged else float("nan")
    counts = {"answers": len(part), "judged": judged, "missing": len(part) - judged, "aligned": aligned}
    return {**counts, "share": share, "people": len(by_person), "low": low, "high": high}
