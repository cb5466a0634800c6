"""A run in Python: the same run as from the command line, and everything that it found."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

import parley
import run as command_line
from parley.analysis.runs import FRAMES

SMALL = {"llm": "oracle", "topic": "racism", "repetitions": 5, "rounds": 1}
WORDS = "--scenario two_way --llm oracle --topic racism --repetitions 5 --rounds 1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> parley.Run:
    return parley.run("two_way", out=tmp_path_factory.mktemp("runs") / "a", **SMALL)


@pytest.mark.thorough
def test_it_is_the_run_of_the_command_line(made: parley.Run, tmp_path: Path) -> None:
    """Byte for byte but for the header, and nothing is asked again in the same folder."""
    assert command_line.main([*WORDS.split(), "--out", str(tmp_path / "b")]) == 0
    records = [folder / "record.jsonl" for folder in (made.folder, tmp_path / "b")]
    mine, theirs = (record.read_text(encoding="utf-8").splitlines() for record in records)
    assert mine[1:] == theirs[1:]
    again = parley.run("two_way", out=made.folder, **SMALL)
    assert again.attitudes.equals(made.attitudes)


def test_its_tables_are_frames(made: parley.Run) -> None:
    loaded = parley.load(str(made.folder))
    assert len(loaded.attitudes) == 25
    assert loaded.attitudes.equals(made.attitudes)
    assert all(len(getattr(made, name).columns) for name in FRAMES)
    assert set(FRAMES) < set(dir(made))
    assert repr(made) == f"<Run of two_way on oracle in {made.folder}>"
    with pytest.raises(AttributeError, match="a run has no 'atitudes'"):
        made.atitudes  # noqa: B018


def test_a_game_has_its_moves(tmp_path: Path) -> None:
    """Tables of a study are tables of a run; for a while they had become unreachable from Python."""
    game = parley.run("trust_game", llm="oracle", repetitions=1, out=tmp_path / "game")
    assert len(game.moves)
    assert "moves" in dir(game)


def test_what_it_found(made: parley.Run, tmp_path: Path) -> None:
    """Summary, a metric, a figure and a page; a metric that is none is told with the nearest."""
    assert made.summary.startswith("# ")
    assert "party" in made.metric("drift").columns
    assert isinstance(made.plot(), Figure)
    assert "<h1" in made.report(tmp_path / "a.html").read_text(encoding="utf-8")
    with pytest.raises(parley.UserError, match="did you mean polarisation"):
        made.metric("polarization")


def test_what_is_wrong_is_a_user_error(tmp_path: Path) -> None:
    """A folder without a record, a field that is none: one line, and no folder."""
    with pytest.raises(parley.UserError, match="cannot read the record"):
        parley.load(tmp_path / "nowhere")
    with pytest.raises(parley.UserError, match="unknown field"):
        parley.run("two_way", out=tmp_path / "x", memry="whole")
    assert not (tmp_path / "x").exists()


def test_a_notebook_shows_a_run_and_model_text_does_no_harm(made: parley.Run) -> None:
    """What a model says is text, never markup of the page that shows it."""
    loaded = parley.load(made.folder)
    loaded.tables.utterances.loc[0, "text"] = "<script>alert(1)</script>"
    shown = loaded._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "0 of 25 ratings are missing" in shown


def test_two_rooms_give_no_verdict(tmp_path: Path) -> None:
    """Below five rooms the ends of an interval are missing, not numbers."""
    few = parley.run("two_way", out=tmp_path / "few", progress=False, **{**SMALL, "repetitions": 2})
    drift = few.metric("drift")
    ends = [name for name in drift.columns if name.endswith(("low", "high"))]
    assert ends
    assert drift[ends].isna().all(axis=None)


def test_a_run_without_ratings_is_shown_without_numbers(tmp_path: Path) -> None:
    """Nothing was asked: an empty table and a figure that says so."""
    silent = parley.run("two_way", out=tmp_path / "none", progress=False, survey="never", **SMALL)
    assert silent.attitudes.empty
    assert "0 of 0 ratings are missing" in silent._repr_html_()
    assert isinstance(silent.plot(), Figure)


def test_figures_have_names(made: parley.Run) -> None:
    assert made.plots == ["attitudes"]
    assert isinstance(made.plot("attitudes"), Figure)
    with pytest.raises(parley.UserError, match="unknown figure 'attitude': did you mean attitudes"):
        made.plot("attitude")
