"""A sheet: a form filled in from a run, as Markdown and HTML. A cell is evidence, an answer of the author, or not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parley.analysis.formatting import count_phrase
from parley.analysis.html_page import Chapter, document
from parley.analysis.report import Report, disk_errors
from parley.analysis.summary import run_heading
from parley.studies.sheets.facts import FACTS, Fact, SheetRun
from parley.studies.sheets.forms import Answers, Form, Item

EVIDENCE, AUTHOR, UNKNOWN = "evidence", "the author says", "not known"
READ = (
    "**evidence** is read from the folder of the run, and the column *from* names the file. **the author says** marks an "
    "answer that is not evidence from the run. **not known** means that the run does not show the answer, so the author must "
    "give the answer (`--answers FILE`). A sheet describes one run. The sheet does not say that the design is good, and a "
    "cell with evidence may show a fault."
)


@dataclass(frozen=True)
class Cell:
    """One line of a sheet: the item, the kind of answer (evidence, the author says, not known), its text and its place."""

    item: Item
    kind: str
    text: str
    place: str


def fill_form(form: Form, run: SheetRun, answers: Answers) -> list[Cell]:
    """Return the cells of a form for a run."""
    return [cell for item in form.items for cell in _cells(form, item, run, answers)]


def _cells(form: Form, item: Item, run: SheetRun, answers: Answers) -> Iterator[Cell]:
    facts: list[Fact] = [fact for name in item.facts if (fact := FACTS[name](run))]
    known_facts = [fact for fact in facts if fact.known]
    for fact in known_facts:
        yield Cell(item, EVIDENCE, fact.text, fact.place)
    for fact in facts:
        if not fact.known:
            yield Cell(item, UNKNOWN, fact.text, fact.place)
    if answer := answers.get((form.name, item.key)):
        yield Cell(item, AUTHOR, answer, f"answers, {form.name}.{item.key}")
    elif item.author_only or not known_facts:
        yield Cell(item, UNKNOWN, f"The author must say {item.says}.", f"key {form.name}.{item.key}")


def sheet_text(form: Form, run: SheetRun, cells: Sequence[Cell], author: str, folder: Path) -> Report:
    """Return a sheet as a report, not yet written."""
    report = Report(folder, form.name, f"{form.title} sheet: {run_heading(run.tables)}")
    report.disclaim(run.tables.header)
    if not run.tables.finished:
        report.note("This run is unfinished, and the sheet describes the recorded part.")
    report.plain(f"{form.about} Source: {form.source}.")
    if author:
        report.plain(f"Author: {author}.")
    report.add(_count(form, cells), READ)
    for section in dict.fromkeys(item.section for item in form.items):
        report.section(section)
        for item in (item for item in form.items if item.section == section):
            report.add(f"*{item.asks}*")
            rows = [(cell.kind, cell.text, cell.place) for cell in cells if cell.item is item]
            report.table(rows, ["answer", "what", "from"])
    return report


def _count(form: Form, cells: Sequence[Cell]) -> str:
    """Return how many items have evidence, only an answer of the author, or neither."""
    kinds = {item.key: {cell.kind for cell in cells if cell.item is item} for item in form.items}
    open_ = [key for key, cell_kinds in kinds.items() if UNKNOWN in cell_kinds]
    only = sum(EVIDENCE not in cell_kinds and AUTHOR in cell_kinds for cell_kinds in kinds.values())
    shown = sum(EVIDENCE in cell_kinds for cell_kinds in kinds.values())
    names = f": {', '.join(f'`{key}`' for key in open_)}" if open_ else ""
    return (
        f"{count_phrase(len(kinds), 'item')}: {shown} with evidence, {only} with an answer of the author "
        f"alone. In {len(open_)} items something is not known{names}."
    )


def write_sheets(
    folder: Path, forms: Sequence[Form], answers: Answers, author: str = "", out: Path | None = None
) -> list[Path]:
    """Write each form as NAME.md and NAME.html into RUN/sheets or `out`; return the pages. Errors: UserError without a record."""
    run, place, pages = SheetRun(folder), out or folder / "sheets", []
    with disk_errors(place, "the record is saved; repeat the command to write the sheets"):
        for form in forms:
            report = sheet_text(form, run, fill_form(form, run, answers), author, place)
            report.write()
            pages.append(report.path.with_suffix(".html"))
            heading = f"{form.title} sheet: {run_heading(run.tables)}"
            page = document(heading, [Chapter(form.name, form.title, report.text, place)])
            pages[-1].write_text(page, encoding="utf-8")
    return pages
