"""Statistics of our own equal those of well-kept libraries in all digits: agreement, AUC, Brier, Bradley and Terry, Wilson."""

from __future__ import annotations

import choix
import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss, cohen_kappa_score, roc_auc_score

from parley.analysis.alignment import report
from parley.analysis.persuasion.bradley_terry import PRIOR_SD, score_messages
from parley.analysis.statistics.intervals import share_interval
from parley.studies.survey_prediction.measures import auc_within, measure
from parley.studies.truthfulness.measures import alpha as alpha_of_numbers


def test_agreement_is_that_of_scikit_learn_and_krippendorff() -> None:
    """Kappa of two raters; alpha of three with a fifth of the ratings missing, for categories and for numbers."""
    rng = np.random.default_rng(0)
    names, given = np.array(["a", "b", "c"]), rng.integers(0, 3, (40, 3))
    given[:, 1] = np.where(rng.random(40) < 0.6, given[:, 0], given[:, 1])
    lost = rng.random(given.shape) < 0.2
    lost[:, 0] = False
    both = pd.DataFrame(names[given[:, :2]])
    assert report.kappa(both).value == pytest.approx(cohen_kappa_score(both[0], both[1]))
    coded = np.where(lost, np.nan, given.astype(float))
    alpha = krippendorff.alpha(reliability_data=coded.T, level_of_measurement="nominal")
    assert report.alpha(pd.DataFrame(np.where(lost, "", names[given]))).value == pytest.approx(alpha)
    numbers = np.where(lost, np.nan, rng.normal(0, 1, (40, 1)) + rng.normal(0, 1, given.shape))
    alpha = krippendorff.alpha(reliability_data=numbers.T, level_of_measurement="interval")
    assert alpha_of_numbers(numbers)[0] == pytest.approx(alpha)


def test_predictions_are_scored_as_by_scikit_learn() -> None:
    """AUC with ties over all answers, its average over questions by ones times zeros, and the Brier score of people."""
    rng = np.random.default_rng(1)
    answers, there = rng.integers(0, 2, (12, 6)).astype(float), np.ones((12, 6), bool)
    guesses = np.round(rng.random((12, 6)), 1)
    row = measure(answers, guesses, there, np.ones(12))
    assert row["auc"] == pytest.approx(roc_auc_score(answers.ravel(), guesses.ravel()))
    assert row["brier"] == pytest.approx(brier_score_loss(answers.ravel(), guesses.ravel()))
    each = [roc_auc_score(answers[:, item], guesses[:, item]) for item in range(6)]
    people, items = np.nonzero(there)
    assert auc_within(answers.ravel(), guesses.ravel(), people, items, 12).value == pytest.approx(
        np.average(each, weights=answers.sum(axis=0) * (1 - answers).sum(axis=0))
    )


def test_scores_of_messages_are_those_of_choix() -> None:
    """The same penalty (a normal prior) in choix: half of 1 / SD squared."""
    rng = np.random.default_rng(2)
    pairs = rng.permuted(np.tile(np.arange(4), (60, 1)), axis=1)[:, :2]
    wins = rng.random(60) < 0.7
    ids = ["m0", "m1", "m2", "m3"]
    table = pd.DataFrame({"member": np.arange(60) % 12, "a": np.array(ids)[pairs[:, 0]], "b": np.array(ids)[pairs[:, 1]],
                          "value": wins.astype(float)})  # fmt: skip
    won = [
        (first, second) if win else (second, first) for (first, second), win in zip(pairs.tolist(), wins, strict=True)
    ]
    scores = choix.opt_pairwise(4, won, alpha=0.5 / PRIOR_SD**2, tol=1e-9)
    assert score_messages(table, ids)["score"].to_numpy() == pytest.approx(scores - scores.mean(), abs=1e-4)


@pytest.mark.parametrize(("count", "rooms"), [(0, 12), (3, 40), (20, 20)])
def test_shares_have_the_interval_of_scipy(count: int, rooms: int) -> None:
    """Wilson's score interval, also at 0 and 1."""
    ends = binomtest(count, rooms).proportion_ci(method="wilson")
    assert share_interval(count, rooms) == pytest.approx((ends.low, ends.high), abs=1e-9)
