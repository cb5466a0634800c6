"""The report of `run.py study raters`: scores and categories that several raters gave to the same items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis.alignment.rater_errors import rater_errors
from parley.analysis.deliberation.position_change import clustered_mean
from parley.analysis.formatting import Column, estimate, format_estimate, format_number
from parley.analysis.report import Report
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.crossed_ratings import Codes, CrossedRatings, fit_ratings, why_no_fit
from parley.analysis.statistics.intervals import why_few
from parley.analysis.statistics.random_raters import fit_random_raters, why_no_sample
from parley.analysis.table_files import read_table
from parley.analysis.unknown import unknown_sentence
from parley.llm.errors import UserError

ITEM, RATER, SCORE, CATEGORY, CLUSTER = "item", "rater", "score", "category", "cluster"
PAGE = "studies/raters/README.md"
READING = (
    "A score is the true value of its item, plus the severity of its rater, plus an error whose size is the rater's own. "
    "Severities are differences from the average rater. Reliability is the share of the variance of a rater's scores that is not "
    "error. Brackets are 95% intervals over {unit}, for the raters of the file."
)
APART = (
    "Items count as independent. If some items belong together, such as the texts of one debate, the intervals are too narrow: "
    "add a column `cluster` with the name of the debate."
)
IN_GENERAL = (
    "This section estimates what other raters would give, if the raters of the file are a random sample of raters. The "
    "section uses the items that every rater scored. Brackets are 95% intervals over items and raters."
)
COLUMNS: Mapping[str, Column] = {
    "rater": "rater", "items": "items", "mean score": lambda row: format_number(row["mean"]), "severity": estimate("severity"),
    "error, SD": estimate("error"), "reliability": estimate("reliability"),
}  # fmt: skip
ERRORS: Mapping[str, Column] = {"rater": "rater", "items": "items", "not the true category": estimate("wrong")}


def read_ratings(path: Path) -> pd.DataFrame:
    """Return the rows: item, rater, and score (NaN: none), category ("": none), or both; perhaps cluster. Errors: UserError."""
    table = read_table(path, (ITEM, RATER), PAGE, filled=(ITEM, RATER), numbers=(SCORE,))
    if not {SCORE, CATEGORY} & set(table.columns):
        raise UserError(f"{path} needs a column score (numbers) or category (names) ({PAGE})")
    if (twice := table[[ITEM, RATER]].duplicated()).any():
        item, rater = table.loc[twice, [ITEM, RATER]].iloc[0]
        raise UserError(f"{path}: rater {rater} has two rows for item {item}; give one row for each item and rater")
    return table.reset_index(drop=True)


def write_raters(table: pd.DataFrame, folder: Path) -> Path:
    """Write raters.md and its tables (raters, items, errors); return the path of the page."""
    report = Report(folder, "raters", "Raters of the same items")
    report.add(f"{table[ITEM].nunique():,} items, {table[RATER].nunique():,} raters, {len(table):,} rows.")
    if SCORE in table.columns:
        _add_scores(report, table)
    if CATEGORY in table.columns:
        _add_categories(report, table)
    return report.write()


def _add_scores(report: Report, table: pd.DataFrame) -> None:
    scored = table.dropna(subset=[SCORE])
    together = CLUSTER in table.columns
    report.section(
        "Scores", READING.format(unit="clusters" if together else "items") + ("" if together else f" {APART}")
    )
    report.missing(len(table) - len(scored), len(table), "rows have no score", "")
    wide = scored.pivot(index=ITEM, columns=RATER, values=SCORE)
    scores = wide.to_numpy(dtype=float)
    clusters = clusters_of(scored, wide.index)
    reason = why_no_fit(scores)
    fit = None if reason else fit_ratings(scores, clusters)
    rows = rater_rows(wide, fit)
    report.data(raters=rows)
    report.lines(f"- {line}" for line in score_lines(scores, fit, reason, clusters))
    report.table(rows, COLUMNS)
    if fit:
        report.data(items=pd.DataFrame({ITEM: wide.index, "scores": np.isfinite(scores).sum(axis=1),
                                        "mean": np.nanmean(scores, axis=1), "corrected": fit.items}))  # fmt: skip
    report.section("Raters in general", IN_GENERAL)
    report.lines(f"- {line}" for line in general_lines(scores, together))


def rater_rows(wide: pd.DataFrame, fit: CrossedRatings | None) -> pd.DataFrame:
    """Return a row per rater: rater, items, mean, and severity, error, reliability with intervals (NaN without a fit)."""
    rows = pd.DataFrame({RATER: wide.columns, "items": wide.notna().sum().to_numpy(), "mean": wide.mean().to_numpy()})
    raters = len(rows)
    for place, name in enumerate(("severity", "error", "reliability")):
        ends = np.array(fit.ends[1 + place * raters :][:raters]) if fit else np.full((raters, 2), np.nan)
        rows[name] = getattr(fit, name) if fit else np.nan
        rows[f"{name}_low"], rows[f"{name}_high"] = ends.T
    return rows


def clusters_of(table: pd.DataFrame, items: pd.Index) -> Codes | None:
    """Return which items belong together, by the column `cluster`; an item without a name there is a cluster of its own.

    None without that column. Errors: UserError for an item in two clusters.
    """
    if CLUSTER not in table.columns:
        return None
    named = table.assign(own=table[CLUSTER].where(table[CLUSTER] != "", "\0" + table[ITEM])).groupby(ITEM)["own"]
    if len(twice := named.nunique().loc[lambda count: count > 1]):
        raise UserError(f"item {twice.index[0]} has two clusters: give each item the same cluster in all its rows")
    return np.asarray(named.first().reindex(items).factorize()[0], dtype=np.int64)


def score_lines(
    scores: np.ndarray, fit: CrossedRatings | None, reason: str, clusters: Codes | None = None
) -> list[str]:
    """Return in sentences the corrected mean, the mean of all scores, and whether the scores may be used."""
    if fit is None:
        return [unknown_sentence("the corrected mean, and the error of each rater,", reason)]
    means = np.nanmean(scores, axis=1)
    units = np.arange(len(means)) if clusters is None else clusters
    plain_mean = clustered_mean(pd.Series(means), pd.Series(units))
    plain = format_estimate(plain_mean.value, plain_mean.low, plain_mean.high)
    single, many = fit.ends[-2:]
    few = "" if clusters is None else why_few(int(np.max(units)) + 1, "cluster", np.bincount(units).astype(float))
    return [
        *([f"Results have no intervals: {few}."] if few else []),
        f"The mean of the items is {format_estimate(fit.mean, *fit.ends[0])} by the average rater; uncorrected, it is {plain}.",
        gate_sentence("the score of one rater", "the intraclass correlation", fit.agreement, *single),
        gate_sentence("the mean of all raters", "the intraclass correlation", fit.agreement_of_means, *many),
    ]


def general_lines(scores: np.ndarray, together: bool = False) -> list[str]:
    """Return in sentences what raters in general would give, of scores (items, raters), NaN where a rater gave none.

    together: items come in clusters, so that they are not independent.
    """
    if (
        reason := "the interval needs independent items, and these items come in clusters"
        if together
        else why_no_sample(scores)
    ):
        return [unknown_sentence("what other raters would give", reason)]
    fit = fit_random_raters(scores)
    mean, severity = (format_estimate(estimate.value, *estimate.ends) for estimate in (fit.mean, fit.severity))
    figures = f"the intraclass correlation over {fit.items} items"
    return [
        f"The mean of the items is {mean} by raters in general; the standard deviation of severities is {severity}.",
        gate_sentence("the score of another rater", figures, fit.agreement.value, *fit.agreement.ends),
        gate_sentence(
            f"the mean of {fit.raters} other raters",
            figures,
            fit.agreement_of_means.value,
            *fit.agreement_of_means.ends,
        ),
    ]


def _add_categories(report: Report, table: pd.DataFrame) -> None:
    wide = table.pivot(index=ITEM, columns=RATER, values=CATEGORY).fillna("")
    names = sorted(set(table[CATEGORY]) - {""})
    about = (
        "Dawid and Skene's model: each item has one true category, and each rater errs independently of the others. If all "
        "raters make a mistake, the model takes the mistake for the truth. Brackets are 95% intervals."
    )
    report.section("Categories", about)
    report.missing(int((table[CATEGORY] == "").sum()), len(table), "rows have no category", "")
    if not (errors_by_name := [rater_errors(wide, name) for name in names]):
        report.add("The shares of categories are unknown, because no row has a category.")
        return
    report.data(errors=errors_by_name[0][0].drop(columns="gave"))
    report.lines(f"- {sentence}" for _, sentence in errors_by_name)
    report.table(errors_by_name[0][0], ERRORS)
