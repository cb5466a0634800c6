"""Clusters of unequal size: what they are worth, by hand and against refits; and no interval where one cluster has most rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from examined.choices import DESIGN, choices_of
from scipy.special import stdtrit
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from parley.analysis.deliberation.position_change import clustered_mean
from parley.analysis.persuasion.bradley_terry import clear_difference, score_messages
from parley.analysis.statistics.clusters import effective_clusters, error_of, steps_without
from parley.analysis.statistics.crossed_ratings import fit_ratings
from parley.analysis.statistics.intervals import (
    Floats,
    clustered_share_interval,
    correlation_interval,
    interval,
    mean_interval,
    p_of_mean,
    why_no_interval,
)
from parley.studies.conjoint.measures import estimate_effects
from parley.studies.dissonance.choices import fit
from parley.studies.mixed_subjects.estimators import ESTIMATORS, estimate
from parley.studies.mixed_subjects.people import Arm, Sample
from parley.studies.survey_prediction.measures import auc_within, measure

ONE_HEAVY = np.array([100.0, *[4.0] * 9])
MILD = np.array([8.0, 4, 4, 4, 4, 4])
"""Worth 28 squared by 64 + 5 * 16, which is 5.44."""


def people(sizes: Floats) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes.astype(int))


def test_degrees_of_freedom_are_those_of_the_effective_clusters() -> None:
    """Six units of which one has twice the rows: Student's quantile of 4.44 degrees of freedom, not of 5."""
    worth = effective_clusters(MILD)
    assert worth == pytest.approx(28**2 / 144)
    values = np.array([0.2, 0.5, 0.1, 0.9, 0.4, 0.6])
    low, high = mean_interval(values, MILD)
    error = values.std(ddof=1) / math.sqrt(6)
    assert (high - low) / 2 == pytest.approx(stdtrit(worth - 1, 0.975) * error)
    assert mean_interval(values, np.full(6, 3.0)) == pytest.approx(mean_interval(values))
    assert p_of_mean(values, MILD) > p_of_mean(values)


@pytest.mark.parametrize("sizes", [ONE_HEAVY, np.array([100.0, 100, *[4.0] * 18])])
def test_a_few_clusters_with_most_rows_give_no_interval_and_say_so(sizes: Floats) -> None:
    """With clusters - 1 degrees of freedom these intervals missed the truth in 48 and 30% (shares), 20% (ratios), 12% (r)."""
    rng = np.random.default_rng(0)
    hits = rng.binomial(sizes.astype(int), 0.5).astype(float)
    sums = np.column_stack([hits, sizes])
    assert np.isnan(clustered_share_interval(hits, sizes)).all()
    assert np.isnan(interval(sums, lambda drawn: drawn[..., 0].sum(axis=1) / drawn[..., 1].sum(axis=1), sizes)).all()
    assert "too unequal" in why_no_interval(hits, "person", sizes)
    found = clustered_mean(pd.Series(rng.normal(0, 1, int(sizes.sum()))), pd.Series(people(sizes)))
    assert math.isfinite(found.value)
    assert math.isnan(found.low)
    x, y = rng.normal(0, 1, (2, int(sizes.sum())))
    terms = pd.DataFrame(np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])).groupby(people(sizes)).sum()
    assert np.isnan(correlation_interval(terms.to_numpy())).all()


def test_one_missing_answer_does_not_hide_an_interval() -> None:
    """Five units of 20, 20, 20, 20 and 19 answers are worth 4.997 of one size."""
    sizes = np.array([20.0, 20, 20, 20, 19])
    assert np.isfinite(clustered_share_interval(sizes // 2, sizes)).all()
    assert why_no_interval(np.arange(5.0), sizes=sizes) == ""


def test_shares_of_unequal_clusters_hold_their_level() -> None:
    """Five people with 100 answers and 15 with 4, who differ (intraclass correlation .3): 12% before, 6% with effective people
    and errors that leave out one of them; of 400 sets."""
    rng, sizes, missed = np.random.default_rng(1), np.array([100] * 5 + [4] * 15), 0
    for own in rng.beta(7 / 6, 7 / 6, (400, 20)):
        low, high = clustered_share_interval(rng.binomial(sizes, own).astype(float), sizes.astype(float))
        missed += not low <= 0.5 <= high
    assert 8 <= missed <= 34


def test_coefficients_without_a_cluster_are_those_of_a_refit() -> None:
    """Least squares on the other clusters, and the jackknife's error of them (CR3)."""
    rng, of = np.random.default_rng(2), people(MILD)
    x = np.column_stack([np.ones(len(of)), rng.normal(0, 1, len(of))])
    y = x[:, 1] + rng.normal(0, 1, len(MILD))[of] + rng.normal(0, 1, len(of))
    whole = np.asarray(OLS(y, x).fit().params)
    rests = y - x @ whole
    grams = np.array([x[of == one].T @ x[of == one] for one in range(len(MILD))])
    scores = np.array([x[of == one].T @ rests[of == one] for one in range(len(MILD))])
    refits = np.array([np.asarray(OLS(y[of != one], x[of != one]).fit().params) for one in range(len(MILD))])
    assert steps_without(grams, scores) == pytest.approx(refits - whole)
    assert error_of(refits[:, 1]) == pytest.approx(error_of(steps_without(grams, scores)[:, 1]))


def test_choices_of_a_respondent_with_most_tasks_are_one_respondent() -> None:
    """AMCEs, means, and scores of messages: no interval with one respondent of 60 tasks and nine of 4 (AMCE: 25% missed)."""
    rng = np.random.default_rng(3)
    for tasks, known in ((np.array([60, *[4] * 9]), False), (np.full(10, 8), True)):
        effects = estimate_effects(choices_of(rng, tasks), DESIGN)
        row = effects[~effects["baseline"]].iloc[0]
        assert math.isfinite(row["amce"])
        assert math.isfinite(row["amce_low"]) is known
        assert np.isfinite(effects["mean_low"]).all() == known
        pairs = pd.DataFrame({"member": people(tasks), "a": "m1", "b": "m2", "value": rng.random(tasks.sum()) < 0.7})
        assert math.isfinite(score_messages(pairs, ["m1", "m2"])["low"].iloc[0]) is known
        assert ("equal ones" in clear_difference(pairs, ["m1", "m2"])) is not known
        gain = np.exp(rng.normal(0, 1, tasks.sum()))
        slope = fit(pd.DataFrame({"person": people(tasks), "near": 1.0, "far": gain}))
        assert math.isfinite(slope["low"]) is known
        assert ("too unequal" in slope["reason"]) is not known


def test_questions_that_the_same_people_answer_are_not_independent() -> None:
    """Yes-sayers predicted by a bias of their own: with questions as units, the interval of AUC within left out .5 in 39%; over
    people it holds .5 in about 95% of 60 sets. Its parts are those of each person over questions."""
    rng, missed = np.random.default_rng(4), 0
    for _ in range(60):
        lean, bias = rng.normal(0, 1, (2, 30, 1))
        answers = (rng.random((30, 8)) < 1 / (1 + np.exp(-lean))).astype(float)
        row = measure(answers, bias + rng.normal(0, 0.3, (30, 8)), np.ones((30, 8), bool), np.ones(30))
        missed += not row["auc_within_low"] <= 0.5 <= row["auc_within_high"]
    assert missed <= 8
    answers, guesses = np.array([1.0, 1, 0, 0, 0] * 2), np.array([0.9, 0.8, 0.3, 0.2, 0.1] * 2)
    asked = auc_within(answers, guesses, np.tile(np.arange(5), 2), np.repeat([0, 1], 5), 5)
    assert asked.value == 1.0
    assert asked.sizes == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("name", ["people alone", "ppi++"])
def test_texts_of_one_room_are_not_independent(name: str) -> None:
    """60 coded of 200 texts in 20 rooms: with texts as units the intervals missed the mean of rooms in 26 and 34%. The error is
    that of the estimates without each room in turn, for fixed weights."""
    rng, room = np.random.default_rng(5), np.repeat(np.arange(20), 10)
    outcome = rng.normal(0, 1, 20)[room] + rng.normal(0, 1, 200)
    predicted, coded = outcome + rng.normal(0, 1, 200), rng.permutation(200) < 60
    arm = Arm(outcome[coded], predicted[coded], predicted[~coded], room[coded], room[~coded])
    found = estimate(Sample((arm,)), ESTIMATORS[name])
    apart = estimate(Sample((Arm(arm.outcome, arm.predicted, arm.others),)), ESTIMATORS[name])
    assert found.value == pytest.approx(apart.value)
    assert found.high - found.low > 1.2 * (apart.high - apart.low)
    assert found.freedom == pytest.approx(effective_clusters(np.bincount(arm.clusters).astype(float)) - 1)
    if name == "people alone":
        means = np.array([outcome[coded & (room != one)].mean() for one in np.unique(room[coded])])
        assert found.error == pytest.approx(error_of(means))


def test_a_rare_code_has_the_interval_of_a_share() -> None:
    """Student's interval of a code of 8% (40 coded) missed in 12%, and reached below 0; Wilson's 3 of 40: .026 to .199."""
    found = estimate(
        Sample((Arm(np.repeat([1.0, 0.0], [3, 37]), np.zeros(40), np.zeros(0)),)), ESTIMATORS["people alone"]
    )
    assert (found.low, found.high) == pytest.approx(proportion_confint(3, 40, method="wilson"))


def test_scores_of_items_in_clusters_and_far_from_zero() -> None:
    """60 texts of 6 debates, scored by three raters: with texts as units the mean was missed in 47%. Scores near 1e9 lost all
    digits: the same numbers, moved, give the same intervals."""
    rng, debate = np.random.default_rng(6), np.repeat(np.arange(6), 10)
    scores = rng.normal(0, 1, 6)[debate][:, None] + rng.normal(0, 1, (60, 1)) + rng.normal(0, 0.5, (60, 3))
    apart, together = fit_ratings(scores), fit_ratings(scores, debate)
    assert together.mean == pytest.approx(apart.mean)
    assert np.ptp(together.ends[0]) > 1.5 * np.ptp(apart.ends[0])
    moved = fit_ratings(scores + 1e9, debate)
    assert np.array(moved.ends[0]) - 1e9 == pytest.approx(np.array(together.ends[0]), abs=1e-5)
    assert moved.agreement == pytest.approx(together.agreement, abs=1e-5)
    uneven = np.repeat(np.arange(6), [45, 3, 3, 3, 3, 3])
    assert np.isnan(fit_ratings(scores, uneven).ends).all()
