"""A report: a page in Markdown with notes, tables and figures, and the files that go with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.figures import WRITTEN, save
from parley.analysis.formatting import Column, chance_note, escape_markdown, frame_table, markdown_table, sentences_of
from parley.analysis.html_page import Chapter, document
from parley.analysis.qualify.in_reports import page_notes
from parley.analysis.table_export import write_table
from parley.llm.errors import UserError
from parley.model.events import Header

PRINTED = re.compile(r"\([-−+]?\d[\d.,]*%? to [-−+]?\d[\d.,]*%?\)")
"""An interval as `format_estimate` prints it."""
MOST = 5
"""Sentences of the section "In short"."""
SEVERAL = 5
"""Intervals of which one or more misses the truth in 23% of the pages."""
CORRECTED = (
    "for their number",
    "for the number of",
    "Holm",
    "miss the true value by chance",
    "corrected p",
    "p corrected",
)
"""Words of pages that say what they do about the number of their comparisons."""


@contextmanager
def disk_errors(folder: Path, rest: str) -> Iterator[None]:
    """Turn an error of the disk into a UserError. rest: what the user has, and can do."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write the report into {folder}: {error.strerror or error}; {rest}") from error


def multiplicity(page: str) -> str:
    """Return how many of the intervals on a page mislead by chance; "" below SEVERAL, or where the page says what it does.

    >>> multiplicity("Down by 0.4 (-0.9 to 0.1)."), multiplicity(5 * "1 (0 to 2) ")[:49]
    ('', 'Intervals and p are not corrected for multiple co')
    """
    count = len(PRINTED.findall(page))
    if count < SEVERAL or any(word in page for word in CORRECTED):
        return ""
    return f"Intervals and p are not corrected for multiple comparisons. {chance_note(count)}"


def bullets(lines: Iterable[str]) -> str:
    """Return lines as a list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)


class Report:
    """A page that grows part by part, and the folder for the page, its tables and its figures.

    Titles, cells of tables and `plain` text are escaped, so that text of a model cannot become markup. All other text is our own
    Markdown. Empty parts and None are left out.

    >>> report = Report(Path("runs/a"), "bets", "Private bets")
    >>> report.section("Results", "All bets are 0-100.")
    >>> report.text
    '# Private bets\\n\\n## Results\\n\\nAll bets are 0-100.'
    """

    def __init__(self, folder: Path, name: str, title: str = "") -> None:
        self.folder = folder
        self.path = folder / f"{name}.md"
        self._parts = [f"# {escape_markdown(title)}"] if title else []
        self._further: list[str] = []

    @property
    def text(self) -> str:
        """The page so far."""
        return "\n\n".join(self._parts)

    def add(self, *parts: str | None) -> None:
        """Add paragraphs, lists or other pieces of Markdown."""
        self._parts += [text for paragraph in parts if paragraph and (text := paragraph.strip("\n"))]

    def lines(self, lines: Iterable[str]) -> None:
        """Add lines, such as those of a list."""
        self.add("\n".join(lines))

    def plain(self, text: str) -> None:
        """Add text that may come from a model, as plain text."""
        self.add(escape_markdown(text))

    def note(self, *notes: str | None) -> None:
        """Add notes as block quotes, each once."""
        self.add(*(f"> {note}" for note in dict.fromkeys(notes) if note))

    def disclaim(self, *headers: Header) -> None:
        """Add what has to be known of who speaks: whether other models play people, and the disclaimers of our own speakers."""
        self.note(*page_notes(headers, self.folder), *map(disclaimers.disclaimer, headers))

    def disclaim_models(self, *specs: str) -> None:
        """Add the disclaimer of these models, if some are our own."""
        self.note(disclaimers.is_own_model(*specs))

    def missing(self, count: int, of: int, what: str, reasons: str) -> None:
        """Add how many replies are missing, and why: `3 of 1,200 lack a verdict (timeout 3).`"""
        self.add(f"{count:,} of {of:,} {what}{f' ({reasons})' if reasons else ''}.")

    def section(self, title: str, *parts: str | None) -> None:
        """Begin a section."""
        self._add_further()
        self.add(f"## {escape_markdown(title)}", *parts)

    def _add_further(self) -> None:
        """Add the findings that "In short" has no room for."""
        further, self._further = self._further, []
        if further:
            self.section("More findings", bullets(further))

    def in_short(self, lines: Iterable[str], *further: str | None) -> None:
        """Begin the section "In short" with lines in the order in which a reader asks: can this model play, what moved and by
        how much, why, what is missing. Up to MOST sentences are there; the lines after them come under "More findings", before
        the next section.
        """
        shown = [line for line in lines if line]
        ends = list(accumulate(len(sentences_of(line)) for line in shown))
        count = sum(end <= MOST for end in ends)
        self.section("In short", bullets(shown[:count]), *further)
        self._further = shown[count:]

    def table(self, rows: pd.DataFrame | Iterable[Any], columns: Mapping[str, Column] | Sequence[str]) -> None:
        """Add a table. columns: headings with the columns to show (`frame_table`); for rows of texts only the headings."""
        self.add(frame_table(rows, columns) if isinstance(columns, Mapping) else markdown_table(columns, rows))

    def data(self, **frames: pd.DataFrame) -> None:
        """Write tables into the folder, each as NAME.csv and NAME.parquet."""
        for name, frame in frames.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_table(frame, self.folder / name)

    def figure(self, figure: Figure, name: str, what: str, kinds: Iterable[str] = WRITTEN) -> Path:
        """Write a figure in these formats and show it here; return the PNG's path. what: text for screen readers."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        return self.picture(save(figure, self.folder / name, kinds), what)

    def picture(self, path: Path, what: str) -> Path:
        """Show a figure that was already written."""
        self.add(f"![{escape_markdown(what)}]({path.relative_to(self.folder).as_posix()})")
        return path

    def write_document(self, heading: str, chapters: Sequence[Chapter]) -> Path:
        """Write these chapters as one HTML file in place of the page; return its path. The first one follows the title, and the
        contents are folded after it.
        """
        path = self.path.with_suffix(".html")
        path.write_text(document(heading, chapters[1:], chapters[0]), encoding="utf-8")
        return path

    def write(self) -> Path:
        """Write the page; return its path. A page with SEVERAL intervals that says nothing of their number ends with it."""
        self._add_further()
        self.note(multiplicity(self.text))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path.write_text(f"{self.text}\n", encoding="utf-8")
        return self.path
