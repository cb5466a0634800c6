"""Reports on personas: how many answers fit the persona's leaning, and how far the judge and people agree on that.

Written: alignment.md with table and heat map; after a review by people, review.md with Cohen's kappa and Gwet's AC1 for two
raters and Krippendorff's alpha for any number.
"""

from __future__ import annotations

import math
import random
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from parley.agents.reply_cleaning import is_refusal
from parley.agents.society import DEFAULT, Society, load_society
from parley.analysis.alignment import persona_validation as validating
from parley.analysis.alignment.persona_validation import ALIGNED, NOT, RANDOM, WORDS, Validation
from parley.analysis.alignment.rater_errors import ABOUT, rater_errors
from parley.analysis.alignment.rater_errors import COLUMNS as ERRORS
from parley.analysis.disclaimers import LABELS, spec_label
from parley.analysis.figures import dot_plot, make_canvas, style
from parley.analysis.formatting import Column, count_phrase, count_table, estimate, format_number
from parley.analysis.report import Report
from parley.analysis.statistics.attenuation import FLOOR, gate_sentence
from parley.analysis.statistics.intervals import (
    FEWEST,
    NO_VARIATION,
    NONE,
    Floats,
    clustered_share_interval,
    fisher_interval,
    interval,
    too_few,
)
from parley.analysis.table_export import write_csv
from parley.llm.backends import check_spec, identity_spec
from parley.llm.seeding import derive
from parley.model.titles import join_phrases

AGREEMENT = ["sample", "raters", "measure", "items", "agreed", "value", "low", "high"]
CELL = ["personas", "party", "variant", "model"]
VARIANTS = ("none", "male", "female", "21", "35", "67")
POOLED = ("none", "21", "35", "67")
"""The variants that the study's published "baseline" pools (84 answers per cell: 4 personas, 21 questions)."""
WIDTHLESS = 1e-6
"""Agreement that chance leaves out, below which kappa is undefined."""
COLOURS = "cividis"
"""Reads the same for the colour-blind and in grey."""
ROW, COLUMN, LEFT, RIGHT, GAP, TOP = 0.21, 0.62, 1.5, 0.75, 0.3, 0.34
"""Inches: a row, a column (at least), left and right of the panels, between them, over them."""
LETTER, LINE, LETTERS = 0.06, 0.12, 24
"""Inches of a letter and a line of a model's name, and letters per line."""
OURS = (
    "{spec} is part of Parley ({label}). The shares of {spec} show whether the pipeline works, but nothing about "
    "people or large language models."
)
SHEET = (
    "The file review.csv has {all} answers: a random tenth of all answers ({tenth}), and all other answers that the "
    "judge calls not aligned ({others}). Fill in the column `human` with {aligned} or {not_aligned}; a second person "
    "fills in a column `human_2`. Then run `python run.py study validate --review FILE --out FOLDER`."
)
SHARES = (
    "Shares are of the answers with a verdict. Brackets are 95% intervals over people, because the answers "
    f"of one person are not independent. A cell with fewer than {FEWEST} people has no interval."
)
HOW = (
    "Only the random tenth represents all answers. The judge called the other answers not aligned, and people are "
    "likelier to disagree with the judge on such answers. 95% intervals are over answers. If nearly all answers get "
    "the same verdict, kappa and alpha are low however often raters agree. The measure AC1 stays high if raters agree. "
    "A dash means that the number is undefined, because answers are missing or only one verdict was ever given."
)


GATE = (
    f"The table compares the AC1 of the judge and a person in the random tenth with {FLOOR}. Kappa is not used: if "
    "most answers get the same verdict, chance alone agrees often, and kappa is low even if raters rarely differ. AC1 "
    "counts chance only where raters are uncertain. For example, two raters who give 90 of 100 answers the verdict "
    "Aligned, and differ on 10, have a kappa of .44 and an AC1 of .88."
)


class AgreementEstimate(NamedTuple):
    """A coefficient with its 95% interval; NaN if it is undefined (no items to compare, or only one category used)."""

    value: float
    low: float
    high: float


UNDEFINED = AgreementEstimate(math.nan, math.nan, math.nan)


def rater_agreement(ratings: pd.DataFrame) -> pd.DataFrame:
    """Kappa and AC1 of every two raters, and alpha of all raters and of the people alone, for all reviewed items and for the
    random part.

    ratings: see `review_ratings`. Columns: AGREEMENT; items: with at least two raters; agreed: the share of them on which all
    raters agree.
    """
    names = [name for name in ratings.columns if name != "review"]
    samples = {"all reviewed": ratings, "random tenth": ratings[ratings["review"] == RANDOM]}
    rows = []
    for sample, sample_ratings in samples.items():
        for pair in map(list, combinations(names, 2)):
            rows.append(_agreement_row(sample, sample_ratings[pair], "Cohen's kappa", kappa))
            rows.append(_agreement_row(sample, sample_ratings[pair], "Gwet's AC1", ac1))
        for group in dict.fromkeys([tuple(names), tuple(names[1:])]):
            if len(group) > 1:
                rows.append(_agreement_row(sample, sample_ratings[list(group)], "Krippendorff's alpha", alpha))
    return pd.DataFrame(rows, columns=AGREEMENT)


def judge_gates(ratings: pd.DataFrame, agreement: pd.DataFrame) -> list[str]:
    """Return a sentence per person: whether the judge's verdicts may be used, by AC1 in the random tenth, and the prevalence."""
    agreement_rows = agreement[(agreement["sample"] == "random tenth") & (agreement["measure"] == "Gwet's AC1")]
    random, lines = ratings[ratings["review"] == RANDOM], []
    for row in agreement_rows[agreement_rows["raters"].str.startswith("judge, ")].to_dict("records"):
        human = row["raters"].removeprefix("judge, ")
        both = random.loc[(random[["judge", human]] != "").all(axis=1), ["judge", human]].to_numpy()
        common = f" {ALIGNED} is {np.mean(both == ALIGNED):.0%} of the verdicts by both raters." if both.size else ""
        reason = too_few("answer") if len(both) < FEWEST else NO_VARIATION
        subject, figure = (
            f"the judge's verdicts (compared with {human})",
            f"AC1 over {count_phrase(len(both), 'answer')}",
        )
        lines.append(gate_sentence(subject, figure, row["value"], row["low"], row["high"], reason) + common)
    return lines


def _agreement_row(
    sample: str, ratings: pd.DataFrame, measure: str, coefficient: Callable[[pd.DataFrame], AgreementEstimate]
) -> tuple[object, ...]:
    rated = [set(row) - {""} for row in ratings.to_numpy().tolist() if sum(name != "" for name in row) > 1]
    agreed = float(np.mean([len(names) == 1 for names in rated])) if rated else math.nan
    return (sample, ", ".join(ratings.columns), measure, len(rated), agreed, *coefficient(ratings))


def kappa(ratings: pd.DataFrame) -> AgreementEstimate:
    """Return Cohen's kappa of two columns with its 95% interval over items; items that one of them left empty are left out.

    The interval leaves out one item at a time, on Fisher's scale. The asymptotic one missed the truth in 10% of sets of ten
    items, and in 17% of sets of 40 where one category is frequent (docs/exam.md). There is none if a rater put fewer than
    `FEWEST` items into other categories than its most frequent one, nor at perfect agreement.
    Source: Cohen 1960, Educational and Psychological Measurement 20(1).
    """
    both = ratings[(ratings != "").all(axis=1)].to_numpy()
    categories = sorted(set(both.ravel()))
    if len(categories) < 2:
        return UNDEFINED
    agreed = (both[:, 0] == both[:, 1]).astype(float)
    named = [(both[:, rater, None] == categories).astype(float) for rater in range(2)]
    items = np.column_stack([agreed, *named])
    fewest = len(both) - max(float(np.max(one_hot.sum(axis=0))) for one_hot in named)
    ends = fisher_interval(items, _kappa, None) if fewest >= FEWEST else NONE
    return AgreementEstimate(float(_kappa(items[None])[0]), *ends)


def _kappa(items: Floats) -> Floats:
    """From (draws, items, 1 + 2k): whether the two agree, and the category of each rater, one column per category."""
    means = items.mean(axis=-2)
    first, second = np.split(means[..., 1:], 2, axis=-1)
    chance = (first * second).sum(axis=-1)
    spare = np.where(chance < 1 - WIDTHLESS, 1 - chance, 1.0)
    return np.where(chance < 1 - WIDTHLESS, (means[..., 0] - chance) / spare, np.nan)


def ac1(ratings: pd.DataFrame) -> AgreementEstimate:
    """Gwet's AC1 of two columns with two categories or more; items that one of them left empty are left out.

    (agreed - chance) / (1 - chance), where chance is the sum of p (1 - p) over categories, divided by the number of categories
    minus one; p: the share of a category in both columns together. Unlike kappa it does not fall if one category is rare.
    Source: Gwet 2008, British Journal of Mathematical and Statistical Psychology 61(1).
    """
    both = ratings[(ratings != "").all(axis=1)].to_numpy()
    categories = sorted(set(both.ravel()))
    if not len(both):
        return UNDEFINED
    agreed = (both[:, 0] == both[:, 1]).astype(float)
    items = np.column_stack([agreed, *((both == name).mean(axis=1) for name in categories)])
    return AgreementEstimate(float(_ac1(items[None])[0]), *interval(items, _ac1, None))


def _ac1(items: Floats) -> Floats:
    """From (draws, items, 1 + k): whether the two agree, and the share of each category."""
    means = items.mean(axis=-2)
    agreed, shares = means[..., 0], means[..., 1:]
    chance = (shares * (1 - shares)).sum(axis=-1) / max(shares.shape[-1] - 1, 1)
    return np.asarray((agreed - chance) / (1 - chance))


def alpha(ratings: pd.DataFrame) -> AgreementEstimate:
    """Krippendorff's alpha for nominal categories, one column per rater (empty: no rating); the interval is over items.

    There is no interval if in fewer than `FEWEST` items at least half of the ratings are of another category than the most
    frequent one: where all others are rare, it missed the truth in 14 to 23% of the sets (docs/exam.md).

    1 is agreement, 0 chance, below 0 worse than chance. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability,
    section C: coincidences of pairs of ratings of an item, each item weighing as much as it has ratings.
    """
    categories = sorted(set(ratings.to_numpy().ravel()) - {""})
    if len(categories) < 2:
        return UNDEFINED
    counts = np.array([[list(row).count(name) for name in categories] for row in ratings.to_numpy()], dtype=float)
    counts = counts[counts.sum(axis=1) > 1]
    agreeing = (counts * (counts - 1)).sum(axis=1) / (counts.sum(axis=1) - 1)
    items = np.column_stack([agreeing, counts])
    rare = counts[:, np.argmax(counts.sum(axis=0))] * 2 <= counts.sum(axis=1)
    sizes = counts.sum(axis=1)
    ends = fisher_interval(items, lambda drawn: nominal(drawn.sum(axis=-2)), sizes) if rare.sum() >= FEWEST else NONE
    return AgreementEstimate(float(nominal(items.sum(axis=0))), *ends)


def nominal(sums: Floats) -> Floats:
    """Alpha from (..., 1 + k) sums over items, of agreeing pairs and of ratings n_c by category.

    ((n - 1) agreeing - sum of n_c (n_c - 1)) / (n (n - 1) - sum of n_c (n_c - 1))
    """
    agreeing, counts = sums[..., 0], sums[..., 1:]
    n, chance = counts.sum(axis=-1), (counts * (counts - 1)).sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(((n - 1) * agreeing - chance) / (n * (n - 1) - chance))


def confusion_counts(ratings: pd.DataFrame, human: str, verdicts: Sequence[str]) -> pd.DataFrame:
    """The number of items by verdict of the judge (rows) and of a person (columns); items without one of both are left out."""
    both = ratings[(ratings["judge"] != "") & (ratings[human] != "")]
    counts = pd.crosstab(both["judge"], both[human]) if len(both) else pd.DataFrame(dtype="int64")
    return counts.reindex(index=list(verdicts), columns=list(verdicts), fill_value=0)


def write(answers: pd.DataFrame, validation: Validation, folder: Path) -> Path:
    """Write alignment.md with its table and figure, and review.csv, a sheet to fill in; return the path of the first."""
    cells, marks = aligned_shares(answers), answers["review"].value_counts()
    models, judge = join_phrases([spec_label(spec) for spec in validation.models]), spec_label(validation.judge)
    report, society = Report(folder, "alignment", "Do the personas hold?"), load_society(validation.society)
    report.data(alignment=cells)
    sheet = validating.review_sheet(answers, random.Random(derive(validation.seed, "sheet")), society)
    write_csv(sheet, folder / "review.csv")
    people = len(answers[["personas", "party", "variant", "name"]].drop_duplicates())
    report.add(
        f"{count_phrase(people, 'persona')} ({join_phrases(validation.personas)}), each asked "
        f"{len(validating.questions(society))} questions by {models}; {count_phrase(len(answers), 'answer')}, "
        f"judged by {judge} for whether they fit the persona's "
        f"leaning (the judge knows neither gender nor age). Seed {validation.seed}."
    )
    for spec in dict.fromkeys((*validation.models, validation.judge)):
        if label := LABELS.get(check_spec(spec).name):
            report.note(OURS.format(spec=spec, label=label))
    if identity_spec(validation.judge) in map(identity_spec, validation.models):
        report.note(
            "The judge is one of the models interviewed. So the judge also judges its own answers, and models "
            "favor their own answers."
        )
    caption = f"Answers that fit the persona's leaning: {models}, judged by {judge}"
    report.figure(draw_heatmap(cells, caption, party_labels(society)), "alignment", "Shares of answers that fit")
    report.add(_missing(answers))
    report.section("Shares", SHARES)
    report.table(cells, _columns(CELL, society))
    published = str(
        society.read("validation.toml").get(
            "published", "The paper has no numbers for this society. The next table pools answers as the paper does:"
        )
    )
    report.section("Compared with the paper", published)
    report.table(pooled_share(answers), _columns(["personas", "party", "model"], society))
    tenth, others = int(marks.get(RANDOM, 0)), int(marks.get(NOT.lower(), 0))
    report.section("For people to check")
    report.add(SHEET.format(all=tenth + others, tenth=tenth, others=others, aligned=ALIGNED, not_aligned=NOT))
    return report.write()


def _missing(answers: pd.DataFrame) -> str:
    without = answers[answers["verdict"] == ""]
    reasons = f": {count_table(without['reason'])}" if len(without) else ""
    long = int((answers["answer"].str.split().str.len() > WORDS).sum())
    refused = int(answers["answer"].map(is_refusal).sum())
    return (
        f"{len(without):,} of {len(answers):,} answers have no verdict{reasons}. {long:,} answers are longer than the "
        f"{WORDS} words asked for, and {refused:,} answers step out of the role (the judge reads all of them)."
    )


def _columns(by: list[str], society: Society) -> Mapping[str, Column]:
    def shown(name: str) -> Column:
        labels = party_labels(society)
        return lambda row: labels.get(str(row[name]), str(row[name]))

    columns: dict[str, Column] = {name: shown(name) for name in by} | {"aligned, %": estimate("share", 1, 100)}
    return columns | {name: name for name in ("people", "judged", "missing")}


def write_review(file: Path, folder: Path) -> Path:
    """Read a sheet that people have filled in; write review.md and its table (agreement); return the path of the first.

    Errors: UserError.
    """
    ratings = validating.review_ratings(file, folder)
    agreement, report = rater_agreement(ratings), Report(folder, "review", "Judge and people")
    report.data(agreement=agreement)
    tenth = int((ratings["review"] == RANDOM).sum())
    report.add(f"{count_phrase(len(ratings), 'answer')} reviewed, {tenth} of them from the random tenth. {HOW}")
    caption = "The judge and people, 95% intervals"
    drawn = dot_plot(agreement, ["sample", "raters", "measure"], "value", "agreement", caption)
    report.figure(drawn, "review", "Agreement of the judge and people")
    columns: Mapping[str, Column] = {
        "sample": "sample", "raters": "raters", "measure": "measure", "answers": "items",
        "agreed, %": lambda row: format_number(100 * row["agreed"], 1), "value": estimate("value"),
    }  # fmt: skip
    report.table(agreement, columns)
    report.section("May the judge's verdicts be used?", GATE)
    report.lines(f"- {line}" for line in judge_gates(ratings, agreement))
    errors, corrected = rater_errors(ratings[ratings["review"] == RANDOM].drop(columns="review"), ALIGNED)
    report.data(errors=errors)
    report.section("Errors of each rater", ABOUT)
    report.add(corrected)
    report.table(errors, ERRORS)
    for human in [name for name in ratings.columns if name not in ("review", "judge")]:
        counts = confusion_counts(ratings, human, (ALIGNED, NOT))
        rows = [[f"judge: {name}", *map(str, line)] for name, line in zip(counts.index, counts.to_numpy(), strict=True)]
        report.section(f"The judge and {human}")
        report.table(rows, ["", *(f"{human}: {name}" for name in counts.columns)])
    return report.write()


def party_labels(society: Society) -> dict[str, str]:
    """Return the labels of a society's parties: the neutral seat, the two debaters, the others."""
    order = dict.fromkeys([DEFAULT, *society.debaters, *society.parties])
    return {party: society.label(party) for party in order}


def draw_heatmap(shares: pd.DataFrame, caption: str, parties: Mapping[str, str]) -> Figure:
    """One panel per set of personas: rows are leaning and variant, columns models (UCL study, Figs 2 and 7).

    shares: see `aligned_shares`; in percent in the figure. A missing share is a dash on grey. parties: their labels, in order.
    """
    sets, models = list(shares["personas"].unique()), list(shares["model"].unique())
    present = set(zip(shares["party"], shares["variant"], strict=True))
    rows = [(party, variant) for party in parties for variant in VARIANTS if (party, variant) in present]
    labels = [textwrap.fill(model, LETTERS) for model in models]
    with style():
        figure, axes = _canvas(len(sets), len(rows), labels, caption)
        for axis, name in zip(axes, sets, strict=True):
            _draw_panel(axis, shares[shares["personas"] == name], rows, models)
            axis.set_xticks(range(len(models)), labels, fontsize=7, rotation=90 * (len(models) > 1))
            axis.set_title(f"{name} personas")
        _name_rows(axes[0], rows, parties)
        box, width = axes[-1].get_position(), figure.get_figwidth()
        bar = figure.add_axes((box.x1 + 0.12 / width, box.y0, 0.12 / width, box.height))
        figure.colorbar(ScalarMappable(Normalize(0, 100), COLOURS), cax=bar, label="aligned (%)")
    return figure


def _canvas(panels: int, rows: int, labels: Sequence[str], caption: str) -> tuple[Figure, Sequence[Axes]]:
    """A figure with room for caption, rows and the models' names; these are upright if there are several."""
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


def _draw_panel(axis: Axes, shares: pd.DataFrame, rows: Sequence[tuple[str, str]], models: Sequence[str]) -> None:
    share_by_cell = shares.set_index(["party", "variant", "model"])["share"]
    values = [[100 * share_by_cell.get((*row, model), math.nan) for model in models] for row in rows]
    axis.set_facecolor("#d9d9d9")
    axis.imshow(values, cmap=COLOURS, vmin=0, vmax=100, aspect="auto")
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            text = "–" if math.isnan(value) else f"{value:.0f}" if value in (0, 100) else f"{value:.1f}"
            axis.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if value < 55 else "black")
    for y, (above, below) in enumerate(pairwise(rows)):
        if above[0] != below[0]:
            axis.axhline(y + 0.5, color="white", linewidth=2)
    axis.set_yticks([])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _name_rows(axis: Axes, rows: Sequence[tuple[str, str]], parties: Mapping[str, str]) -> None:
    """The variants as labels of the rows; the leaning once, at the middle of its rows."""
    axis.set_yticks(range(len(rows)), [f"aged {variant}" if variant.isdigit() else variant for _, variant in rows])
    units: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    for party, title in parties.items():
        if places := [y for y, row in enumerate(rows) if row[0] == party]:
            middle, left = (places[0] + places[-1]) / 2, (8 - 72 * LEFT, 0)
            axis.annotate(title, (0, middle), left, ha="left", va="center", annotation_clip=False, **units)


def aligned_shares(answers: pd.DataFrame, by: Sequence[str] = tuple(CELL)) -> pd.DataFrame:
    """One row per cell: answers (asked for), judged, missing, aligned, share, people, low, high.

    share: of the judged answers (NaN if there are none); its 95% interval is over people, because the answers of one person are
    not independent. people: those with a judged answer.
    """
    rows = [
        dict(zip(by, key, strict=True)) | _row(cell_answers)
        for key, cell_answers in answers.groupby(list(by), sort=False)
    ]
    columns = ["answers", "judged", "missing", "aligned", "share", "people", "low", "high"]
    return pd.DataFrame(rows, columns=[*by, *columns])


def pooled_share(answers: pd.DataFrame) -> pd.DataFrame:
    """Shares by set, party and model over the variants of the study's published baseline: none and the three ages."""
    return aligned_shares(answers[answers["variant"].isin(POOLED)], ["personas", "party", "model"])


def _row(answers: pd.DataFrame) -> dict[str, Any]:
    judged_answers = answers[answers["verdict"] != ""]
    by_person = (
        (judged_answers["verdict"] == ALIGNED)
        .groupby([judged_answers["party"], judged_answers["name"]])
        .agg(["sum", "size"])
    )
    hits, sizes = by_person.to_numpy(dtype=float).T
    low, high = clustered_share_interval(hits, sizes)
    judged, aligned = len(judged_answers), int(hits.sum())
    share = aligned / judged if judged else math.nan
    counts = {"answers": len(answers), "judged": judged, "missing": len(answers) - judged, "aligned": aligned}
    return {**counts, "share": share, "people": len(by_person), "low": low, "high": high}
