"""Do personas answer a survey question as different people or with one voice, and does the order of the answers matter?

Every persona answers outside of any debate, many times at temperature 1, with the answers listed from low to high, from high to
low, and shuffled. Park, Schoenegger and Zhu 2024 (Behavior Research Methods 56) found that a model gave one "correct" answer with
almost no variance, and other answers in the reversed order. A survey at temperature 0 would hide both. The unit is the persona.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import SHARE
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.studies.questionnaire import ORDERS, Condition, Item, Questionnaire

GIVEN, *OTHERS = ("given", "reversed", "shuffled")
CONDITIONS = tuple(Condition(name, order=name) for name in (GIVEN, *OTHERS))


def attitudes(answers: pd.DataFrame, items: Sequence[Item]) -> pd.DataFrame:
    """Return the answers with `attitude`: the rating itself (0-10; no mean of a distribution, which would not vary)."""
    probes = {item.name: item.probe for item in items}
    pairs = zip(answers["question"], answers["rating"], strict=True)
    values = [math.nan if math.isnan(rating) else probes[name].attitude(rating) for name, rating in pairs]
    return answers.assign(attitude=pd.Series(values, answers.index, dtype=float))


def spread(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row per question and order of the answers.

    people, answers, missing; mean and sd of all answers (0-10); within (mean variance of a person's answers); between (variance
    of people's own levels: that of their means minus within / answers each, at least 0); mode (rating), and its share of all
    answers with its interval over people; fixed (share of people who always give the same answer).
    """
    parts = answers.groupby(["question", "condition"], sort=False)
    return pd.DataFrame(
        [{"question": question, "order": order, **_spread(group_answers)} for (question, order), group_answers in parts]
    )


def _spread(answers: pd.DataFrame) -> dict[str, float]:
    rated = answers.dropna(subset=["attitude"])
    people = rated.groupby("person")["attitude"]
    counts = {"people": rated["person"].nunique(), "answers": len(rated), "missing": len(answers) - len(rated)}
    if rated.empty:
        return counts
    several = people.count() > 1
    within = float(people.var(ddof=1)[several].mean())
    noise = float((within / people.count()).mean())
    mode = float(rated["rating"].mode().iloc[0])
    shares = (rated["rating"] == mode).groupby(rated["person"]).mean().to_numpy(dtype=float)
    return counts | {
        "mean": float(rated["attitude"].mean()), "sd": float(rated["attitude"].std(ddof=1)), "within": within,
        "between": max(float(people.mean().var(ddof=1)) - noise, 0.0), "mode": mode, **mean_row(shares, "share", "share_", SHARE),
        "fixed": float((people.nunique()[several] == 1).mean()),
    }  # fmt: skip


def order_effects(answers: pd.DataFrame) -> pd.DataFrame:
    """Return one row per question, each for reversed and shuffled.

    people (with answers in both orders); effect (points of 0-10 by which their mean answer is higher than in the given order)
    with its interval over people; moved (mean size of a person's difference).
    """
    rows = []
    for question, question_answers in answers.groupby("question", sort=False):
        wide = (
            question_answers.groupby(["person", "condition"])["attitude"]
            .mean()
            .unstack()
            .reindex(columns=[GIVEN, *OTHERS])
        )
        for order in OTHERS:
            differences = (wide[order] - wide[GIVEN]).dropna().to_numpy(dtype=float)
            moved = float(np.abs(differences).mean()) if len(differences) else np.nan
            row = {"question": question, "order": order, "people": len(differences)}
            rows.append({**row, **mean_row(differences, "effect"), "moved": moved})
    return pd.DataFrame(rows)


def write_orders(answers: pd.DataFrame, questionnaire: Questionnaire, spec: str, folder: Path) -> Path:
    """Write orders.md, its tables (spread, orders) and its figure; return the path of the page."""
    rated = attitudes(answers, questionnaire.items)
    spreads, orders = spread(rated), order_effects(rated)
    report = Report(folder, ORDERS, "Survey questions with their answers in three orders")
    report.data(spread=spreads, orders=orders)
    report.lines(f"- **{item.name}**: {item.text}" for item in questionnaire.items)
    report.add(
        f"Model: {spec}. Each person answers {questionnaire.waves} times in each order, at temperature "
        f"{questionnaire.temperature}, outside of any debate. Variances and effects are in points of 0-10; "
        "brackets are 95% confidence intervals over people."
    )
    report.disclaim_models(spec)
    unread = answers["reason"][answers["rating"].isna()]
    report.missing(len(unread), len(answers), "answers are missing", count_table(unread))
    report.section("One voice or many?")
    report.table(spreads, SPREAD)
    effect = (
        "A person's mean answer with the answers listed in this order, minus the mean with the answers listed "
        "from low to high. The last column is above 0 by chance alone, because answers vary even if their order has no effect."
    )
    report.section("Does the order matter?", effect)
    names, label = ["question", "order"], "effect of the order of the answers (points)"
    figure = dot_plot(orders, names, "effect", label, disclaimers.spec_label(spec))
    report.figure(figure, ORDERS, "Effect of the order of the answers")
    report.table(orders, ORDER)
    return report.write()


SPREAD: Mapping[str, Column] = {
    "question": "question", "answers listed": "order", "people": "people", "answers": "answers", "missing": "missing",
    "mean": "mean", "SD": "sd", "variance between people": "between", "within a person": "within", "commonest answer": "mode",
    "its share": estimate("share"), "people who never vary": "fixed",
}  # fmt: skip
ORDER: Mapping[str, Column] = {
    "question": "question", "answers listed": "order", "people": "people", "effect of the order": estimate("effect"),
    "mean size of a person's difference": "moved",
}  # fmt: skip
