"""Every statistic that a report goes by says nothing, or seldom something, of nothing (benchmarks/exam.py)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from null_verdicts import END, HARDER, INTERVALS, KINDS, given_level, ratings
from scipy.stats import binomtest, norm
from uneven import UNEVEN

from parley.analysis.statistics.intervals import FEWEST, nanmean
from parley.model.scenario import load_preset, preset_names
from parley.studies.community import report as community
from parley.studies.competing_debates import calibration as bet_calibration
from parley.studies.competing_debates import speeches as speech_quality
from parley.studies.competing_debates import training_report as debater_report
from parley.studies.games import report as games
from parley.studies.side_choice import measures as side_choice

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


def test_an_interval_around_nothing_is_not_told_as_nothing() -> None:
    """Where an interval holds the null, every sentence says that no difference is clear, and none says that there is none."""
    row = {"share": 0.6, "low": 0.4, "high": 0.8, "units": 9, "pairs": 9, "missing": 0, "kind": "real"}
    gap = {"condition": "told", "value": 1.2, "low": -0.3, "high": 2.7, "rooms": 6, "reason": ""}
    bet = {"when": "last", "bet": 58.0, "pairings": 6}
    ends = {"overconfidence": 8.0, "overconfidence_low": -2.0, "overconfidence_high": 18.0}
    side = pd.DataFrame([{"known": side_choice.BEYOND, "people": 8, "shift": 0.1, "low": -0.1, "high": 0.3}])
    low = {"overconfidence": -10.0, "overconfidence_low": -18.0, "overconfidence_high": -2.0}
    told = {
        "it is not shown that the judge can distinguish the two kinds of posts": community.origin_line(row),
        "it is not shown that their moves differ from what they said": games._gap_line(gap),
        "are not clearly too high or too low": bet_calibration._overconfidence_line(pd.Series(bet | ends)),
        "does not clearly move choices more than a meaningless detail does": side_choice.verdict(side, side),
        "is not clearly preferred more or less often than the untrained": debater_report._share_line(pd.Series(row)),
        "is not clearly preferred more or less often than the speech": speech_quality.verdict(row, "sequential"),
        "and 50% of debaters win. The mean is 10.0 points lower": bet_calibration._overconfidence_line(
            pd.Series(bet | low)
        ),
    }
    for words, line in told.items():
        assert words in line, line


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
    """All cross the middle; high ratings are refused; who left stays away; personas and topics change nothing on average.
    One room has half of the people; two of five ratings are at the end of the scale; nothing varies."""
    rng = np.random.default_rng(3)
    drawn = {kind: ratings(rng, 2000, kind) for kind in HARDER if kind not in UNEVEN}
    for kind, values in drawn.items():
        change = nanmean(values[:, :, -1] - values[:, :, 0], 1)
        assert np.nanmean(change) == pytest.approx(5.0 if kind == "crossing" else 0, abs=0.1), kind
    assert np.isnan(drawn["refusing"]).mean() == pytest.approx(1 / 3, abs=0.05)
    assert np.nanmean(drawn["refusing"]) < -0.2
    assert given_level("refusing", of_rooms=False) == pytest.approx(np.nanmean(drawn["refusing"]), abs=0.1)
    for kind, share in zip(UNEVEN, (0.5, 0.36), strict=True):
        people = np.isfinite(ratings(rng, 10, kind)[:, :, 0]).sum(axis=1)
        assert people[0] / people.sum() == pytest.approx(share, abs=0.02)
    # SD of a rating is the root of 2; one draw of 2,000 rooms is off by .007 (SD), so eight are averaged
    at_end = [(ratings(np.random.default_rng(seed), 2000, "ceiling") == END).mean() for seed in range(8)]
    assert np.mean(at_end) == pytest.approx(norm.sf(END / 2**0.5), abs=0.01)
    assert np.ptp(drawn["constant"]) == 0
    gone = np.isnan(drawn["leaving"])
    assert (gone[:, :, 1:] >= gone[:, :, :-1]).all()
    assert gone[:, :, -1].mean() == pytest.approx(1 / 3, abs=0.03)
