"""Raters with errors (`run.py study validate --review`): a published table is found again, planted shares are covered, few raters
give no number, and a gate has three outcomes.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from parley.analysis.alignment.persona_validation import ALIGNED, NOT
from parley.analysis.alignment.rater_errors import rater_errors
from parley.analysis.alignment.report import ac1, judge_gates, kappa, rater_agreement
from parley.analysis.judge_quality import doubt
from parley.analysis.statistics.attenuation import gate_sentence
from parley.analysis.statistics.latent_class import class_intervals, fit_classes, wrong_codes

PATIENTS = """
111 1 1 1 1|333 4 3 3 4|112 2 1 2 2|222 3 1 2 1|222 3 2 2 2|222 3 3 2 2|122 2 1 1 1|333 3 4 3 3|222 2 2 2 3|232 2 2 2 3|
444 4 4 4 4|222 3 3 4 3|111 1 1 1 1|222 3 2 1 2|121 1 1 1 1|111 2 1 1 1|111 1 1 1 1|111 1 1 1 1|222 2 2 2 1|222 1 3 2 2|
222 2 2 2 2|222 2 2 2 1|222 3 2 2 2|221 2 2 2 2|111 1 1 1 1|111 1 1 1 1|232 2 2 2 2|111 1 1 1 1|111 1 1 1 1|112 1 1 2 1|
111 1 1 1 1|333 3 2 3 3|111 1 1 1 1|222 2 2 2 2|222 3 2 3 2|433 4 3 4 3|221 2 2 3 2|232 3 2 3 3|333 3 4 3 2|111 1 1 1 1|
111 1 1 1 1|121 2 1 1 1|232 2 2 2 2|121 1 1 1 1|222 2 2 2 2"""
"""Dawid and Skene 1979, Table 1: 45 patients, five anaesthetists, the first three times."""


def patient_counts() -> np.ndarray:
    counts = np.zeros((45, 5, 4))
    for patient, line in enumerate(PATIENTS.split("|")):
        for rater, codes in enumerate(line.split()):
            for code in codes:
                counts[patient, rater, int(code) - 1] += 1
    return counts


def draw(
    random: np.random.Generator, items: int, wrong: tuple[float, ...], share: float, missing: float = 0.0
) -> pd.DataFrame:
    """Verdicts of raters who are wrong with these probabilities, where a share of the items is truly aligned."""
    truth = random.random(items) < share
    columns = {}
    for place, own in enumerate(wrong):
        said = truth ^ (random.random(items) < own)
        words = np.where(said, ALIGNED, NOT)
        columns[f"rater{place}"] = np.where(random.random(items) < missing, "", words)
    return pd.DataFrame(columns)


def test_the_published_table_is_found_again() -> None:
    """The paper has shares of .40, .42, .11 and .07, and for the first observer these error rates."""
    fit = fit_classes(patient_counts(), smoothing=0.0)
    assert fit.shares.round(2).tolist() == [0.4, 0.42, 0.11, 0.07]
    assert fit.errors[0].round(2).tolist() == [
        [0.89, 0.11, 0.0, 0.0], [0.07, 0.88, 0.05, 0.0], [0.0, 0.34, 0.66, 0.0], [0.0, 0.0, 0.56, 0.44],
    ]  # fmt: skip


def test_planted_errors_and_shares_are_covered() -> None:
    """The raw share of .3 is .38 with these raters; a correction that leaves it there would be none."""
    random, held, wrong, found, raw = np.random.default_rng(0), 0, 0, [], []
    for _ in range(20):
        table = draw(random, 150, (0.1, 0.2, 0.25), 0.3, 0.1)
        counts = np.array(
            [[[text == word for word in (ALIGNED, NOT)] for text in line] for line in table.to_numpy()], float
        )
        counts = counts[counts.sum(axis=(1, 2)) > 0]
        fit = fit_classes(counts)
        low, high = class_intervals(counts, fit, lambda one: one.shares[:1])[0]
        held += low <= 0.3 <= high
        low, high = class_intervals(counts, fit, wrong_codes)[1]
        wrong += low <= 0.2 <= high
        found.append(fit.shares[0])
        raw.append(float((table == ALIGNED).sum().sum() / (table != "").sum().sum()))
    assert held >= 16
    assert wrong >= 16
    assert np.mean(found) == pytest.approx(0.3, abs=0.03)
    assert np.mean(raw) > 0.36


def test_few_raters_and_one_verdict_give_no_share() -> None:
    """Two raters cannot say which of them is wrong."""
    random = np.random.default_rng(1)
    rows, said = rater_errors(draw(random, 100, (0.1, 0.2), 0.5), ALIGNED)
    needs = "the correction needs 3 raters (a judge counts as one) of 20 or more answers"
    assert said == f"The corrected share of {ALIGNED} is unknown, because {needs}."
    assert rows["wrong"].isna().all()
    assert "unknown" in rater_errors(draw(random, 10, (0.1, 0.2, 0.1), 0.5), ALIGNED)[1]
    assert "only one verdict" in rater_errors(draw(random, 40, (0.0, 0.0, 0.0), 1.0), ALIGNED)[1]
    rows, said = rater_errors(draw(random, 400, (0.02, 0.1, 0.3), 0.6), ALIGNED)
    assert "Corrected for the errors of all raters" in said
    assert (rows["wrong_low"].to_numpy() <= [0.02, 0.1, 0.3]).all()
    assert (rows["wrong_high"].to_numpy() >= [0.02, 0.1, 0.3]).all()


def test_a_rater_of_few_answers_has_no_error() -> None:
    """A fourth rater who judged two answers has no error rate; the others keep theirs."""
    ratings = draw(np.random.default_rng(2), 60, (0.1, 0.1, 0.1, 0.1), 0.5)
    ratings.loc[2:, "rater3"] = ""
    rows = rater_errors(ratings, ALIGNED)[0]
    assert rows["wrong"].isna().tolist() == rows["wrong_high"].isna().tolist() == [False, False, False, True]


def test_a_gate_has_three_outcomes() -> None:
    """A point estimate of .75 with an interval from .5 does not show that a judge is good."""
    assert (
        gate_sentence("the codes", "r", 0.8, 0.72, 0.9)
        == "The codes may be used: r is 0.80 (0.72 to 0.90), at least 0.7."
    )
    assert (
        gate_sentence("the codes", "r", 0.4, 0.2, 0.6)
        == "**Do not use the codes**: r is 0.40 (0.20 to 0.60), below 0.7."
    )
    assert gate_sentence("the codes", "r", 0.75, 0.5, 0.9).startswith(
        "It is unknown whether the codes may be used, because r is 0.75"
    )
    assert gate_sentence("the codes", "r", math.nan, math.nan, math.nan, "one line").endswith("because one line.")
    rows = pd.DataFrame(
        {"topic": ["racism"] * 3, "r": [0.8, 0.9, 0.3], "r_low": [0.6, 0.8, 0.1], "r_high": [0.9, 0.95, 0.5]}
    )
    assert "because on" in doubt(rows)
    assert doubt(rows).count("(") == 1
    assert not doubt(rows[1:])


def test_rare_verdicts_lower_kappa_and_not_ac1() -> None:
    """By hand: 85 times both say Aligned, 5 times both not, 10 times they differ, 5 each way. Agreement .9, of both .9 Aligned.

    Kappa (.9 - .82) / .18 = .44; AC1 (.9 - .18) / .82 = .88.
    """
    read = pd.DataFrame(
        {"judge": [ALIGNED] * 90 + [NOT] * 10, "human": [ALIGNED] * 85 + [NOT] * 5 + [ALIGNED] * 5 + [NOT] * 5}
    )
    assert kappa(read).value == pytest.approx(0.08 / 0.18)
    assert ac1(read).value == pytest.approx(0.72 / 0.82)
    ratings = read.assign(review="random")
    line = judge_gates(ratings, rater_agreement(ratings))
    assert line[0].startswith("The judge's verdicts (compared with human) may be used: AC1 over 100 answers is 0.88 (")
    assert line[0].endswith("Aligned is 90% of the verdicts by both raters.")
    few = ratings[:3]
    assert "fewer than 5 answers" in judge_gates(few, rater_agreement(few))[0]
