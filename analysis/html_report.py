"""`run.py report`: a run or study as one HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from parley.analysis.first_look import first_look
from parley.analysis.html_page import Chapter, document
from parley.analysis.result_folders import read_findings
from parley.analysis.run_comparison_page import comparison_report, named_runs
from parley.analysis.run_report import SUMMARY, write_report
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.model.scenario_run import record_of

TRANSCRIPT = "transcript.md"
SECTIONS = 12
"""Maximum number of a transcript's parts that examples are taken from."""


def write(runs: Sequence[Path], out: Path, title: str = "", author: str = "") -> Path:
    """Write the document; a run without a summary gets one first. Several runs are compared first. Errors: UserError.

    title: of the document (default: that of the run). author: named below the title, with the day of the run.
    """
    several = len(runs) > 1
    chapters = [
        chapter._replace(title=f"{run.name}: {chapter.title}") if several else chapter
        for number, run in enumerate(runs, 1)
        for chapter in _chapters(run, f"run{number}")
    ]
    compared = named_runs(runs) if several and all(record_of(run).exists() for run in runs) else {}
    default_title = (
        f"{' and '.join(compared)} compared" if compared else f"{len(runs)} runs" if several else chapters[0].title
    )
    byline = " · ".join(filter(None, [author, *(() if several else _day(runs[0]))]))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:  # the page holds the figure itself
            if several:
                first, *rest = comparison_report(compared, Path(folder))[1] if compared else (None,)
                rest += chapters
            else:
                first, *rest = _as_lead(chapters[0]), *chapters[1:]
            out.write_text(
                document(title or default_title, rest, first, byline, "" if several else _opening(runs[0])),
                encoding="utf-8",
            )
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    return out


def _opening(run: Path) -> str:
    """Return the first look at a run whose report says what came out; "" for any other folder."""
    findings = read_findings(run / SUMMARY) if record_of(run).exists() else []
    return first_look(load(run), findings[0]) if findings else ""


def chapters_of(folder: Path) -> list[Chapter]:
    """Return the pages of a folder, the first one as the lead of a document. Errors: UserError where it has none."""
    first, *rest = _chapters(folder, "run1")
    return [_as_lead(first), *rest]


def _as_lead(chapter: Chapter) -> Chapter:
    """Return the page of a run as the part that follows the title, with its headings one level higher."""
    return chapter._replace(text=re.sub(r"(?m)^##", "#", chapter.text))


def _day(run: Path) -> Iterator[str]:
    """Yield the day on which a run was written. Its record has no date, so that the same seed gives the same record."""
    if (record := record_of(run)).exists():
        day = datetime.fromtimestamp(record.stat().st_mtime, UTC)
        yield f"Run of {day.day} {day:%B %Y}"


def _chapters(run: Path, mark: str) -> Iterator[Chapter]:
    """Yield the pages of a folder, then examples from its transcript."""
    if not run.is_dir():
        raise UserError(f"{run} is not the folder of a run or a study")
    if record_of(run).exists() and not (run / SUMMARY).exists():
        write_report(run)
    pages = sorted(path for path in run.glob("*.md") if path.name != TRANSCRIPT)
    if not pages:
        raise UserError(f"{run} has no summary.md or other page to show: repeat the command that made the run")
    for path in pages:
        text = path.read_text(encoding="utf-8")
        head = re.match(r"# (.+)", text)
        yield Chapter(f"{mark}-{path.stem}", head[1] if head else path.stem, text, run)
    if (run / TRANSCRIPT).exists():
        heading, shown = examples((run / TRANSCRIPT).read_text(encoding="utf-8"))
        yield Chapter(f"{mark}-transcript", heading, shown, run, closed=True)


def examples(transcript: str) -> tuple[str, str]:
    """Return a heading that says how much is shown, and the first room of every part of a transcript.

    >>> examples("# T\\n\\n## Contents\\n\\n## A\\n\\nx\\n\\n## B\\n\\ny\\n")
    ('Examples from the transcript, 2 of 2 rooms', '## A\\n\\nx\\n\\n## B\\n\\ny\\n')
    """
    sections = re.split(r"(?m)^(?=## )", transcript)[1:]
    no_debate = re.compile(r"## (Contents$|.*asked outside the debates$)", re.MULTILINE)
    parts = [re.split(r'(?m)^(?=<a id="room-)', section) for section in sections if not no_debate.match(section)]
    rooms = sum(max(1, len(section_texts) - 1) for section_texts in parts)
    shown = ["".join(section_texts[:2]) for section_texts in parts[:SECTIONS]]
    return f"Examples from the transcript, {len(shown)} of {rooms} rooms", "".join(shown)
