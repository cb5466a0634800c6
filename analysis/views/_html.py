"""HTML elements whose children are text, so that text of a model never becomes markup.

A table and a conversation are one element each (table.vue, lines.vue), which the browser unfolds: with one Python element per
line, a thousand lines would take seconds.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import solara
import solara.alias as alias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
MOST = 1000
"""Rows of a table, and lines of a conversation, that the page shows. Export has all of them."""
SENT = 20 * MOST
"""Lines of a conversation that go to the browser, so that it can replay them."""
Line = dict[str, Any]
Cell = str | dict[str, Any]
Look = Callable[[Sequence[Any]], None]
"""Opens the panel of an agent, given as a room and a number."""
T = TypeVar("T")
ONE_FIGURE_AT_A_TIME = threading.RLock()
"""All tabs and runs share Matplotlib's settings."""


def element(tag: str, *children: Any, css: str = "", **attributes: str) -> Any:
    """Make an HTML element. Children are elements or text; text stays text."""
    return alias.rv.Html(tag=tag, children=list(children), class_=css, attributes=attributes)


@solara.component_vue("choose.vue")
def _Choose(label: str, options: list[str], value: str, event_choose: Callable[[str], None]) -> None:
    """A list to choose from, with its label. Options are text."""


@solara.component
def Select(label: str, values: Sequence[T], value: solara.Reactive[T] | T,
           on_value: Callable[[T], None] | None = None) -> None:  # fmt: skip
    """Choose one of the values, as `solara.Select` does, from the browser's own list (Vuetify's nests two controls)."""
    chosen = solara.use_reactive(value, on_value)
    by_title = {str(choice): choice for choice in values}
    _Choose(
        label=label, options=list(by_title), value=str(chosen.value), event_choose=lambda to: chosen.set(by_title[to])
    )


@solara.component_vue("table.vue")
def _Table(header: list[str], rows: list[list[Cell]], label: str, sorts: bool, event_look: Look) -> None:
    """Every cell is text, a name (text and person) or a number (text and value). sorts: whether its headings sort it."""


@solara.component_vue("lines.vue")
def _Lines(lines: str, label: str, upto: float, most: int, mark: str, empty: str, event_look: Look,
           event_room: Callable[[str], None]) -> None:  # fmt: skip
    """lines: JSON of lines as of `line`, because Vue would watch every value of a list.

    mark: a word that is highlighted. empty: what is shown while there is no line.
    """


def named(text: str, person: Sequence[Any]) -> Cell:
    """Return a cell of a table that opens the panel of an agent."""
    return {"text": text, "person": list(person)}


def table(
    header: Sequence[str], rows: Sequence[Sequence[Cell]], label: str, look: Look = lambda person: None, total: int = 0
) -> None:
    """Show a table with a heading row; of a very long one the first rows. total: all rows, where only the first are given."""
    total = max(total, len(rows))
    _Table(header=list(header), rows=[list(row) for row in rows[:MOST]], label=label, sorts=False, event_look=look)
    if total > MOST:
        from parley.analysis.formatting import count_phrase

        element("p", f"The first {MOST:,} of {count_phrase(total, 'row')}; Export has all of them.", css="soft")


def sorted_table(header: Sequence[str], rows: Sequence[Sequence[Cell]], label: str, look: Look) -> None:
    """Show a table that its headings sort, all rows of it. Every cell is a name or a number."""
    _Table(header=list(header), rows=[list(row) for row in rows], label=label, sorts=True, event_look=look)


def line(
    text: str,
    css: str = "",
    tag: str = "p",
    who: str = "",
    colour: str = "",
    name: str = "",
    person: Sequence[Any] = (),
    parts: Sequence[tuple[str, Sequence[Any]]] = (),
    room: str = "",
    at: float | None = None,
) -> Line:
    """Return a line for `log`.

    colour: of its left edge. name: of the speaker, a button that opens the panel of `person`; `who` follows it. parts: further
    names, each a button, with the text behind it. room: a button that opens this room. at: the moment from which the line is
    shown (`_replay.moment`).
    """
    made = {"tag": tag, "css": css, "who": who, "text": text, "colour": colour, "name": name, "room": room, "at": at}
    return made | {"person": list(person), "parts": [[name, list(whom)] for name, whom in parts]}


def log(
    lines: Sequence[Line],
    label: str,
    upto: float = 0.0,
    look: Look = lambda person: None,
    mark: str = "",
    to_room: Callable[[str], None] = lambda room: None,
    empty: str = "no lines yet",
) -> Any:
    """Show the lines of a conversation up to the moment of the page's clock, of a very long one the last `MOST` of these.

    upto: the moment where the page has no clock. Lines with a moment are in its order. The keyboard can scroll the lines.
    """
    text = json.dumps(lines[-SENT:], separators=(",", ":"))
    return _Lines(lines=text, label=label, upto=upto, most=MOST, mark=mark, empty=empty, event_look=look,
                  event_room=to_room)  # fmt: skip


def painted(make: Callable[[], Figure], kind: str = "svg") -> bytes:
    """Return the bytes of a figure as in a report."""
    from parley.analysis.figures import save

    with ONE_FIGURE_AT_A_TIME, TemporaryDirectory() as place:
        stem = Path(place) / "figure"
        save(make(), stem, [kind])
        return stem.with_suffix(f".{kind}").read_bytes()


def picture(svg: bytes, text: str) -> Any:
    """Show a figure as an image, which can run no code. text: for screen readers."""
    return element("img", css="figure", alt=text, src=f"data:{KINDS['svg']};base64,{base64.b64encode(svg).decode()}")
