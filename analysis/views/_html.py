"""Elements whose children are text: what a model said never becomes markup here. Figures are images, never inline drawings.

Many lines and long tables are one element each (lines.vue, table.vue), which the browser unfolds: an element of Python's a line
would take seconds for a thousand.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import solara
import solara.alias as alias
from matplotlib.figure import Figure

from parley.analysis.figures import style
from parley.analysis.formatting import count_phrase

KINDS = {"svg": "image/svg+xml", "png": "image/png"}
MOST = 1000
"""Rows of a table, and lines of a conversation, that are shown; all of them are under Export."""
Line = dict[str, str]
_ONE_AT_A_TIME = threading.Lock()


def element(tag: str, *children: Any, css: str = "", **attributes: str) -> Any:
    """An HTML element. Children are elements or text; text stays text."""
    return alias.rv.Html(tag=tag, children=list(children), class_=css, attributes=attributes)


@solara.component_vue("table.vue")
def _Table(header: list[str], rows: list[list[str]], label: str) -> None:
    """Every cell is text."""


@solara.component_vue("lines.vue")
def _Lines(lines: list[Line], label: str) -> None:
    """Every line has a tag, a class, who says it, and a text."""


def table(header: Sequence[str], rows: list[list[str]], label: str) -> None:
    """A table with a heading row, of a very long one the beginning."""
    _Table(header=list(header), rows=rows[:MOST], label=label)
    if len(rows) > MOST:
        element("p", f"The first {MOST:,} of {count_phrase(len(rows), 'row')}; all are under Export.", css="soft")


def line(text: str, css: str = "", tag: str = "p", who: str = "") -> Line:
    """A line for `log`."""
    return {"tag": tag, "css": css, "who": who, "text": text}


def log(lines: Sequence[Line], label: str) -> Any:
    """Lines of a conversation, of a very long one its end; to be scrolled with the keyboard too."""
    left = line(f"({count_phrase(len(lines) - MOST, 'line')} before are under Export, or found by search)", "rated")
    shown = list(lines) if len(lines) <= MOST else [left, *lines[-MOST:]]
    return _Lines(lines=shown or [line("nothing was said yet", "rated")], label=label)


def painted(make: Callable[[], Figure], kind: str = "svg") -> bytes:
    """The bytes of a figure as a report has them. One at a time: Matplotlib's settings are those of all tabs."""
    file = BytesIO()
    bare = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with _ONE_AT_A_TIME, style():
        make().savefig(file, format=kind, metadata=bare)
    return file.getvalue()


def picture(drawn: bytes, told: str) -> Any:
    """A figure as an image, in which nothing can be run; `told` is read in its place."""
    return element("img", css="figure", alt=told, src=f"data:{KINDS['svg']};base64,{base64.b64encode(drawn).decode()}")
