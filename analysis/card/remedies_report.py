"""What remedies move: remedies.html, remedies.csv, remedies.png and .svg in the folder of the card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.card.conditions import Batch
from parley.analysis.card.figure import Panel, Point, panel_figure
from parley.analysis.card.labels import SHARES
from parley.analysis.card.remedies import SHOWN, Remedy, people, remedy_verdict, sentences
from parley.analysis.card.sections import quantities
from parley.analysis.formatting import escape_markdown, format_estimate, markdown_table
from parley.analysis.plots import save
from parley.analysis.web.document import Chapter, document
from parley.llm.errors import UserError
from parley.model.events import Header

HOW = (
    "Debates of three and of two of a party, the rooms of three with nobody speaking, and the interviews are held once more with "
    "something else set, block by block in the same seats, on the same topics, with the same seeds. Each difference is with the "
    "remedy minus without it, within blocks; brackets hold 95% intervals (Student's, over blocks). Pull is fitted to these "
    "debates, with and without, and is therefore a little less sure than on the card. With {count} differences about "
    "{chance:.1f} are outside of their intervals by chance where nothing is moved."
)
LABELS = {
    "lost": "own pull\na round", "mu": "own pull\na line", "three_alone": "moved toward\nthe Default",
    "aligned": "fidelity:\nanswers that fit", "spread": "variety: spread\nof agents", "distinct": "variety:\ndistinct words",
}  # fmt: skip


def write(found: pd.DataFrame, held: Sequence[Remedy], first: Batch, header: Header, stopped: str = "") -> Path:
    """Write all of it; the path of remedies.html. Errors: UserError."""
    folder = first.folder
    try:
        found.to_csv(folder / "remedies.csv", index=False)
        save(figure(found, disclaimers.model_label(header)), folder / "remedies")
        path = folder / "remedies.html"
        text = "\n\n".join(_parts(found, held, first, header, stopped))
        chapter = Chapter("remedies", "What remedies move, and at what cost", text, folder)
        path.write_text(document(f"Remedies: {disclaimers.model_label(header)}", [chapter]), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the remedies into {folder}: {error.strerror}") from error
    return path


def _parts(found: pd.DataFrame, held: Sequence[Remedy], first: Batch, header: Header, stopped: str) -> Iterator[str]:
    titles = {name: told.title for name, told in quantities().items()}
    known = int(found["difference"].notna().sum())
    if note := disclaimers.short_disclaimer(header):
        yield f"> {note}"
    yield HOW.format(count=known, chance=0.05 * known)
    yield "\n".join(f"- {one}" for one in sentences(found, titles))
    if stopped:
        yield f"> Not all remedies were held: {stopped}"
    yield "![Differences by remedy and quantity](remedies.png)"
    for name, part in found.groupby("quantity", sort=False):
        yield f"## {titles[str(name)]}\n\n{_table(part.to_dict('records'))}"
    yield "## What was set"
    yield "\n".join(
        f"- {escape_markdown(one.title)}: {escape_markdown(_set(one.settings))}; {people(first.base, one.batch(first).base)}"
        for one in held
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ["remedy", "without", "with", "difference", "which is", "blocks"]
    cells = [
        [row["title"], format_estimate(row["plain"], row["plain_low"], row["plain_high"], 3),
         format_estimate(row["with"], row["with_low"], row["with_high"], 3),
         format_estimate(row["difference"], row["low"], row["high"], 3), remedy_verdict(row) or row["reason"], str(row["blocks"])]
        for row in rows
    ]  # fmt: skip
    return markdown_table(heads, cells)


def _set(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={','.join(value) if isinstance(value, list | tuple) else str(value).lower()}"
        for name, value in settings.items()
    )


def figure(found: pd.DataFrame, caption: str) -> Figure:
    """A panel a quantity, in it a row a remedy; filled where the interval leaves out 0."""
    titles, found = list(dict.fromkeys(found["title"])), found.round(9)  # 1e-17 would be an axis of its own
    shown = [_panel(name, found[found["quantity"] == name].to_dict("records"), titles) for name in SHOWN]
    return panel_figure(
        shown, titles, f"{caption}. With minus without, within blocks; bars: 95% intervals; filled: 0 is outside."
    )


def _panel(name: str, rows: Sequence[Mapping[str, Any]], titles: Sequence[str]) -> Panel:
    points = [
        Point(
            titles.index(row["title"]),
            row["difference"],
            row["low"],
            row["high"],
            remedy_verdict(row) in ("better", "worse"),
        )
        for row in rows
    ]
    share = quantities()[name].measure in SHARES
    return Panel(LABELS[name], points, "better →" if SHOWN[name] > 0 else "← better", share)
