"""Measures of payoff scorers: by hand, on a law with a known ceiling, and where nothing is planted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from synthetic import episodes

from benchmarks.payoff_models import draw_ratings, learn
from parley.analysis.deliberation.position_change import NO_MEAN, ClusteredMean
from parley.studies.representatives.payoff_measures import (
    BRIER,
    ERROR,
    GAIN,
    KEYS,
    MEASURES,
    PERSON,
    STATEMENT,
    Line,
    calibrate_wins,
    compare_scorers,
    deal_ratings,
    fit_line,
    fit_slope,
    groups_of,
    measure_scorer,
    null_ranges,
    pairs,
    rating_table,
    values,
)
from parley.studies.representatives.payoff_report import (
    FIT,
    MEAN,
    OTHER,
    PEOPLE,
    QUESTIONS,
    Scored,
    Trained,
    difference_table,
    measure_table,
    sentence,
    write_payoffs,
)

EXACT = Line(0.0, 1.0, 1.0)


def table(*rows: tuple[str, float, float, float, float]) -> pd.DataFrame:
    """One group and one episode; a row: participant, ratings of draft and revision, scores of draft and revision."""
    found = []
    for who, *numbers in rows:
        found.append(("g", "e", who, "draft", numbers[0], numbers[2]))
        found.append(("g", "e", who, "revision", numbers[1], numbers[3]))
    return pd.DataFrame(found, columns=[*KEYS, "rating", "score"])


def test_measures_by_hand() -> None:
    """Ann prefers the revision and Bo the draft; the scorer has Ann right, a tie for Bo. Cy rates both alike."""
    rows = table(("ann", 3, 6, 4, 5), ("bo", 5, 4, 4, 4), ("cy", 2, 2, 1, 3))
    assert values(rows, STATEMENT, EXACT)["value"].tolist() == [1.0, 0.5]
    # gains 3, -1 and 0, scored 1, 0 and 2: ann over bo is right, ann over cy wrong, bo under cy right
    assert values(rows, GAIN, EXACT)["value"].tolist() == [1.0, 0.0, 1.0]
    # draft 3, 5, 2 scored 4, 4, 1: a tie, right, right; revision 6, 4, 2 scored 5, 4, 3: all right
    assert values(rows, PERSON, EXACT)["value"].tolist() == [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert values(rows, ERROR, EXACT)["value"].tolist() == [1, 1, 1, 0, 1, 1]
    assert values(rows, ERROR, Line(3.0, 0.0, 0.0))["value"].tolist() == [0, 3, 2, 1, 1, 1]
    wins = np.array([1 / (1 + np.exp(-1.0)), 0.5])
    assert values(rows, BRIER, EXACT)["value"].to_numpy() == pytest.approx((wins - [1, 0]) ** 2)


def test_missing_scores_are_no_numbers() -> None:
    """A missing score takes its pairs along, and is counted; without any pair a measure has no value."""
    rows = table(("ann", 3, 6, np.nan, 5), ("bo", 5, 4, 4, 4))
    assert values(rows, STATEMENT, EXACT)["value"].isna().tolist() == [True, False]
    assert measure_scorer(rows, EXACT, MEASURES)[STATEMENT].n == 1
    assert measure_scorer(rows, EXACT, MEASURES)[GAIN].n == 0
    assert measure_scorer(rows, EXACT, [STATEMENT])[PERSON].n == 0
    even = table(("ann", 4, 4, 1, 2))
    assert pairs(even, STATEMENT).empty
    assert np.isnan(fit_slope(pairs(even, STATEMENT)))


def test_a_known_law_is_found_and_nothing_where_nothing_is() -> None:
    """Ratings with logistic differences around a linear law: the law's wins are calibrated with slope 1; a coin's are not."""
    rows = draw_ratings(60, seed=3)
    truth = rows.assign(score=rows["law"])
    coin = rows.assign(score=np.random.default_rng(5).normal(size=len(rows)))
    assert fit_line(truth).slope == pytest.approx(1.0, abs=0.2)
    found = measure_scorer(truth, fit_line(truth), MEASURES)
    nothing = measure_scorer(coin, fit_line(coin), MEASURES)
    for name in (STATEMENT, GAIN, PERSON):
        assert found[name].low > 0.55
        assert nothing[name].low < 0.5 < nothing[name].high
    bins = calibrate_wins(truth, fit_line(truth))
    assert ((bins["low"] <= bins["predicted"]) & (bins["predicted"] <= bins["high"])).sum() >= 4
    low, high = null_ranges(truth, [STATEMENT], 0, 20)[STATEMENT]
    assert low < 0.5 < high < found[STATEMENT].value


def test_a_linear_model_reaches_the_ceiling_and_its_controls_do_not() -> None:
    """Trained on other people by least squares: as good as the law itself, better than blind and shuffled labels."""
    train, test = draw_ratings(60, seed=1), draw_ratings(40, seed=2)
    scored = {name: test.assign(score=learn(train, test, name)) for name in ("trained", "blind", "shuffled")}
    law = test.assign(score=test["law"])
    mine = values(scored["trained"], PERSON, EXACT)
    assert abs(compare_scorers(mine, values(law, PERSON, EXACT)).value) < 0.01
    assert compare_scorers(mine, values(scored["blind"], PERSON, EXACT)).low > 0.05
    assert measure_scorer(scored["blind"], EXACT, MEASURES)[PERSON].value == 0.5
    assert measure_scorer(scored["blind"], EXACT, MEASURES)[GAIN].value == 0.5
    tables = [values(scored[name], ERROR, EXACT) for name in ("trained", "shuffled")]
    assert compare_scorers(*tables).high < 0


def test_ratings_are_dealt_within_a_participant() -> None:
    rows = draw_ratings(4, seed=1)
    dealt = deal_ratings(rows, np.random.default_rng(0))
    assert (dealt["rating"] != rows["rating"]).any()
    for one in (rows, dealt):
        assert sorted(one["rating"]) == sorted(rows["rating"])
    sums = [frame.groupby("participant")["rating"].sum().round(9).to_dict() for frame in (rows, dealt)]
    assert sums[0] == sums[1]


def test_sessions_that_share_a_participant_are_one_group() -> None:
    """Their ratings are of the same people, so they are no two units."""
    first, second = episodes(2, size=2, each=1)
    shared = replace(second, voices=(first.voices[0], *second.voices[1:]))
    assert groups_of([first, second]) == {"s0": "s0", "s1": "s1"}
    assert groups_of([first, shared]) == {"s0": "s0", "s1": "s0"}
    found = rating_table([first])
    assert found["other"].tolist() == [value for voice in first.voices for value in [*voice.agreement.values()][::-1]]


def test_sentences() -> None:
    """What is said with an effect, without one, in the wrong direction, and with too few groups."""
    assert sentence("A", "B", ERROR, ClusteredMean(-0.2, -0.3, -0.1, 40, 8)).startswith("**A** beats **B** in error")
    assert "does not beat" in sentence("A", "B", STATEMENT, ClusteredMean(0.1, -0.3, 0.5, 40, 8))
    assert "is worse than" in sentence("A", "B", ERROR, ClusteredMean(0.2, 0.1, 0.3, 40, 8))
    few = ClusteredMean(0.2, np.nan, np.nan, 40, 4)
    assert (
        sentence("A", "B", ERROR, few) == "With fewer than 5 groups, it is unknown whether **A** beats **B** in error."
    )
    assert "because there are no pairs" in sentence("A", "B", ERROR, NO_MEAN)
    assert "because nothing varies" in sentence("A", "B", ERROR, few._replace(clusters=9))


def test_the_page_of_known_scorers(tmp_path: Path) -> None:
    """The law beats the mean rating, does not beat itself, and the page has calibration and null."""
    lots = {cell: draw_ratings(8, seed=place) for place, cell in enumerate((FIT, PEOPLE, QUESTIONS))}

    def scorer(name: str) -> Scored:
        rows = {cell: lot.assign(score=lot[name] if name != MEAN else 0.0) for cell, lot in lots.items()}
        return Scored(rows, fit_line(rows[FIT]))

    scored = {name: scorer(name) for name in ("law", "other", MEAN)}
    scored[OTHER] = scored.pop("other")
    page = write_payoffs(scored, [Trained("law", ERROR)], tmp_path, ["fake"], "about", 0).read_text(encoding="utf-8")
    assert "**law** beats **mean rating** in error" in page
    assert "## Calibration" in page
    assert "## Null" in page
    assert set(measure_table(scored, PEOPLE)["scorer"]) == {"law", OTHER, MEAN}
    assert set(difference_table(scored, [Trained("law", ERROR)])["measure"]) == {STATEMENT, GAIN, PERSON, ERROR}
    assert (tmp_path / "payoff_calibration.png").exists()
    (line,) = [line for line in page.splitlines() if line.startswith("- law: statement")]
    assert "gain" in line
    assert "person" not in line, "participants keep how high they rate: the deals are no null of who rates higher"


def test_a_null_without_pairs_is_unknown(tmp_path: Path) -> None:
    """Participants who rate draft and revision alike have no pairs: the page says so, and prints no number that is none."""
    rows = draw_ratings(8, seed=1).assign(rating=4.0)
    scored = {
        name: Scored(dict.fromkeys((FIT, PEOPLE, QUESTIONS), rows.assign(score=rows["law"])), EXACT)
        for name in ("law", MEAN)
    }
    page = write_payoffs(scored, [Trained("law", ERROR)], tmp_path, ["fake"], "about", 0).read_text(encoding="utf-8")
    assert "- law: statement unknown (no pairs), gain unknown (no pairs)" in page
    assert "nan" not in page
