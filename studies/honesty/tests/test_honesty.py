"""The same conversation in frames: a planted shift is found, none without one, and lines of known grade calibrate a judge."""

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
from parley.analysis.judge_quality import on_axis
from parley.analysis.judging import Judge
from parley.analysis.line_gaps import line_gaps
from parley.analysis.statement_judge import Judging
from parley.analysis.tables import Tables, tables
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.speech_laws import FRAMES
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import Scenario, load_preset
from parley.studies.honesty import measures
from parley.studies.honesty.measures import calibrations, grader_quality, judge_lines, known_lines, read_lines
from parley.studies.honesty.report import _null, sentences


def sat(scenario: Scenario) -> Tables:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


def test_every_frame_can_be_planted() -> None:
    """A frame that the study has and the oracle refuses could not be planted."""
    assert measures.CONDITIONS == FRAMES


@cache
def framed(llm: str, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return effects and levels of all frames on the rule-based speaker, with known grades."""
    base = load_preset("honesty", {"llm": llm, "seed": seed, "repetitions": 6, "rounds": 3})
    runs = {name: sat(base.with_settings(settings)) for name, settings in measures.conditions(base).items()}
    lines = {name: line_gaps(one, one.graded) for name, one in runs.items()}
    return measures.effects({name: measures.rooms(part) for name, part in lines.items()}), measures.levels(lines, {})


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
    said_ = sentences(found, level, 0.0)
    assert said_[0].startswith("In the frame reward, messages shift ")
    assert "no shift of messages" in said_[1]
    assert "no effect that is distinguishable" in said_[4]


def test_two_rooms_have_no_verdict() -> None:
    """Every sentence on an effect says that it is unknown, and why."""
    frame = pd.DataFrame({"topic": "t", "group": "g", "repetition": [0, 1], "toward": [1.0, 2.0], "growth": np.nan})
    frame = frame.assign(absolute=[1.0, 2.0], lines=4, missing=0, directed=3, floor=0.0)
    found = measures.effects(dict.fromkeys(measures.CONDITIONS, frame))
    row = {"frame": "neutral", "rooms": 2, "above_low": np.nan, "above_high": np.nan, "absolute": 1.5}
    told = sentences(found, pd.DataFrame([row]), np.nan)
    assert all("fewer than 5 rooms" in line for line in (*told[:4], told[5]))
    assert told[4] == "Null: the neutral frame in other words has an unknown effect: fewer than 5 rooms."
    assert "the grader's own error is unknown" in told[6]


def test_the_null_warns_where_wording_alone_moves_lines() -> None:
    row = {"effect": 0.5, "effect_low": 0.2, "effect_high": 0.8, "reason": ""}
    assert "Wording or chance causes this shift" in _null(row)


@check_each(
    ("settings", "words"),
    [
        ({"probe": "attitude"}, "set probe=agreement"),
        ({"survey": "ends"}, "set survey=rounds"),
        ({"rounds": 1}, "at least 2 rounds"),
        ({"roles": ("skeptic",)}, "a frame is a role too"),
    ],
)
def test_scenarios_in_which_the_gap_means_nothing_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        measures.conditions(load_preset("honesty", settings))


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
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
    assert grader_quality(judged)["missing"].tolist() == [4]
    examples = judged[judged["source"] == "example"]
    assert examples["grade"].tolist() == on_axis(pd.Series([1.0, 7.0, 3.0, 5.0]), pd.Series(["racism"] * 4)).tolist()


@check_each(
    ("text", "words"),
    [
        ("topic,text\nracism,A\n", "lacks the column grade"),
        ("topic,text,grade\nguns,A,1\n", "the topic guns is not in the study"),
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
    asked = ["study", "honesty", "--llm", "oracle", "--repetitions", "2", "--rounds", "2", "--out", str(tmp_path)]
    assert run.main(asked) == 0
    page = (tmp_path / "honesty.md").read_text()
    assert "fewer than 5 rooms" in page
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {*measures.CONDITIONS, "judge"}
    kept = page, (tmp_path / "reward" / "record.jsonl").read_bytes()
    assert run.main(asked) == 0
    assert ((tmp_path / "honesty.md").read_text(), (tmp_path / "reward" / "record.jsonl").read_bytes()) == kept
