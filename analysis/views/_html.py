"""Elements whose children are text: what a model said never becomes markup here."""

from __future__ import annotations

from typing import Any

import solara.alias as alias


def element(tag: str, *children: Any, css: str = "", **attributes: str) -> Any:
    """An HTML element. Children are elements or text; text stays text."""
    return alias.rv.Html(tag=tag, children=list(children), class_=css, attributes=attributes)


def table(header: list[str], rows: list[list[str]], label: str) -> Any:
    """A table with a heading row."""
    head = element("tr", *[element("th", name, scope="col") for name in header])
    body = [element("tr", *[element("td", cell) for cell in row]) for row in rows]
    inside = element("table", element("caption", label, css="quiet"), element("thead", head), element("tbody", *body))
    return element("div", inside, css="table", tabindex="0", role="region", **{"aria-label": label})
