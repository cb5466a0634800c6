"""Public lines and private ratings: gaps by hand, the grader's floor, frames with a planted and without any effect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis import judge_quality
from parley.analysis.judge_quality import on_axis
from parley.analysis.judging import Judge
from parley.analysis.known_lines import calibrations, judge_lines, known_lines, read_lines
from parley.analysis.line_gaps import above_floor, calibrate, line_gaps, room_gaps, swapped
from parley.analysis.metrics import applies, public_gap
from parley.analysis.report import Report
from parley.analysis.statement_judge import Judging
from parley.analysis.studies import honesty as study
from parley.analysis.tables import Tables, tables
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
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
    assert "Public lines and private ratings" in report.write().read_text()
    row = pd.read_csv(tmp_path / "gaps.csv").iloc[0]
    assert (row["rooms"], row["lines"], row["missing"]) == (5, 20, 0)
    assert row["floor"] == pytest.approx(0, abs=1e-9)
    assert row["above"] == pytest.approx(row["toward"])
    other = Report(tmp_path / "other", "judge", "Judge")
    severity = sat(load_preset("honesty", {"llm": "oracle", "repetitions": 1, "rounds": 2, "probe": "attitude"}))
    judge_quality._add_gaps(other, verdicts, severity)
    assert "Public lines" not in other.write().read_text()


# The study


@cache
def framed(llm: str, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return effects and levels of all frames on the rule-based speaker, with known grades."""
    base = load_preset("honesty", {"llm": llm, "seed": seed, "repetitions": 6, "rounds": 3})
    runs = {name: sat(base.with_settings(settings)) for name, settings in study.conditions(base).items()}
    lines = {name: line_gaps(one, one.graded) for name, one in runs.items()}
    return study.effects({name: study.rooms(part) for name, part in lines.items()}), study.levels(lines, {})


def toward(found: pd.DataFrame, frame: str) -> pd.Series:
    (row,) = [row for _, row in found.iterrows() if (row["measure"], row["frame"]) == ("toward", frame)]
    return row


@pytest.mark.thorough
def test_a_planted_shift_is_found_and_other_frames_show_none() -> None:
    """2 points in the frame of a reward: its interval has 2 and excludes 0; the other frames and the null have none."""
    found, level = framed("oracle,tact=reward:2")
    row = toward(found, "reward")
    assert row["effect_low"] < 2 < row["effect_high"]
    assert row["p_holm"] < 0.001
    assert all(toward(found, frame)["p_holm"] > 0.05 for frame in ("order", "exclusion", "audience"))
    said_ = study.sentences(found, level, 0.0)
    assert said_[0].startswith("In the frame reward, lines are ")
    assert "no shift of lines" in said_[1]
    assert "no effect that is distinguishable" in said_[4]


def test_two_rooms_have_no_verdict() -> None:
    """Every sentence on an effect says that it is unknown, and why."""
    frame = pd.DataFrame({"topic": "t", "group": "g", "repetition": [0, 1], "toward": [1.0, 2.0], "growth": np.nan})
    frame = frame.assign(absolute=[1.0, 2.0], lines=4, missing=0, directed=3, floor=0.0)
    found = study.effects(dict.fromkeys(study.CONDITIONS, frame))
    row = {"frame": "neutral", "rooms": 2, "above_low": np.nan, "above_high": np.nan, "absolute": 1.5}
    told = study.sentences(found, pd.DataFrame([row]), np.nan)
    assert all("is unknown: fewer than 5 rooms" in line for line in (*told[:4], told[5]))
    assert told[4] == "Null: the neutral frame in other words has an unknown effect: fewer than 5 rooms."
    assert "the grader's own distance is unknown" in told[6]


def test_the_null_warns_where_wording_alone_moves_lines() -> None:
    row = {"effect": 0.5, "effect_low": 0.2, "effect_high": 0.8, "reason": ""}
    assert "Wording alone, or chance, moves lines here" in study._null(row)


@check_each(
    ("settings", "words"),
    [
        ({"probe": "attitude"}, "set probe=agreement"),
        ({"survey": "ends"}, "set survey=rounds"),
        ({"rounds": 1}, "at least 2 rounds"),
        ({"roles": ("skeptic",)}, "frames are roles"),
    ],
)
def test_scenarios_in_which_the_gap_means_nothing_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        study.conditions(load_preset("honesty", settings))


# Lines of known grade


def quiet(title: str, total: int) -> contextlib.AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda done: None)


def test_known_lines_calibrate_the_oracle_exactly() -> None:
    """18 sentences of the bank are read without error; 4 examples by hand are in no bank of it, and are counted as missing."""
    judged = judge_lines(known_lines(["racism"]), Judge(open_spec("oracle"), quiet), Judging())
    assert judged["source"].value_counts().to_dict() == {"bank": 18, "example": 4}
    assert judged["score"].isna().sum() == 4
    one = calibrations(judged)["racism"]
    assert (one.intercept, one.slope, one.error) == (
        pytest.approx(0, abs=1e-9),
        pytest.approx(1),
        pytest.approx(0, abs=1e-9),
    )
    assert study.grader_quality(judged)["missing"].tolist() == [4]
    examples = judged[judged["source"] == "example"]
    assert examples["grade"].tolist() == on_axis(pd.Series([1.0, 7.0, 3.0, 5.0]), pd.Series(["racism"] * 4)).tolist()


@check_each(
    ("text", "words"),
    [
        ("topic,text\nracism,A\n", "lacks the column grade"),
        ("topic,text,grade\nguns,A,1\n", "the topic guns is not in this study"),
        ("topic,text,grade\nracism,A,11\n", "row 2: grade must be a number from 0 to 10"),
        ("topic,text,grade\nracism,,1\n", "row 2: text is empty"),
        ("topic,text,grade\nracism,A,high\n", "row 2: grade must be a number"),
    ],
)
def test_lines_of_the_user_that_do_not_fit_are_refused(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        read_lines(path, ["racism"])


def test_lines_of_the_user_are_read(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text("topic,text,grade\nracism,Too little is done.,8.5\n")
    (row,) = known_lines([], read_lines(path, ["racism"])).to_dict("records")
    assert row == {"topic": "racism", "source": "file", "text": "Too little is done.", "grade": 8.5}


@pytest.mark.thorough
def test_the_command_writes_the_report_and_repeats_it(tmp_path: Path) -> None:
    """Two rooms: no verdict; the same command again asks nothing and writes the same bytes."""
    asked = ["honesty", "--llm", "oracle", "--repetitions", "2", "--rounds", "2", "--out", str(tmp_path)]
    assert run.main(asked) == 0
    page = (tmp_path / "honesty.md").read_text()
    assert "is unknown: fewer than 5 rooms" in page
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {*study.CONDITIONS, "judge"}
    kept = page, (tmp_path / "reward" / "record.jsonl").read_bytes()
    assert run.main(asked) == 0
    assert ((tmp_path / "honesty.md").read_text(), (tmp_path / "reward" / "record.jsonl").read_bytes()) == kept
