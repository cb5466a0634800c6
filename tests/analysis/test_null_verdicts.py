"""Every statistic that a report goes by says nothing, or seldom something, of nothing (benchmarks/exam.py)."""

from __future__ import annotations

import numpy as np
import pytest
from data_checks import check_each
from null_verdicts import HARDER, INTERVALS, KINDS, given_level, ratings
from scipy.stats import binomtest

from parley.analysis.bootstrap import FEWEST, nanmean
from parley.model.scenario import load_preset, preset_names

SETS = 120


@check_each("name", INTERVALS)
def test_there_is_no_verdict_below_five_rooms(name: str) -> None:
    """Intervals over 2 and 3 rooms missed a true zero in 50 and 25%: whatever the data, there is nothing to say."""
    rng = np.random.default_rng(0)
    assert {INTERVALS[name](rng, rooms, kind) for rooms in range(2, FEWEST) for kind in KINDS} == {None}


@pytest.mark.thorough
@check_each("name", INTERVALS)
@check_each("kind", ["normal", "rounded", "missing"])
def test_false_claims_at_ten_rooms_are_about_one_in_twenty(name: str, kind: str) -> None:
    """As few sets as a test can hold: what they tell from 5% is a rule that is broken, not one that is off by a point."""
    rng = np.random.default_rng(1)
    made = [claim for claim in (INTERVALS[name](rng, 10, kind) for _ in range(SETS)) if claim is not None]
    assert len(made) > SETS / 2
    assert binomtest(sum(made), len(made), 0.05).pvalue > 0.001


def test_every_preset_has_enough_rooms_for_a_verdict() -> None:
    """`network` and `fake_news` had four: the first thing that a new user saw was a headline over four rooms."""
    for name in preset_names():
        assert load_preset(name).repetitions >= FEWEST, name


def test_null_data_are_what_they_say() -> None:
    """Nothing changes but where everybody drifts; answers are whole points; a fifth is missing; rooms differ in size."""
    rng = np.random.default_rng(2)
    drawn = {kind: ratings(rng, 2000, kind) for kind in KINDS}
    for kind, values in drawn.items():
        change = nanmean(values[:, :, -1] - values[:, :, 0], 1)
        assert np.nanmean(change) == pytest.approx(1.5 if kind == "drifting" else 0, abs=0.1), kind
    assert (drawn["rounded"] == drawn["rounded"].round()).all()
    assert np.isnan(drawn["missing"]).mean() == pytest.approx(0.2, abs=0.01)
    assert set(np.isfinite(drawn["unequal"][:, :, 0]).sum(axis=1)) == {1, 2, 3}
    assert ((drawn["skewed"] - drawn["skewed"].mean()) ** 3).mean() > 1


def test_harder_null_data_are_what_they_say() -> None:
    """All cross the middle; high ratings are refused; who left stays away; personas and topics change nothing on average."""
    rng = np.random.default_rng(3)
    drawn = {kind: ratings(rng, 2000, kind) for kind in HARDER}
    for kind, values in drawn.items():
        change = nanmean(values[:, :, -1] - values[:, :, 0], 1)
        assert np.nanmean(change) == pytest.approx(5.0 if kind == "crossing" else 0, abs=0.1), kind
    assert np.isnan(drawn["refusing"]).mean() == pytest.approx(1 / 3, abs=0.05)
    assert np.nanmean(drawn["refusing"]) < -0.2
    assert given_level("refusing", of_rooms=False) == pytest.approx(np.nanmean(drawn["refusing"]), abs=0.1)
    gone = np.isnan(drawn["leaving"])
    assert (gone[:, :, 1:] >= gone[:, :, :-1]).all()
    assert gone[:, :, -1].mean() == pytest.approx(1 / 3, abs=0.03)
