"""What a notebook shows of an object: a short HTML card without markup from a model, and figures inline."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from parley.llm.errors import unknown_name

LONGEST = 160
"""Characters of a text in a card."""


def html_card(title: str, lines: Sequence[str], frame: pd.DataFrame | None = None) -> str:
    """Return a title, lines and a small table as HTML. Every text is escaped; a long one is cut.

    >>> html_card("<b>", ["1 & 2"])
    '<div class="tex2jax_ignore mathjax_ignore"><p><strong>&lt;b&gt;</strong><br>1 &amp; 2</p></div>'
    """
    text = "<br>".join([f"<strong>{html.escape(title)}</strong>", *(html.escape(line) for line in lines if line)])
    table = "" if frame is None or frame.empty else _html_table(frame)
    return f'<div class="tex2jax_ignore mathjax_ignore"><p>{text}</p>{table}</div>'


def _html_table(frame: pd.DataFrame) -> str:
    """Return the table as pandas shows it, with escaped cells and a dash for missing values."""
    cut = frame.map(lambda value: f"{value[:LONGEST]}…" if isinstance(value, str) and len(value) > LONGEST else value)
    return str(cut.to_html(index=False, escape=True, border=0, na_rep="–", float_format="{:.2f}".format))


def draw_named(figures: Mapping[str, Callable[[], Figure]], name: str | None) -> Figure:
    """Draw the figure of this name, the first one without a name. Errors: UserError on an unknown name."""
    name = name or next(iter(figures))
    if name not in figures:
        raise unknown_name("figure", name, figures)
    return inline(figures[name]())


def inline(figure: Figure) -> Figure:
    """Return the figure. IPython shows it where a cell returns it, even if pyplot was never imported."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is not None and Figure not in formatter.formatters["image/png"].type_printers:
        from IPython.core.pylabtools import select_figure_formats

        select_figure_formats(shell, {"png"})
    return figure
