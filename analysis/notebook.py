"""What a notebook shows of an object: a short HTML card in which text of a model can do no harm, and figures inline."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

LONGEST = 160
"""Characters of a text in a card."""


def html_card(title: str, lines: Sequence[str], frame: pd.DataFrame | None = None) -> str:
    """A title, lines and a small table as HTML. Every text is escaped; a long one is cut.

    >>> html_card("<b>", ["1 & 2"])
    '<div class="tex2jax_ignore mathjax_ignore"><p><strong>&lt;b&gt;</strong><br>1 &amp; 2</p></div>'
    """
    told = "<br>".join([f"<strong>{html.escape(title)}</strong>", *(html.escape(line) for line in lines if line)])
    table = "" if frame is None or frame.empty else _html_table(frame)
    return f'<div class="tex2jax_ignore mathjax_ignore"><p>{told}</p>{table}</div>'


def _html_table(frame: pd.DataFrame) -> str:
    """The table in pandas' own looks, which escape what is in a cell; a missing value is a dash."""
    cut = frame.map(lambda value: f"{value[:LONGEST]}…" if isinstance(value, str) and len(value) > LONGEST else value)
    table: str = cut.to_html(index=False, escape=True, border=0, na_rep="–", float_format="{:.2f}".format)
    return table


def inline(figure: Figure) -> Figure:
    """The figure; in IPython it is shown where a cell returns it, also before pyplot was ever imported."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is not None and Figure not in formatter.formatters["image/png"].type_printers:
        from IPython.core.pylabtools import select_figure_formats

        select_figure_formats(shell, {"png"})
    return figure
