"""Payoff scorers side by side on ratings that they have not seen.

A scorer has its scores on three lots of episodes: `fit` (where the straight line and the slope of wins are fitted), `people` (new
people on questions of the training) and `questions` (new people on new questions). The report is about the last two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.deliberation.episode import Episode
from parley.analysis.deliberation.position_change import ClusteredMean
from parley.analysis.figures import draw_points, new_figure
from parley.analysis.formatting import Column, count_phrase, estimate, format_estimate, format_number
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import ALIKE_OR_UNEVEN, FEWEST, Floats, too_few, with_interval
from parley.analysis.unknown import unknown_sentence
from parley.studies.representatives.payoff_measures import (
    BRIER,
    ERROR,
    GAIN,
    MEASURES,
    PERSON,
    STATEMENT,
    Line,
    calibrate_wins,
    compare_scorers,
    fit_line,
    measure_scorer,
    null_ranges,
    rating_table,
    score_table,
    values,
)
from parley.studies.representatives.payoffs import AGREEMENT

FIT, PEOPLE, QUESTIONS = "fit", "people", "questions"
CELLS = {PEOPLE: "New people, questions of the training", QUESTIONS: "New people, new questions"}
MEAN, OTHER = "mean rating", "self-report: rating of the other statement"
READING = (
    "The column **statement** says how often the statement that the participant rated better has the better score. The column "
    "**gain** compares two members of a group: how often does the score rise more from draft to revision for the member whose "
    "rating rises more? The column **person** says how often the member who rates a statement higher has the better score "
    "(ratings only). Guessing gives 0.5; a scorer that does not read the opinion has exactly 0.5 in **gain** and **person**. "
    "The column **error** has the mean distance from the rating, after a straight line fitted on other ratings. The column "
    "**brier** has the squared error of the predicted chance that the revision is rated higher. Brackets are 95% intervals over "
    "groups of participants."
)
COLUMNS: Mapping[str, Column] = {
    "scorer": "scorer", **{name: estimate(name, 3 if name == BRIER else 2) for name in MEASURES}, "ratings": "ratings",
    "missing": "missing",
}  # fmt: skip
WIN_COLUMNS: Mapping[str, Column] = {
    "predicted": "predicted", "observed": estimate("observed"), "pairs": "pairs", "groups": "groups",
}  # fmt: skip


class Scored(NamedTuple):
    """A scorer's rows (KEYS, rating, score) in each cell, what was fitted, and the measures that its scores allow."""

    rows: Mapping[str, pd.DataFrame]
    line: Line
    measures: Sequence[str] = MEASURES


class Trained(NamedTuple):
    """A trained model on the page: its name, and the measure that decides for its form."""

    name: str
    measure: str


def score_all(
    cells: Mapping[str, Sequence[Episode]], scorers: Mapping[str, tuple[Any, str]], seed: int, desk: CallDesk
) -> dict[str, Scored]:
    """Return every scorer on every cell, with the two that need no model. scorers: by name the scorer and the judge's spec."""
    tables = {cell: _rated(episodes) for cell, episodes in cells.items()}
    by_scorer = {}
    for name, (scorer, judge) in scorers.items():
        scores = {
            cell: score_table(table, cells[cell], scorer, judge, seed, desk, f"payoffs {name}, {cell}")
            for cell, table in tables.items()
        }
        measures = [measure for measure in MEASURES if measure != PERSON or scorer.UNIT == AGREEMENT]
        by_scorer[name] = _scored(tables, scores, measures)
    others = {cell: table["other"].to_numpy(float) for cell, table in tables.items()}
    by_scorer[OTHER] = _scored(
        tables, others, (PERSON, ERROR)
    )  # its differences between statements are the ratings', turned
    by_scorer[MEAN] = _scored(tables, {cell: np.zeros(len(table)) for cell, table in tables.items()}, MEASURES)
    return by_scorer


def _rated(episodes: Sequence[Episode]) -> pd.DataFrame:
    """Return the ratings of participants who wrote an opinion: the others can be scored by no model."""
    wrote = {
        (episode.id, voice.participant) for episode in episodes for voice in episode.voices if voice.opinion is not None
    }
    table = rating_table(episodes)
    keep = [key in wrote for key in zip(table["episode"], table["participant"], strict=True)]
    return table[keep].reset_index(drop=True)


def _scored(tables: Mapping[str, pd.DataFrame], scores: Mapping[str, Floats], measures: Sequence[str]) -> Scored:
    rows = {cell: table.assign(score=scores[cell]) for cell, table in tables.items()}
    return Scored(rows, fit_line(rows[FIT]), measures)


def measure_table(scored: Mapping[str, Scored], cell: str) -> pd.DataFrame:
    """Return a row per scorer: scorer, groups, ratings, missing, and each measure with low and high."""
    table_rows = []
    for name, scorer in scored.items():
        rows = scorer.rows[cell]
        groups, missing = rows["group"].nunique(), int(rows["score"].isna().sum())
        row: dict[str, Any] = {"scorer": name, "groups": groups, "ratings": len(rows), "missing": missing}
        for measure, mean in measure_scorer(rows, scorer.line, scorer.measures).items():
            row |= with_interval(measure, mean.value, (mean.low, mean.high))
        table_rows.append(row)
    return pd.DataFrame(table_rows)


def difference_table(scored: Mapping[str, Scored], trained: Sequence[Trained]) -> pd.DataFrame:
    """Return a row per cell, trained model, other scorer and measure: trained minus other on the same pairs or ratings.

    Columns: cell, trained, other, measure, value, low, high, n, clusters.
    """
    comparisons = []
    for cell in CELLS:
        for model in trained:
            mine = scored[model.name]
            for other, theirs in scored.items():
                for measure in (STATEMENT, GAIN, PERSON, ERROR) if other != model.name else ():
                    if measure in mine.measures and measure in theirs.measures:
                        tables = [values(scorer.rows[cell], measure, scorer.line) for scorer in (mine, theirs)]
                        comparisons.append((cell, model.name, other, measure, *compare_scorers(*tables)))
    return pd.DataFrame(
        comparisons, columns=["cell", "trained", "other", "measure", "value", "low", "high", "n", "clusters"]
    )


def sentence(trained: str, other: str, measure: str, mean: ClusteredMean) -> str:
    """Return whether the trained model beats another scorer, or why that is unknown.

    >>> sentence("trained", "judge", "error", ClusteredMean(-0.2, -0.3, -0.1, 40, 8))
    '**trained** beats **judge** in error: -0.20 (-0.30 to -0.10).'
    """
    names = f"**{trained}** {{}} **{other}** in {measure}"
    if not mean.n or math.isnan(mean.low):
        reason = (
            "no pairs that both have" if not mean.n else too_few("group") if mean.clusters < FEWEST else ALIKE_OR_UNEVEN
        )
        return unknown_sentence(f"whether {names.format('beats')}", reason)
    sign = -1 if measure in (ERROR, BRIER) else 1
    ends = sorted((sign * mean.low, sign * mean.high))
    verb = "beats" if ends[0] > 0 else "is worse than" if ends[1] < 0 else "does not beat"
    return f"{names.format(verb)}: {format_estimate(mean.value, mean.low, mean.high)}."


def sentences(differences: pd.DataFrame, trained: Sequence[Trained], cell: str) -> Iterator[str]:
    """Yield a line of a list per trained model and other scorer, on the main measure of its form."""
    for model in trained:
        rows = differences[(differences["cell"] == cell) & (differences["trained"] == model.name)]
        for row in rows[rows["measure"] == model.measure].itertuples():
            mean = ClusteredMean(row.value, row.low, row.high, row.n, row.clusters)
            yield f"- {sentence(model.name, row.other, model.measure, mean)}"


def calibration_figure(bins: Mapping[str, pd.DataFrame], caption: str) -> Figure:
    """Draw observed shares of wins by predicted ones, a line a model; on the diagonal a model is calibrated."""
    with new_figure(3.6, 3.4, caption, title="Predicted and observed shares of wins") as figure:
        axis = figure.subplots()
        axis.plot([0, 1], [0, 1], color="#999999", linewidth=0.6)
        for place, (name, table) in enumerate(bins.items()):
            look: Any = {
                "fmt": "os^v"[place % 4],
                "color": f"C{place}",
                "linestyle": "-",
                "linewidth": 0.8,
                "label": name,
            }
            draw_points(axis, table["predicted"], table, "observed", upright=True, **look)
        axis.set(xlabel="predicted share", ylabel="observed share", xlim=(-0.02, 1.02), ylim=(-0.05, 1.05))
        axis.legend(fontsize=6, loc="upper left")
    return figure


def write_payoffs(
    scored: Mapping[str, Scored], trained: Sequence[Trained], folder: Path, specs: Sequence[str], about: str, seed: int
) -> Path:
    """Write payoff.md with payoff_measures, payoff_differences and payoff_calibration; return the path of the page."""
    report = Report(folder, "payoff", "What a statement is worth to a participant: payoff models compared")
    report.disclaim_models(*specs)
    report.add(about, READING)
    measured = {cell: measure_table(scored, cell) for cell in CELLS}
    for cell, title in CELLS.items():
        rows = scored[MEAN].rows[cell]
        counts = f"{count_phrase(len(rows), 'rating')}, {count_phrase(rows['group'].nunique(), 'group')}."
        report.section(title, f"{rows['participant'].nunique()} participants, {counts}")
        report.table(measured[cell], COLUMNS)
    differences = difference_table(scored, trained)
    report.section(
        "Does the trained model add anything?",
        "Numbers are the trained model's minus the other scorer's, on new people and questions.",
    )
    report.lines(sentences(differences, trained, QUESTIONS))
    _add_calibration(report, scored, trained)
    _add_null(report, scored, trained, seed)
    report.data(
        payoff_measures=pd.concat([table.assign(cell=cell) for cell, table in measured.items()]),
        payoff_differences=differences,
        payoff_scores=pd.concat(
            [
                scorer.rows[cell].assign(scorer=name, cell=cell)
                for name, scorer in scored.items()
                for cell in scorer.rows
            ]
        ),
    )
    return report.write()


def _add_calibration(report: Report, scored: Mapping[str, Scored], trained: Sequence[Trained]) -> None:
    bins = {
        model.name: calibrate_wins(scored[model.name].rows[QUESTIONS], scored[model.name].line) for model in trained
    }
    report.section(
        "Calibration",
        "The table compares predicted and observed shares of participants who rate the revision higher than the draft, on new "
        "people and new questions. Participants with equal ratings are left out. The slope from score to log odds was fitted "
        "on other ratings.",
    )
    bins = {name: table for name, table in bins.items() if len(table)}
    if not bins:
        report.add("The calibration is unknown, because no participant rates the two statements differently.")
        return
    for name, table in bins.items():
        report.add(f"**{name}**, fitted slope {format_number(scored[name].line.slope)}:")
        report.table(table, WIN_COLUMNS)
    caption = "Bars: 95% intervals over groups, if there are 5 groups or more and values vary"
    report.figure(calibration_figure(bins, caption), "payoff_calibration", "Predicted and observed shares of wins")
    report.data(payoff_calibration=pd.concat([table.assign(scorer=name) for name, table in bins.items()]))


def _add_null(report: Report, scored: Mapping[str, Scored], trained: Sequence[Trained], seed: int) -> None:
    lines = []
    for model in trained:
        scorer = scored[model.name]
        measures = [measure for measure in (STATEMENT, GAIN) if measure in scorer.measures]
        ranges = null_ranges(scorer.rows[QUESTIONS], measures, seed)
        shown = ", ".join(
            f"{name} unknown (no pairs)" if math.isnan(low) else f"{name} {low:.2f} to {high:.2f}"
            for name, (low, high) in ranges.items()
        )
        lines.append(f"- {model.name}: {shown}")
    report.section(
        "Null",
        "The ranges hold 95% of 200 shuffles of each participant's ratings among the statements that the participant rated. The "
        "rows *labels shuffled* of the tables are models trained on shuffled ratings. A model trained on shuffled ratings can "
        "still learn which participants rate low in general. The measure *person* has no range, because participants keep their "
        "own ratings.",
    )
    report.lines(lines)
