"""What remedies move: remedies.html, remedies.csv, remedies.png and .svg in the folder of the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from parley.analysis.formatting import Column, escape_markdown, estimate, format_estimate
from parley.analysis.reporting import Report
from parley.analysis.web.document import Chapter
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
    report = Report(first.folder, "remedies")
    try:
        report.data(remedies=found)
        _add(report, found, held, first, header, stopped)
        chapter = Chapter("remedies", "What remedies move, and at what cost", report.text, first.folder)
        return report.write_document(f"Remedies: {disclaimers.model_label(header)}", [chapter])
    except OSError as error:
        raise UserError(f"cannot write the remedies into {first.folder}: {error.strerror}") from error


def _add(
    report: Report, found: pd.DataFrame, held: Sequence[Remedy], first: Batch, header: Header, stopped: str
) -> None:
    titles = {name: told.title for name, told in quantities().items()}
    known = int(found["difference"].notna().sum())
    report.note(disclaimers.short_disclaimer(header))
    report.add(HOW.format(count=known, chance=0.05 * known))
    report.lines(f"- {one}" for one in sentences(found, titles))
    report.note(f"Not all remedies were held: {stopped}" if stopped else None)
    report.figure(figure(found, disclaimers.model_label(header)), "remedies", "Differences by remedy and quantity")
    for name, part in found.groupby("quantity", sort=False):
        report.section(titles[str(name)])
        report.table(part, COLUMNS)
    report.section("What was set")
    report.lines(
        f"- {escape_markdown(one.title)}: {escape_markdown(_set(one.settings))}; {people(first.base, one.batch(first).base)}"
        for one in held
    )


COLUMNS: Mapping[str, Column] = {
    "remedy": "title", "without": estimate("plain", 3), "with": estimate("with", 3),
    "difference": lambda row: format_estimate(row["difference"], row["low"], row["high"], 3),
    "which is": lambda row: remedy_verdict(row) or row["reason"], "blocks": "blocks",
}  # fmt: skip


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
