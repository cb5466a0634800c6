"""Public replies and private ratings: gaps by hand, the grader's floor, and the metric that makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.analysis import judge_quality
from parley.analysis.line_gaps import above_floor, calibrate, line_gaps, room_gaps, swapped
from parley.analysis.metrics import applies, public_gap
from parley.analysis.report import Report
from parley.analysis.tables import Tables, tables
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import Scenario, load_preset


def said(found: Tables, *lines: tuple[int, int, str, str | None]) -> Tables:
    """Add lines (round, iteration, party, text) to every room."""
    seats = found.agents.set_index(["room", "party"])
    rows = [
        {**seats.loc[(room, party)].to_dict(), "room": room, "party": party, "round": round_, "iteration": iteration,
         "text": text, "reason": None if text else "empty", "raw": None, "form": "reply",
         "mended": None, "earlier": None}
        for room in found.agents["room"].unique()
        for round_, iteration, party, text in lines
    ]  # fmt: skip
    table = pd.DataFrame(rows)[list(found.utterances.columns)]
    return found.__class__(**{**vars(found), "utterances": table.astype(found.utterances.dtypes.to_dict())})


def graded(found: Tables, *grades: float | None) -> pd.DataFrame:
    """Give the lines of each room these grades, in their order."""
    rooms = found.utterances["room"].nunique()
    return found.utterances[["room", "iteration"]].assign(grade=np.array(list(grades) * rooms, dtype=float))


ORDER = ((1, 1, "republican", "A"), (1, 2, "democrat", "B"), (2, 3, "republican", "C"), (2, 4, "democrat", "D"))


def test_a_gap_by_hand(held: Callable[..., Tables]) -> None:
    """Republican 2, 3, 5 and Democrat 8, 9, 9. In round 2 the Republican speaks first: its rating is that before, 3, the audience
    is 9, its first survey 2 is below it, so a line of grade 4.5 goes 1.5 toward it. The Democrat has heard the one line of the
    round, so its rating is that after, 9; the audience is 3, and a line of 10 goes 1 away from it.
    """
    found = said(held({"republican": [2, 3, 5], "democrat": [8, 9, 9]}), *ORDER)
    lines = line_gaps(found, graded(found, 2, 8, 4.5, 10))
    assert lines["own"].tolist() == [2, 9, 3, 9]
    assert lines["audience"].tolist() == [8, 2, 9, 3]
    assert lines["undirected"].tolist() == ["nothing heard yet", "", "", ""]
    assert lines["toward"].tolist()[1:] == [1, 1.5, -1]
    (room,) = room_gaps(lines).to_dict("records")
    assert (room["lines"], room["missing"], room["directed"], room["toward"], room["absolute"]) == (4, 0, 3, 0.5, 0.875)


def test_the_rating_at_a_line_lies_between_two_surveys(held: Callable[..., Tables]) -> None:
    """The second of three speakers has heard one of the two lines of others: half-way from 4 to 6."""
    found = held({"republican": [2, 2, 2], "default": [4, 6, 6], "democrat": [8, 8, 8]})
    found = said(found, (1, 1, "republican", "A"), (1, 2, "default", "B"), (1, 3, "democrat", "C"))
    assert line_gaps(found, graded(found, 2, 5, 8))["own"].tolist() == [2, 5, 8]


def test_missing_is_counted_and_named(held: Callable[..., Tables]) -> None:
    """A turn without words, a line without a grade, a speaker without a rating: no gap, each with its reason."""
    found = held({"republican": [2, 3, None], "democrat": [8, 9, 9]})
    found = said(
        found, (1, 1, "republican", None), (1, 2, "democrat", "B"), (2, 3, "democrat", "C"), (2, 4, "republican", "D")
    )
    lines = line_gaps(found, graded(found, None, None, 8, 3))
    assert lines["missing"].tolist() == ["no text", "no grade", "", "no rating before or after"]
    assert lines["undirected"].tolist()[1] == "nothing heard yet"  # a turn without words was no line


def test_no_direction_without_a_third_survey_and_near_the_audience(held: Callable[..., Tables]) -> None:
    """Ratings of which the gap is made do not give its direction: chance in them would make both agree."""
    two = said(held({"republican": [2, 3], "democrat": [8, 9]}), *ORDER[:2])
    assert line_gaps(two, graded(two, 2, 8))["undirected"].tolist()[1] == "no third survey"
    near = said(held({"republican": [5, 5, 5], "democrat": [5.5, 5.5, 5.5]}), *ORDER)
    assert line_gaps(near, graded(near, 5, 5, 5, 5))["undirected"].tolist()[1:] == ["audience near"] * 3


def test_a_noisy_rating_makes_no_gap_toward_the_audience(held: Callable[..., Tables]) -> None:
    """Attitudes of 4 and 6 rated with an error of 2, lines that say 4 and 6: the direction comes from other surveys, so the mean
    is 0; directions from the same ratings would give a gap toward the audience.
    """
    rng = np.random.default_rng(0)
    rooms = [
        {"republican": (4 + rng.normal(0, 2, 3)).tolist(), "democrat": (6 + rng.normal(0, 2, 3)).tolist()}
        for _ in range(200)
    ]
    found = said(held(*rooms), *ORDER)
    lines = line_gaps(found, graded(found, 4, 6, 4, 6))
    same = np.sign(lines["audience"] - lines["own"]) * lines["gap"]
    low, high = above_floor(lines).ends
    assert low < 0 < high
    assert same.mean() > 0.5


def test_a_grader_that_pulls_to_the_middle_is_no_gap(held: Callable[..., Tables]) -> None:
    """Lines say the rating; the grader gives 5 + half the distance from 5, and noise. Raw, all go toward the audience; above the
    floor of the same grader on lines of known grade, nothing is shown. A true shift of 1 point is seen as half a point.
    """
    rng = np.random.default_rng(1)
    rooms = [{"republican": [level] * 3, "democrat": [level + 6] * 3} for level in rng.uniform(0.5, 3, 60)]
    found = said(held(*rooms), *ORDER)
    exact = line_gaps(found, found.utterances[["room", "iteration"]].assign(grade=np.nan))["own"]

    def scores(truth: np.ndarray) -> np.ndarray:
        return 5 + 0.5 * (truth - 5) + rng.normal(0, 1, len(truth))

    known = np.tile(np.arange(0, 11, 2.0), 10)
    graders = {"racism": calibrate(known, scores(known))}
    keyed = found.utterances[["room", "iteration"]]
    candid = line_gaps(found, keyed.assign(grade=scores(exact.to_numpy())), graders)
    assert room_gaps(candid)["toward"].mean() > 1
    low, high = above_floor(candid, graders).ends
    assert low < 0 < high
    toward = np.where(found.utterances["party"] == "republican", 1.0, -1.0)
    tactful = line_gaps(found, keyed.assign(grade=scores(exact.to_numpy() + toward)), graders)
    value, ends = above_floor(tactful, graders)
    assert ends[0] < 0.5 < ends[1]
    assert value > 0.25


def test_a_calibration_takes_five_lines_of_two_grades() -> None:
    """Below that the floor is unknown, and nothing is called above it."""
    assert np.isnan(calibrate(np.arange(4.0), np.arange(4.0)).slope)
    assert np.isnan(calibrate(np.full(9, 4.0), np.arange(9.0)).slope)
    unread = calibrate(np.arange(6.0), np.array([0, 1, 2, 3, np.nan, np.nan]))
    assert np.isnan(unread.error)
    assert calibrate(np.arange(6.0), np.arange(6.0)).slope == pytest.approx(1)


def test_swapped_lines_by_hand(held: Callable[..., Tables]) -> None:
    """Who rates 5 before an audience of 9 says 6, and before one of 1 says 4: toward 1 each; dealt anew, 0 on average."""
    rooms = [{"republican": [5, 5, 5], "democrat": [other] * 3} for other in (9, 1) * 10]
    found = said(held(*rooms), *ORDER)
    grades = [g for other in (9, 1) * 10 for g in (5, other, 6 if other > 5 else 4, other)]
    lines = line_gaps(found, found.utterances[["room", "iteration"]].assign(grade=np.array(grades, dtype=float)))
    own = lines[lines["party"] == "republican"]
    assert own["toward"].mean() == 1
    assert abs(swapped(own).mean()) < 0.1
    assert np.quantile(swapped(own), 0.975) < 1


# The metric


def sat(scenario: Scenario) -> Tables:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


def test_the_metric_asks_nothing_and_applies_to_lines_of_known_grade(held: Callable[..., Tables]) -> None:
    """Other models' lines have no known grade: the table is left out, and a judge is asked only by its own command."""
    plain = said(held(*[{"republican": [2, 3, 5], "democrat": [8, 9, 9]}] * 2), *ORDER)
    assert not applies(public_gap, plain)
    found = sat(load_preset("honesty", {"llm": "oracle", "repetitions": 2, "rounds": 2}))
    assert applies(public_gap, found)
    table = public_gap.compute(found)
    assert (table["rooms"].tolist(), table["missing"].tolist()) == ([2], [0])
    assert public_gap.headline(table) == "", "two rooms have no finding"


def test_surveys_at_the_ends_alone_give_a_reason() -> None:
    found = public_gap.compute(sat(load_preset("honesty", {"llm": "oracle", "repetitions": 2, "survey": "ends"})))
    assert found["toward"].isna().all()
    assert "no rating before or after" in found["reason"].iloc[0]
    assert found["missing"].iloc[0] > 0


def test_the_report_of_a_judge_has_the_gaps_of_the_run(tmp_path: Path) -> None:
    """Scores that are the known grades have a floor of 0; a survey on something else than the claim has no section."""
    found = sat(load_preset("honesty", {"llm": "oracle", "repetitions": 5, "rounds": 2}))
    grades = found.utterances.merge(found.graded, on=["room", "iteration"])
    verdicts = grades.assign(score=judge_quality.on_scale(grades["grade"], grades["topic"]))
    report = Report(tmp_path, "judge", "Judge")
    judge_quality._add_gaps(report, verdicts, found)
    assert "Public replies and private ratings" in report.write().read_text()
    row = pd.read_csv(tmp_path / "gaps.csv").iloc[0]
    assert (row["rooms"], row["lines"], row["missing"]) == (5, 20, 0)
    assert row["floor"] == pytest.approx(0, abs=1e-9)
    assert row["above"] == pytest.approx(row["toward"])
    other = Report(tmp_path / "other", "judge", "Judge")
    severity = sat(load_preset("honesty", {"llm": "oracle", "repetitions": 1, "rounds": 2, "probe": "attitude"}))
    judge_quality._add_gaps(other, verdicts, severity)
    assert "Public replies" not in other.write().read_text()
