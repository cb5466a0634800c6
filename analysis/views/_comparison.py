"""Several runs compared on the page, as `run.py compare` compares them: a sentence, the chart, differences, settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import solara
import solara.lab

from parley.analysis.provenance import names_of_runs, settings_table
from parley.analysis.result_folders import CARD, StudyRow, kind_of
from parley.analysis.run_comparison import compare_runs, last_differences
from parley.analysis.run_comparison_page import (
    difference_rows,
    pairing_sentence,
    sentences,
)
from parley.analysis.tables import Tables, load
from parley.analysis.views._address import named_in, place_of, use_go
from parley.analysis.views._chart import Chart, Drawn
from parley.analysis.views._download import Download
from parley.analysis.views._html import ONE_FIGURE_AT_A_TIME, element, table
from parley.analysis.views._runs import ROOT, listed
from parley.analysis.views._session import surveyed
from parley.analysis.views._study import STYLE, report_frame
from parley.analysis.views._words import model_of, run_title, size_words
from parley.analysis.views.compare import comparison_chart
from parley.llm.errors import UserError
from parley.model.run_listing import RunRow
from parley.model.titles import join_phrases

HOW = (
    "A difference is how much further up the axis agents moved than in {}, from the survey before the debate on, in "
    "points of the axis from 0 to 10. Brackets are 95% intervals over rooms; p is corrected for all rows "
    "(Holm)."
)


@dataclass(frozen=True, eq=False)
class Compared:
    """A comparison: its sentences, chart, the table of differences, the settings that differ, and the runs."""

    sentences: list[str]
    chart: Chart
    pairing: list[str]
    differences: tuple[list[str], list[list[str]]]
    settings: list[list[str]]
    names: list[str]


SLUGS = re.compile(r"[a-z0-9_]+(, ?[a-z0-9_]+)*")


def in_words(value: str) -> str:
    """Return a value of a setting as it is read: names of topics and the like without underscores, anything else as it is.

    >>> in_words("racism, climate_change"), in_words("hf:./my_model")
    ('racism, climate change', 'hf:./my_model')
    """
    return value.replace("_", " ") if SLUGS.fullmatch(value) else value


@solara.component_vue("choice.vue")
def Choice(title: str, rows: str, chosen: list[str], event_put: Callable[[list[str]], None]) -> None:
    """rows: JSON of `choices`. Each has a check box."""


@solara.component
def Chooser(mine: str, chosen: list[str], put: Callable[[list[str]], None]) -> None:
    """The list of what `mine` can be compared with: runs for a run, bias cards for a bias card."""
    rows, noun = solara.use_memo(lambda: choices(mine), [mine]), noun_of(mine)
    if not rows:
        element("p", f"There is no other {noun} in {ROOT}/ yet.")
        return
    Choice(
        title=f"Compare this {noun} with",
        rows=json.dumps(rows),
        chosen=chosen,
        event_put=lambda folders: put([str(folder) for folder in folders]),
    )


def choices(mine: str) -> list[dict[str, str]]:
    """Return what a run or a bias card can be compared with, as lines of the list: folder, title and facts."""
    rows, _ = listed(_choice, _study_choice)
    return [row for row in rows if row["folder"] != mine and row["noun"] == noun_of(mine)]


def _choice(run: RunRow) -> dict[str, str]:
    facts = " · ".join([model_of(run.header), size_words(run.header.scenario), f"seed {run.header.scenario['seed']}"])
    return {"folder": str(run.folder), "title": run_title(run.header), "facts": facts, "noun": "run"}


def _study_choice(study: StudyRow) -> dict[str, str]:
    noun = study.kind.noun if study.state == "done" else ""
    return {"folder": str(study.folder), "title": study.title, "facts": study.sentence, "noun": noun}


def noun_of(folder: str) -> str:
    """Return what a folder holds: a run, or a kind of study."""
    kind = kind_of(Path(folder))
    return kind.noun if kind else "run"


@solara.component
def ComparedRuns(search: str) -> None:
    """The place `/?compare=runs/a&compare=runs/b`. Only runs in the folder of runs are opened."""
    go, folders = use_go(), named_in(search, "compare")
    element("h1", "Compare runs")
    outside = [folder for folder in folders if not Path(folder).resolve().is_relative_to(ROOT.resolve())]
    if outside:
        element("p", element("bdi", f"{outside[0]} is not in {ROOT}/: choose runs there."), css="wrong", role="alert")
    elif problem := mixed(folders):
        element("p", element("bdi", problem), css="wrong", role="alert")
    elif len(folders) < 2:
        element("p", element("bdi", folders[0], css="folder"))
        Chooser(folders[0], [], lambda others: go(place_of(compare=[folders[0], *others])))
    elif kind_of(Path(folders[0])):
        solara.Style(STYLE)
        report_frame(folders, 0, f"Comparison of {join_phrases(folders)}")
    else:
        Comparison(folders, {}, None)


def mixed(folders: Sequence[str]) -> str:
    """Return why these folders cannot be compared, as they hold runs and studies, or studies other than bias cards; "" if not."""
    kinds = {folder: noun_of(folder) for folder in folders}
    other = next((folder for folder, noun in kinds.items() if noun not in ("run", CARD)), None)
    if other:
        return f"{other} is a {kinds[other]}. Runs are compared with runs, and bias cards with bias cards: tick two of one kind."
    if len(set(kinds.values())) < 2:
        return ""
    card, run = (next(folder for folder, noun in kinds.items() if noun == wanted) for wanted in (CARD, "run"))
    return f"{card} is a bias card and {run} is a run, which cannot be compared: tick two runs or two bias cards."


@solara.component
def Comparison(folders: Sequence[str], loaded: Mapping[str, Tables], upto: int | None) -> None:
    """Compare runs with the first one. loaded: tables that are there already. upto: the last round of the chart."""
    state = [(folder, len(loaded[folder].attitudes) if folder in loaded else -1) for folder in folders]
    task = solara.lab.use_task(lambda: compared(folders, loaded), dependencies=[state], raise_error=False)
    comparison = task.value if task.finished else None
    if comparison is None or isinstance(comparison, str):
        text = comparison or (str(task.exception) if task.error else "Comparing the runs…")
        element("p", element("bdi", text), css="wrong" if comparison or task.error else "", role="status")
        return
    first, *rest = comparison.sentences
    element("p", element("bdi", first), css="lead")
    if rest:
        element("ul", *[element("li", element("bdi", text)) for text in rest])
    if comparison.chart.panels:
        label = f"Mean attitudes by round of {', '.join(comparison.names)}, by party"
        Drawn(comparison.chart, comparison.chart.last if upto is None else upto, label)
    header, rows = comparison.differences
    if rows:
        element("h2", "Differences")
        element("p", element("bdi", " ".join([HOW.format(comparison.names[0]), *comparison.pairing])), css="soft")
        table(header, rows, "Differences")
    element("h2", "What was set differently")
    table(["setting", *comparison.names], comparison.settings, "What differs")
    stem = "-".join(Path(folder).name for folder in folders)
    Download(lambda: report_of(folders), f"{stem}.html", "text/html", "Report of the comparison (HTML)", [state])


def compared(folders: Sequence[str], loaded: Mapping[str, Tables]) -> Compared | str:
    """Return the comparison of runs, or a line that says why there is none."""
    try:
        opened = [loaded[folder] if folder in loaded else load(Path(folder)) for folder in folders]
    except UserError as error:
        return str(error)
    names = names_of_runs(list(map(Path, folders)), [tables.header for tables in opened])
    runs = dict(zip(names, opened, strict=True))
    for name, tables in runs.items():
        if not surveyed(tables):
            return f"{name} has no survey of opinions by round, so there is nothing to compare."
    differences = compare_runs(runs)
    base = runs[names[0]]
    pairing = [pairing_sentence(names[0], base, name, runs[name]) for name in names[1:]]
    frame = settings_table(names, [tables.header for tables in runs.values()])
    settings = [[in_words(str(cell)) for cell in row] for row in frame.itertuples()]
    rows = difference_rows(runs, last_differences(differences))
    return Compared(sentences(runs, differences), comparison_chart(runs), pairing, rows, settings, names)


def report_of(folders: Sequence[str]) -> bytes:
    """Return the report of runs as one HTML file, which opens with their comparison."""
    from parley.analysis import html_report

    with ONE_FIGURE_AT_A_TIME, TemporaryDirectory() as place:
        return html_report.write([Path(folder) for folder in folders], Path(place) / "report.html").read_bytes()
