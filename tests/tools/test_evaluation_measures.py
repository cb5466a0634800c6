"""What the pocket model is measured by, on speakers whose figures are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from parley.llm.backends import open_spec
from parley.llm.request import DECLINED, Reply, Request
from tools.pocket.card import text_figures
from tools.pocket.evaluate import evaluate
from tools.pocket.evaluation_measures import hold_debates
from tools.pocket.interview_measures import interview_figures


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle measured beside itself."""
    out = tmp_path_factory.mktemp("card")
    evaluate(open_spec("oracle"), open_spec("oracle"), 3, out)
    return out


@pytest.mark.thorough
def test_a_speaker_beside_itself_differs_in_nothing(evaluated: Path) -> None:
    gaps = pd.read_csv(evaluated / "ratings.csv")
    assert len(gaps) == 168
    assert gaps["difference"].abs().max() == 0
    model, oracle = (pd.read_csv(evaluated / f"text_{speaker}.csv") for speaker in ("model", "oracle"))
    assert model.equals(oracle)


@pytest.mark.parametrize("lines", ["bare", "told"])
def test_the_oracles_ratings_follow_what_it_hears(evaluated: Path, lines: str) -> None:
    """The measure finds the planted influence: higher grades, higher ratings, and the extremes push to both sides."""
    pushed = pd.read_csv(evaluated / f"counterfactual_{lines}_model.csv")
    assert (pushed["rho"] >= 0.9).mean() > 0.8
    assert (pushed["g10"] > pushed["g0"]).all()
    assert (pushed["push_up"] > pushed["push_down"]).all()


@pytest.mark.thorough
def test_a_speaker_that_nothing_moves_is_told_from_one_that_is(tmp_path: Path) -> None:
    evaluate(open_spec("oracle,kappa=0"), open_spec("oracle"), 3, tmp_path)
    pushed = pd.read_csv(tmp_path / "counterfactual_bare_model.csv")
    assert (pushed["g10"] - pushed["g0"]).abs().max() < 0.5


@pytest.mark.thorough
def test_no_share_is_told_of_an_influence_that_is_not_planted(tmp_path: Path) -> None:
    """A share of a movement of nearly nothing is any number; the movement stands there in points."""
    unmoved = open_spec("oracle,kappa=0,mu=0")
    evaluate(unmoved, unmoved, 3, tmp_path)
    text = (tmp_path / "card.md").read_text()
    assert "of grade 10 in place of grade 0 move a rating by" in text
    assert "(least cell)" not in text


def test_the_oracles_text_is_what_it_is_known_to_be(evaluated: Path) -> None:
    figures = pd.read_csv(evaluated / "text_oracle.csv").set_index("figure")["value"]
    assert figures[["on_topic", "as_in_bank", "graded"]].tolist() == [1, 1, 1]
    assert figures[["silent", "wrong_party", "names_absent"]].tolist() == [0, 0, 0]
    assert figures["grade_r"] > figures["grade_r_within"] > 0.5


def test_the_card_shows_every_topic_and_the_transcripts_twenty_rooms(evaluated: Path) -> None:
    text = (evaluated / "card.md").read_text()
    assert "first ratings: 91 of 91 cells" in text
    assert "last ratings: 77 of 77 cells" in text
    assert text.count("+0.00±0.00") == 168
    assert (evaluated / "transcripts.md").read_text().count("## ") == 20


@pytest.mark.thorough
def test_intervals_of_text_shrink_with_rooms() -> None:
    """A jackknife over rooms: four times the rooms, about half the interval; none where nothing varies."""
    from parley.model.scenario import load_preset

    def reach(rooms: int) -> pd.Series:
        scenario = load_preset("three_way").with_settings({"topic": "racism", "repetitions": rooms, "rounds": 3})
        return text_figures(hold_debates(scenario, open_spec("oracle"))).set_index("figure")["reach"]

    few, many = reach(10), reach(40)
    assert many["words"] == pytest.approx(few["words"] / 2, rel=0.5)
    assert many["on_topic"] == 0


def test_answers_about_oneself_are_read_right_and_not_by_another_persons_facts(evaluated: Path) -> None:
    """The oracle answers every kind of question; read by the facts of the next person, its answers are wrong."""
    found = pd.read_csv(evaluated / "interviews.csv").set_index("kind")
    assert len(found) == 20
    assert found["asked"].eq(120).all()
    assert found["right"].equals(found["oracle"])
    assert found["right"].min() > 0.9
    assert found.drop(index=["party", "agree_with"])["null"].max() < 0.1
    assert found.loc["unknown", "declined"].eq(1).all()


def test_a_speaker_that_always_declines_knows_nothing_of_itself() -> None:
    class Declining:
        def complete(self, requests: Sequence[Request]) -> list[Reply]:
            return [Reply("That is something I do not know.", notes={DECLINED: 1}) for _ in requests]

    found = interview_figures(Declining(), open_spec("oracle"), 10).set_index("kind")
    assert found.loc["unknown", "right"].tolist() == found.loc["unknown", "null"].tolist() == [1, 1]
    assert found.drop(index="unknown")["right"].max() == 0
