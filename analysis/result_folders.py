"""What a folder of results holds, as rows: one for each run or whole study, with what came out.

A kind of folder is known by a file that marks it: those of the commands of Parley are listed here, those of studies are declared
(`Study.folders`). Any other folder with a report is a study too. The sentence of a row is read from the report, never computed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from parley.analysis.formatting import plain
from parley.llm.errors import UserError
from parley.llm.studies import ResultFolder, studies
from parley.model.events import Header
from parley.model.files import changed_at
from parley.model.run_listing import (
    MOST,
    RunList,
    RunRow,
    has_record,
    is_locked,
    read_header,
    read_runs,
    too_many,
    walk,
)
from parley.model.scenario_run import record_of

CARD = "bias card"
KINDS = (
    ResultFolder(CARD, ("card.json", "audit.json", "audit-form.json"), "card.html", "card.md"),
    ResultFolder("sweep", ("sweep.json",), "summary.md"),
    ResultFolder("population", ("population.json",), "summary.md"),
    ResultFolder("check of a model", ("qualify.json",), "qualify.md"),
    ResultFolder("comparison", ("compare.html",), "compare.html"),
)
SUMMARY, OTHER = "summary.md", "study"
NO_REPORTS = ("README.md", "transcript.md")
READ = 40_000
"""Characters of a report in which its title and its sentence are looked for."""
LONGEST = 280
"""Characters of a sentence that a row shows."""


@dataclass(frozen=True)
class StudyRow:
    """A folder of a study as a whole. `state` is done, unfinished or elsewhere (another process works in it)."""

    folder: Path
    kind: ResultFolder
    title: str
    sentence: str
    state: str
    changed: float


@dataclass(frozen=True)
class ResultList:
    """What a folder of results holds. `unread` says in a line each what is not listed, and why."""

    runs: list[RunRow]
    studies: list[StudyRow]
    unread: list[str]


def kinds() -> tuple[ResultFolder, ...]:
    """Return all kinds of folders that a mark tells apart: those of studies first."""
    return (*(kind for study in studies().values() for kind in study.folders), *KINDS)


def kind_of(folder: Path) -> ResultFolder | None:
    """Return the kind of a folder of a study; None for a run, and for a folder without a report."""
    names: set[str] = set()
    with suppress(OSError):
        names = {path.name for path in folder.iterdir() if path.is_file()}
    return _kind(names)


def _kind(names: Collection[str]) -> ResultFolder | None:
    if has_record(names):
        return None
    known = next((kind for kind in kinds() if any(mark in names for mark in kind.marks)), None)
    return known or _with_report(names)


def _with_report(names: Collection[str]) -> ResultFolder | None:
    """Return the kind of a folder with a report, which has tables or figures of its name; None for notes of the user's."""
    stems = [name.rpartition(".")[0] for name in names]
    reports = [name for name in sorted(names) if name.endswith((".md", ".html")) and name not in NO_REPORTS]
    own = [name for name in reports if name == SUMMARY or stems.count(name.rpartition(".")[0]) > 1]
    sentences = [name for name in own if name.endswith(".md")]
    if not own:
        return None
    page = next((name for name in own if name.endswith(".html")), own[0])
    return ResultFolder(OTHER, (page,), page, sentences[0] if sentences else "")


def is_whole(folder: Path, root: Path) -> bool:
    """Return whether a folder is a row of its own: a run or a study in `root`, and no part of another study or run."""
    path, top = folder.resolve(), root.resolve()
    if folder.is_symlink() or top not in path.parents or not _is_result(path):
        return False
    return not any(_is_result(parent) for parent in path.parents if top in parent.parents)


def _is_result(folder: Path) -> bool:
    return record_of(folder).is_file() or kind_of(folder) is not None


def list_results(root: Path) -> ResultList:
    """Return the runs and studies in a folder and its subfolders, the newest first. Runs inside of a study are part of it.

    Whatever the folders hold, the time is bounded.
    """
    found, complete = walk(root, lambda folder, names: has_record(names) or _kind(names) is not None)
    inside = {folder: names for folder, names in found.items() if folder != root}
    runs = read_runs(record_of(folder) for folder, names in inside.items() if has_record(names))
    rows = [study_row(folder, kind) for folder, names in inside.items() if (kind := _kind(names))]
    rows.sort(key=lambda row: row.changed, reverse=True)
    return ResultList(runs.rows, rows[:MOST], [*runs.unread, *([] if complete else [too_many(root)])])


def inner_runs(folder: Path) -> RunList:
    """Return the runs inside of a study, in the order of their folders."""
    found, _ = walk(folder)
    runs = read_runs(record_of(inner) for inner, names in found.items() if has_record(names))
    return RunList(sorted(runs.rows, key=lambda run: run.folder), runs.unread)


def first_header(folder: Path) -> Header | None:
    """Return the header of a run inside of a study; None where none can be read."""
    found, _ = walk(folder, lambda inner, names: has_record(names))
    inner = min((place for place, names in found.items() if has_record(names)), default=None)
    return _header(record_of(inner), changed_at(inner)) if inner else None


@lru_cache(maxsize=4 * MOST)
def _header(record: Path, changed: float) -> Header | None:
    try:
        return read_header(record.parent)
    except UserError:
        return None


def study_row(folder: Path, kind: ResultFolder) -> StudyRow:
    """Return a study as a row. One without its page is unfinished."""
    page, label = folder / kind.page, folder / (kind.sentence or kind.page)
    done = page.is_file()
    state = "done" if done else "elsewhere" if is_locked(folder) else "unfinished"
    title, sentence = read_headline(label) if done else ("", "")
    untitled = f"{kind.noun[:1].upper()}{kind.noun[1:]} {folder.name}"
    return StudyRow(folder, kind, title or untitled, sentence, state, changed_at(page if done else folder))


def read_headline(path: Path) -> tuple[str, str]:
    """Return the title of a report and the sentence that says what came out, as plain text; empty where there is none."""
    return _headline(path, changed_at(path))


@lru_cache(maxsize=4 * MOST)
def _headline(path: Path, changed: float) -> tuple[str, str]:
    """Read a report. changed: when it was, so that it is read anew."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(READ)
    except OSError:
        return "", ""
    title, sentence = _of_html(text) if path.suffix == ".html" else _of_markdown(text)
    return _shortened(title), _shortened(sentence)


def read_findings(path: Path) -> list[str]:
    """Return the sentences of "In short" of a report as plain text; none where there is no report, or it has no such section."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [plain(" ".join(item.split())) for item in _short_of(file.read(READ)).split("\n- ") if item.strip()]
    except OSError:
        return []


def read_cautions(path: Path) -> list[str]:
    """Return the items of a report that are bold, as plain text: what a reader has to know before the results are used."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [plain(item) for item in re.findall(r"(?m)^- (\*\*.+)$", file.read(READ))]
    except OSError:
        return []


def _short_of(text: str) -> str:
    """Return the list of "In short", after its first dash."""
    return re.split(r"(?m)^#+ |^!\[", text.partition("\n## In short\n")[2])[0].strip().removeprefix("- ")


def _of_markdown(text: str) -> tuple[str, str]:
    """Return the title, and the first item of "In short"; without that section the first paragraph, and the first bold one."""
    title = re.search(r"(?m)^# (.+)$", text)
    _, found, short = text.partition("\n## In short\n")
    body = re.split(r"(?m)^#+ ", short)[0] if found else text[title.end() if title else 0 :]
    parts = [part.strip() for part in re.split(r"\n\s*\n|\n(?=- )", body)]
    said = [part for part in parts if part and part[0] not in "#>!|`<"]
    first = [part for place, part in enumerate(said[:3]) if place == 0 or (part.startswith("**") and not found)]
    lines = [plain(" ".join(part.removeprefix("- ").split())) for part in first]
    return (plain(title[1]) if title else ""), " ".join(lines)


def _of_html(text: str) -> tuple[str, str]:
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    said = re.search(r"<main>.*?<(p|li)>(.*?)</\1>", text, re.DOTALL)
    return _without_tags(title[1]) if title else "", _without_tags(said[2]) if said else ""


def _without_tags(text: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def _shortened(text: str) -> str:
    """Return a text as far as a row shows it: whole sentences, if the first one is not twice too long."""
    if len(text) <= LONGEST:
        return text
    ends = [end.start() for end in re.finditer(r"(?<=[.!?])( |$)", text[: 2 * LONGEST])]
    short = [end for end in ends if end <= LONGEST] or ends[:1]
    return text[: short[-1]] if short else f"{text[: LONGEST - 1].rstrip()}…"
