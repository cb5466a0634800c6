"""What was found of personas, in words: alignment.md, its tables and its figure; review.md when people have looked.

The share of answers that fit the persona's leaning, cell by cell.

Shares aligned as a heat map: rows leaning and variant, columns models, the sets of personas beside each other.

The layout of the UCL study's Figs 2 and 7. Colours are cividis, which reads the same for the colour-blind and in grey; the number
stands in every cell.
"""

from __future__ import annotations

import math
import random
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from parley.agents.reply_cleaning import is_refusal
from parley.analysis.alignment.agreement import confusion_counts, rater_agreement
from parley.analysis.alignment.persona_validation import (
    ALIGNED,
    NOT,
    RANDOM,
    WORDS,
    Validation,
    questions,
    review_ratings,
    review_sheet,
)
from parley.analysis.bootstrap import FEWEST, clustered_share_interval
from parley.analysis.disclaimers import LABELS, spec_label
from parley.analysis.figures import dot_plot, make_canvas, style
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_number, join_phrases
from parley.analysis.report import Report
from parley.llm.backends import check_spec, identity_spec
from parley.llm.seeding import derive

PAPER = (
    "The UCL study (2025, section 3.1 and Fig 7; five other models, judged by Mistral 7B) reports for Republicans **84.5-100%** "
    "with simple and **89.3-100%** with enhanced personas. These are its numbers, not ours. The lowest of them (84.5 and 89.3, "
    'DeepSeek R1) stand for a "baseline" that pools the variant none and the three ages: 71 and 75 of 84 answers in its '
    "published data. Ours, pooled in the same way:"
)
OURS = (
    "{spec} is one of our own ({label}): its part in these shares says whether the pipeline works, and nothing about people or "
    "large language models."
)
SHEET = (
    "review.csv holds {all} answers: a random tenth ({tenth}) and all others that the judge calls not aligned ({others}). Fill "
    "in `human` with {aligned} or {not_aligned} (more people: more columns, human_2 and so on), then `python run.py validate "
    "--review FILE --out FOLDER`."
)
SHARES = (
    "Of the answers with a verdict; in brackets 95% intervals over people, since the answers of one person are "
    f"not independent. A cell with fewer than {FEWEST} people has none."
)
HOW = (
    "Only the random tenth stands for all answers; the rest is what the judge called not aligned, where people are likelier to "
    "disagree with it. 95% intervals: asymptotic for kappa, over answers for alpha and AC1. Where nearly all answers are called "
    "the same, kappa and alpha are low however often raters agree; AC1 is not. A dash: not defined, for want of answers or "
    "because only one verdict was ever given."
)


def write(answers: pd.DataFrame, validation: Validation, folder: Path) -> Path:
    """Write alignment.md with its table and figure, and review.csv, a sheet to fill in; the path of the first."""
    cells, marks = aligned_shares(answers), answers["review"].value_counts()
    report = Report(folder, "alignment", "Do the personas hold?")
    report.data(alignment=cells)
    review_sheet(answers, random.Random(derive(validation.seed, "sheet"))).to_csv(folder / "review.csv", index=False)
    _open(report, answers, validation)
    models = join_phrases([spec_label(spec) for spec in validation.models])
    caption = f"Answers that fit the persona's leaning: {models}, judged by {spec_label(validation.judge)}"
    report.figure(draw_heatmap(cells, caption), "alignment", "Shares of answers that fit")
    report.add(_missing(answers))
    report.section("Shares", SHARES)
    report.table(cells, _columns(CELL))
    report.section("Beside the paper", PAPER)
    report.table(pooled_share(answers), _columns(["personas", "party", "model"]))
    tenth, others = int(marks.get(RANDOM, 0)), int(marks.get(NOT.lower(), 0))
    report.section("For people to check")
    report.add(SHEET.format(all=tenth + others, tenth=tenth, others=others, aligned=ALIGNED, not_aligned=NOT))
    return report.write()


def _open(report: Report, answers: pd.DataFrame, validation: Validation) -> None:
    """Say who was asked what, and what has to be known of the models."""
    told = join_phrases([spec_label(spec) for spec in validation.models])
    people = len(answers[["personas", "party", "variant", "name"]].drop_duplicates())
    report.add(
        f"{count_phrase(people, 'persona')} ({join_phrases(validation.personas)}), each asked {len(questions())} "
        f"questions by {told}; {count_phrase(len(answers), 'answer')}, judged by {spec_label(validation.judge)} for "
        f"whether they fit the persona's leaning (it is told neither gender nor age). Seed {validation.seed}."
    )
    for spec in dict.fromkeys((*validation.models, validation.judge)):
        if label := LABELS.get(check_spec(spec).name):
            report.note(OURS.format(spec=spec, label=label))
    if identity_spec(validation.judge) in map(identity_spec, validation.models):
        report.note("The judge is one of the models interviewed: it judges its own answers, and models favor these.")


def _missing(answers: pd.DataFrame) -> str:
    without = answers[answers["verdict"] == ""]
    told = f"{len(without):,} of {len(answers):,} answers have no verdict"
    told += f": {count_table(without['reason'])}." if len(without) else "."
    long = int((answers["answer"].str.split().str.len() > WORDS).sum())
    refused = int(answers["answer"].map(is_refusal).sum())
    return f"{told} {long:,} are longer than the {WORDS} words asked for; {refused:,} step out of the role (judged all the same)."


def _columns(by: list[str]) -> Mapping[str, Column]:
    def shown(name: str) -> Column:
        return lambda row: PARTIES.get(str(row[name]), str(row[name]))

    return {name: shown(name) for name in by} | {
        "aligned, %": estimate("share", 1, 100),
        "people": "people",
        "judged": "judged",
        "missing": "missing",
    }


def _labelled(spec: str) -> str:
    label = LABELS.get(check_spec(spec).name)
    return f"{spec} ({label})" if label else spec


def write_review(file: Path, folder: Path) -> Path:
    """Read a sheet that people have filled in; write review.md and its table (agreement); the path of the first.

    Errors: UserError.
    """
    read = review_ratings(file, folder)
    found = rater_agreement(read)
    report = Report(folder, "review", "Judge and people")
    report.data(agreement=found)
    random_ones = int((read["review"] == RANDOM).sum())
    report.add(f"{count_phrase(len(read), 'answer')} reviewed, {random_ones} of them from the random tenth. {HOW}")
    drawn = dot_plot(
        found, ["sample", "raters", "measure"], "value", "agreement", "The judge and people, 95% intervals"
    )
    report.figure(drawn, "review", "Agreement of the judge and people")
    columns: Mapping[str, Column] = {
        "sample": "sample", "raters": "raters", "measure": "measure", "answers": "items",
        "agreed, %": lambda row: format_number(100 * row["agreed"], 1), "value": estimate("value"),
    }  # fmt: skip
    report.table(found, columns)
    for human in [name for name in read.columns if name not in ("review", "judge")]:
        counts = confusion_counts(read, human, (ALIGNED, NOT))
        body = [[f"judge: {name}", *map(str, line)] for name, line in zip(counts.index, counts.to_numpy(), strict=True)]
        report.section(f"The judge and {human}")
        report.table(body, ["", *(f"{human}: {name}" for name in counts.columns)])
    return report.write()


PARTIES = {"default": "Default", "republican": "Republican", "democrat": "Democrat"}
VARIANTS = ("none", "male", "female", "21", "35", "67")
COLOURS = "cividis"
ROW, COLUMN, LEFT, RIGHT, GAP, TOP = 0.21, 0.62, 1.5, 0.75, 0.3, 0.34
"""Inches: a row, a column (at least), left and right of the panels, between them, over them."""
LETTER, LINE, LETTERS = 0.06, 0.12, 24
"""Inches of a letter and a line of a model's name, and letters a line."""


def draw_heatmap(shares: pd.DataFrame, caption: str) -> Figure:
    """A panel for each set of personas. shares: see shares.shares, in percent on the figure; no share: a dash on grey."""
    sets, models = list(shares["personas"].unique()), list(shares["model"].unique())
    present = set(zip(shares["party"], shares["variant"], strict=True))
    rows = [(party, variant) for party in PARTIES for variant in VARIANTS if (party, variant) in present]
    labels = [textwrap.fill(model, LETTERS) for model in models]
    with style():
        figure, axes = _canvas(len(sets), len(rows), labels, caption)
        for axis, name in zip(axes, sets, strict=True):
            _panel(axis, shares[shares["personas"] == name], rows, models)
            axis.set_xticks(range(len(models)), labels, fontsize=7, rotation=90 * (len(models) > 1))
            axis.set_title(f"{name} personas")
        _names(axes[0], rows)
        _scale(figure, axes[-1])
    return figure


def _canvas(panels: int, rows: int, labels: Sequence[str], caption: str) -> tuple[Figure, Sequence[Axes]]:
    """A figure with room for caption, rows and the models' names: upright when there are several."""
    wide = max(COLUMN * len(labels), 1.6)
    width = LEFT + panels * wide + (panels - 1) * GAP + RIGHT
    title = textwrap.fill(caption, int(width * 15))
    top = TOP + 0.13 * (title.count("\n") + 1)
    lines = [line for label in labels for line in label.split("\n")]
    bottom = 0.12 + (LETTER * max(map(len, lines)) if len(labels) > 1 else LINE * len(lines))
    height = top + rows * ROW + bottom
    figure = make_canvas(width, height)
    edges = {"left": LEFT / width, "right": 1 - RIGHT / width, "top": 1 - top / height, "bottom": bottom / height}
    grid = figure.subplots(1, panels, squeeze=False, gridspec_kw={**edges, "wspace": GAP / wide})
    figure.text(0.5, 1 - 0.08 / height, title, ha="center", va="top")
    return figure, list(grid.flat)


def _panel(axis: Axes, shares: pd.DataFrame, rows: Sequence[tuple[str, str]], models: Sequence[str]) -> None:
    known = shares.set_index(["party", "variant", "model"])["share"]
    values = [[100 * known.get((*row, model), math.nan) for model in models] for row in rows]
    axis.set_facecolor("#d9d9d9")
    axis.imshow(values, cmap=COLOURS, vmin=0, vmax=100, aspect="auto")
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            told = "–" if math.isnan(value) else f"{value:.0f}" if value in (0, 100) else f"{value:.1f}"
            axis.text(x, y, told, ha="center", va="center", fontsize=7, color="white" if value < 55 else "black")
    for y in range(1, len(rows)):
        if rows[y][0] != rows[y - 1][0]:
            axis.axhline(y - 0.5, color="white", linewidth=2)
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _names(axis: Axes, rows: Sequence[tuple[str, str]]) -> None:
    """The variants as labels of the rows; the leaning once, at the middle of its rows."""
    axis.set_yticks(range(len(rows)), [f"aged {variant}" if variant.isdigit() else variant for _, variant in rows])
    for party, title in PARTIES.items():
        places = [y for y, row in enumerate(rows) if row[0] == party]
        if places:
            middle = (places[0] + places[-1]) / 2
            where: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "textcoords": "offset points",
                "annotation_clip": False,
            }
            axis.annotate(title, (0, middle), (8 - 72 * LEFT, 0), ha="left", va="center", **where)


def _scale(figure: Figure, last: Axes) -> None:
    """The colours and what they stand for, at the right."""
    box, width = last.get_position(), figure.get_figwidth()
    bar = figure.add_axes((box.x1 + 0.12 / width, box.y0, 0.12 / width, box.height))
    figure.colorbar(ScalarMappable(Normalize(0, 100), COLOURS), cax=bar, label="aligned (%)")


CELL = ["personas", "party", "variant", "model"]
POOLED = ("none", "21", "35", "67")
"""The variants that the study's published "baseline" pools (84 answers a cell: 4 personas, 21 questions)."""


def aligned_shares(answers: pd.DataFrame, by: Sequence[str] = tuple(CELL)) -> pd.DataFrame:
    """A row a cell: answers (asked for), judged, missing, aligned, share (of those judged; NaN when none is), people (of whom an
    answer was judged) and the 95% interval of the share over people, low to high: the answers of one person are one person's.
    """
    rows = [dict(zip(by, key, strict=True)) | _row(part) for key, part in answers.groupby(list(by), sort=False)]
    return pd.DataFrame(
        rows, columns=[*by, "answers", "judged", "missing", "aligned", "share", "people", "low", "high"]
    )


def pooled_share(answers: pd.DataFrame) -> pd.DataFrame:
    """Shares by set, party and model over the variants of the study's published baseline: none and the three ages."""
    return aligned_shares(answers[answers["variant"].isin(POOLED)], ["personas", "party", "model"])


def _row(part: pd.DataFrame) -> dict[str, Any]:
    known = part[part["verdict"] != ""]
    by_person = (known["verdict"] == ALIGNED).groupby([known["party"], known["name"]]).agg(["sum", "size"])
    hits, sizes = by_person.to_numpy(dtype=float).T
    low, high = clustered_share_interval(hits, sizes)
    judged, aligned = len(known), int(hits.sum())
    share = aligned / judged if judged else float("nan")
    counts = {"answers": len(part), "judged": judged, "missing": len(part) - judged, "aligned": aligned}
    return {**counts, "share": share, "people": len(by_person), "low": low, "high": high}
