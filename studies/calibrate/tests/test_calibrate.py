"""The calibration report: what is planted is found, what is not planted is not, and the report says which is which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.analysis.influence_model import ALL
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.calibrate.measures import SPEAKERS, Known, calibrate, chosen, forest, write

pytestmark = pytest.mark.usefixtures("pictures")

ORACLES = chosen(["oracle"])


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The oracle and its control, 30 rooms on one topic."""
    return held(ORACLES, tmp_path_factory.mktemp("calibration"))


def base(**settings: object) -> object:
    return load_preset("three_way").with_settings(
        {"topic": "climate_change", "repetitions": 30, "rounds": 5} | settings
    )


def held(speakers: tuple[Known, ...], folder: Path) -> pd.DataFrame:
    study = calibrate(base(), speakers)  # type: ignore[arg-type]
    scenario = next(study)
    for number in range(len(speakers)):
        run_scenario(RunSpec(scenario, folder / str(number)))
        try:
            scenario = study.send(load(folder / str(number)))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
    raise AssertionError("the study asked for more than its speakers")


def of_all(calibrated: pd.DataFrame, speaker: str) -> pd.DataFrame:
    """The fit over all agents of a speaker."""
    return calibrated[(calibrated["speaker"] == speaker) & (calibrated["party"] == ALL)].set_index("parameter")


@pytest.mark.thorough
def test_what_is_planted_is_found(calibrated: pd.DataFrame) -> None:
    rows = of_all(calibrated, "oracle")
    assert list(rows["planted"]) == [0.05, 0.06, 8.4]
    assert rows["covered"].all()
    assert (rows.loc[["kappa", "mu"], "low"] > 0).all(), "with 30 rooms the pull is told from nothing"
    assert (rows["graded"] == 1).all()


def test_where_nothing_is_planted_nothing_is_found(calibrated: pd.DataFrame) -> None:
    rows = of_all(calibrated, "oracle, control")
    assert (rows.loc[["kappa", "mu"], "planted"] == 0).all()
    assert rows.loc[["kappa", "mu"], "covered"].all()
    assert rows.loc["bias", ["planted", "estimate"]].isna().all(), "no pull, no level that pulls"
    assert not rows.loc["bias", "covered"]


def test_every_speaker_holds_the_same_debates() -> None:
    """The scenarios differ in nothing but the speaker."""
    study = calibrate(base(), SPEAKERS)  # type: ignore[arg-type]
    first = next(study)
    assert first.models.llm == "oracle"
    assert [speaker.spec for speaker in SPEAKERS[1::2]] == ["oracle,kappa=0,mu=0", "pocket:control"]


def test_the_report_shows_planted_beside_found(calibrated: pd.DataFrame, tmp_path: Path) -> None:
    path = write(calibrated, tmp_path, base())  # type: ignore[arg-type]
    text = path.read_text()
    assert "3 of 3 intervals contain the planted value. 100% of the messages have a known opinion (grade)." in text
    assert "No row says anything about people or about large language models." in text
    assert "| climate change | 0.050 |" in text
    again = pd.read_csv(tmp_path / "calibration.csv")
    assert list(again["estimate"].dropna()) == pytest.approx(list(calibrated["estimate"].dropna()))
    assert (tmp_path / "calibration.png").stat().st_size > 10_000


def test_the_figure_marks_what_is_planted_and_leaves_out_what_is_not_there(calibrated: pd.DataFrame) -> None:
    """A cross for every planted value, an interval for every estimate; no row of the control's bias has either."""
    drawn = forest(calibrated, base())  # type: ignore[arg-type]
    kinds = [[line.get_marker() for line in axis.get_lines()] for axis in drawn.axes]
    assert [marks.count("x") for marks in kinds] == [2, 2, 1]
    assert [marks.count("o") for marks in kinds] == [2, 2, 1]


def test_the_command_resumes_and_tells_where_the_report_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["study", "calibrate", "--llm", "oracle", "--topic", "racism", "--repetitions", "6", "--rounds", "3"]
    assert run.main([*command, "--out", str(tmp_path / "here")]) == 0
    assert "calibration.md" in capsys.readouterr().out
    assert run.main([*command, "--out", str(tmp_path / "here")]) == 0
    assert capsys.readouterr().out.count("so no model was called") == 2


def test_too_few_rooms_and_wrong_names_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = [
        "study",
        "calibrate",
        "--llm",
        "oracle",
        "--topic",
        "racism",
        "--repetitions",
        "3",
        "--out",
        str(tmp_path / "few"),
    ]
    assert run.main(few) == 2
    assert "a fit needs at least 5" in capsys.readouterr().err
    with pytest.raises(UserError, match="did you mean oracle"):
        chosen(["orakle"])


def test_chosen_speakers_come_with_their_control(small: Callable) -> None:
    assert [speaker.title for speaker in chosen(["pocket"])] == ["pocket", "pocket, control"]
    assert chosen([]) == SPEAKERS
