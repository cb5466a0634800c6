"""A chart that the browser draws (chart.vue): it gets the numbers once, then only the round changes.

The browser draws with ECharts, which is a file of the wheel `solara-assets`: the page's own server hands it out, once per tab.
Every text of a chart is plain: no markup, no control characters. Colour, marker and dash of a party are those of the report.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd
import solara
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path

from parley.agents.topic import load_topic
from parley.analysis.formatting import strip_controls
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

LIBRARY = "_solara/cdn/echarts@5.4.0/dist/echarts.esm.min.js"
"""The address of the library on the page's own server."""
DASHES = {"-": [], "--": [3.7, 1.6], "-.": [6.4, 1.6, 1, 1.6], ":": [1, 1.65]}
"""Matplotlib's named dashes, in widths of the line."""
RUN_DASHES = ([4, 2], [1, 1.65], [6, 1, 1, 1])
"""Dashes of the second, third and fourth run on the same axes."""
PEN = dict(zip(map(int, (Path.MOVETO, Path.LINETO, Path.CURVE3, Path.CURVE4, Path.CLOSEPOLY)), "MLQCZ", strict=True))


@dataclass(frozen=True)
class Key:
    """An entry of the legend, with which a reader shows or hides its lines. path: of its marker (SVG); dash: in line widths."""

    id: str
    name: str
    colour: str
    path: str = ""
    dash: Sequence[float] = ()
    open: bool = False
    shown: bool = True


@dataclass(frozen=True)
class Line:
    """What is drawn of one key in a panel. Lists begin with round 0; None: missing.

    means: by round the mean and the ends of its interval. middle: by round the quartiles. thin: by room or
    agent its values. counts: by round one count per bin (of a histogram). missing: by round the missing ratings.
    """

    key: str
    means: Sequence[Sequence[float | None]] = ()
    middle: Sequence[Sequence[float | None]] = ()
    thin: Sequence[Sequence[float | None]] = ()
    counts: Sequence[Sequence[int]] = ()
    missing: Sequence[int] = ()


@dataclass(frozen=True)
class Panel:
    """A panel. low and high: what the ends of the axis mean; ends: their numbers. flags: (round, text) of interventions before
    that round. stages: (first round, name) of each stage.
    """

    title: str
    lines: Sequence[Line]
    low: str = ""
    high: str = ""
    flags: Sequence[tuple[int, str]] = ()
    level: float | None = None
    ends: tuple[int, int] = (0, 10)
    stages: Sequence[tuple[int, str]] = ()


@dataclass(frozen=True)
class Chart:
    """A chart and the table of its values.

    kind: lines or bars. last: the last round of the axis. caption: under the chart when it is saved. rows: key, round, and
    the cells under `header`. bins: the middle of each bin.
    """

    kind: str
    file: str
    caption: str
    last: int
    keys: Sequence[Key]
    panels: Sequence[Panel]
    header: Sequence[str]
    rows: Sequence[tuple[str, int, Sequence[Any]]]
    bins: Sequence[float] = field(default_factory=list)


@solara.component_vue("chart.vue")
def _Drawn(chart: str, upto: int, label: str, library: str) -> None:
    """chart: JSON of a `Chart`. upto: the last round that is drawn."""


@solara.component
def Drawn(chart: Chart, upto: int, label: str) -> None:
    """Show a chart up to a round. label: for screen readers."""
    text = solara.use_memo(lambda: as_json(chart), [chart])
    _Drawn(chart=text, upto=upto, label=strip_controls(label), library=LIBRARY)


def as_json(chart: Chart) -> str:
    """Return the chart as JSON, its texts on one line and without control characters."""
    return json.dumps(_plain(asdict(chart)), separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return strip_controls(value)
    if isinstance(value, Mapping):
        return {key: _plain(nested) for key, nested in value.items()}
    return [_plain(nested) for nested in value] if isinstance(value, list | tuple) else value


def rounded(value: float | None) -> float | None:
    """Return a number with three digits; None where it is missing."""
    return None if value is None or pd.isna(value) else round(float(value), 3)


def party_key(id_: str, name: str, look: Mapping[str, Any], run: int = 0) -> Key:
    """Return the key of a party in the look of the report's figures. run: of several, which have other dashes and markers."""
    line = look["linestyle"]
    dash = RUN_DASHES[(run - 1) % len(RUN_DASHES)] if run else DASHES[line] if isinstance(line, str) else list(line[1])
    marker = look["markers"][run // 2 % len(look["markers"])]
    return Key(id_, name, look["color"], marker_path(marker), dash, run % 2 == 1)


def marker_path(marker: str) -> str:
    """Return the outline of one of Matplotlib's markers as a path of SVG.

    >>> marker_path("s")
    'M-0.5 0.5L0.5 0.5L0.5 -0.5L-0.5 -0.5Z'
    """
    style = MarkerStyle(marker)
    outline = style.get_path().transformed(style.get_transform())
    return "".join(
        PEN[int(code)] if code == Path.CLOSEPOLY else f"{PEN[int(code)]}{' '.join(_pairs(points))}"
        for points, code in outline.iter_segments(curves=True, simplify=False)
    )


def _pairs(points: Iterable[float]) -> list[str]:
    """Return coordinates as text; the y axis of a screen points down."""
    return [f"{round(float(value) * (-1) ** place, 3) + 0.0:g}" for place, value in enumerate(points)]


def last_round(tables: Tables) -> int:
    """Return the last round of the axis: that of the scenario, so that the axis does not move while a run goes on."""
    return int(max([tables.header.scenario["rounds"], *tables.attitudes["round"]]))


def scale_ends(tables: Tables, topic: str) -> tuple[str, str]:
    """Return what attitudes 0 and 10 mean, in the words of the survey; empty where this version has no such topic."""
    try:
        probe = load_topic(topic).probe(str(tables.header.scenario["probe"]))
        words = {round(probe.attitude(point), 6): text for point, text in probe.scale.labels.items()}
    except (UserError, ValueError):
        return "", ""
    return words.get(0, ""), words.get(10, "")
