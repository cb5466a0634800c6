"""`run.py report RUN...`: one HTML file on runs and studies: what was found, caveats, examples, how to run it again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from parley.analysis.html_page import Chapter, document
from parley.analysis.run_report import SUMMARY, write_report
from parley.analysis.tables import record_of
from parley.llm.errors import UserError

TRANSCRIPT = "transcript.md"
SECTIONS = 12
"""Parts of a transcript of which examples are shown, at most."""


def write(runs: Sequence[Path], out: Path) -> Path:
    """Write the document; a run that has no summary of its own yet gets one first. Errors: UserError."""
    several = len(runs) > 1
    chapters = [
        one._replace(title=f"{run.name}: {one.title}") if several else one
        for number, run in enumerate(runs, 1)
        for one in _chapters(run, f"run{number}")
    ]
    title = f"{len(runs)} runs" if several else chapters[0].title
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(document(title, chapters), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {out}: {error.strerror}") from error
    return out


def _chapters(run: Path, mark: str) -> list[Chapter]:
    """The pages of a folder: what was found first, an example of every part of its transcript last."""
    if not run.is_dir():
        raise UserError(f"{run} is no folder of a run or a study")
    if record_of(run).exists() and not (run / SUMMARY).exists():
        write_report(run)
    pages = sorted(path for path in run.glob("*.md") if path.name != TRANSCRIPT)
    if not pages:
        raise UserError(f"{run} holds no report: neither summary.md nor another page")
    found = [_page(path, f"{mark}-{path.stem}") for path in pages]
    if (run / TRANSCRIPT).exists():
        told, shown = examples((run / TRANSCRIPT).read_text(encoding="utf-8"))
        found.append(Chapter(f"{mark}-transcript", told, shown, run, closed=True))
    return found


def _page(path: Path, mark: str) -> Chapter:
    text = path.read_text(encoding="utf-8")
    head = re.match(r"# (.+)", text)
    return Chapter(mark, head[1] if head else path.stem, text, path.parent)


def examples(transcript: str) -> tuple[str, str]:
    """A heading that says how much of it is shown, and the first room of every part of a transcript.

    >>> examples("# T\\n\\n## Contents\\n\\n## A\\n\\nx\\n\\n## B\\n\\ny\\n")
    ('Examples from the transcript, 2 of 2 rooms', '## A\\n\\nx\\n\\n## B\\n\\ny\\n')
    """
    sections = re.split(r"(?m)^(?=## )", transcript)[1:]
    told = [one for one in sections if not re.match(r"## (Contents$|.*asked outside the debates$)", one, re.MULTILINE)]
    parts = [re.split(r'(?m)^(?=<a id="room-)', one) for one in told]
    rooms = sum(max(1, len(part) - 1) for part in parts)
    shown = ["".join(part[:2]) for part in parts[:SECTIONS]]
    return f"Examples from the transcript, {len(shown)} of {rooms} rooms", "".join(shown)
