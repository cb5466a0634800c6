"""Elements whose children are text: what a model said never becomes markup here. Figures are images, never inline drawings."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any

import solara.alias as alias
from matplotlib.figure import Figure

from analysis.plots import style

KINDS = {"svg": "image/svg+xml", "png": "image/png"}


def element(tag: str, *children: Any, css: str = "", **attributes: str) -> Any:
    """An HTML element. Children are elements or text; text stays text."""
    return alias.rv.Html(tag=tag, children=list(children), class_=css, attributes=attributes)


def table(header: list[str], rows: list[list[str]], label: str) -> Any:
    """A table with a heading row."""
    head = element("tr", *[element("th", name, scope="col") for name in header])
    body = [element("tr", *[element("td", cell) for cell in row]) for row in rows]
    inside = element("table", element("caption", label, css="quiet"), element("thead", head), element("tbody", *body))
    return element("div", inside, css="table", tabindex="0", role="region", **{"aria-label": label})


def painted(figure: Figure, kind: str = "svg") -> bytes:
    """The bytes of a figure as a report has them."""
    file = BytesIO()
    bare = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with style():
        figure.savefig(file, format=kind, metadata=bare)
    return file.getvalue()


def picture(drawn: bytes, told: str) -> Any:
    """A figure as an image, in which nothing can be run; `told` is read in its place."""
    return element("img", css="figure", alt=told, src=f"data:{KINDS['svg']};base64,{base64.b64encode(drawn).decode()}")
