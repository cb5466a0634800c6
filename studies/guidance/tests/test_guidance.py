"""Sentiment of posts and guidance of public opinion: by hand, beside data, planted truths and nulls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.agents.language import load_language
from parley.analysis.curve_comparison import compare_with_data, read_data, sentences
from parley.analysis.judging import Judge, judge_by_rubric
from parley.analysis.rubric_report import by_round, rounds_of_rooms
from parley.analysis.tables import Tables, tables
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import Scenario, load_preset
from parley.studies.guidance import report as study
from parley.studies.guidance.statement import Guidance, own_words

SMALL = {
    "size": 12,
    "graph": "blocks,degree=4,homophily=0.7",
    "rounds": 7,
    "repetitions": 5,
    "think": "none",
    "survey": "ends",
    "acts": ["post", "nothing"],
}


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda done: None)


def held(scenario: Scenario) -> Tables:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


def scored(found: Tables) -> pd.DataFrame:
    return judge_by_rubric(study.RUBRIC, found, Judge(open_spec("oracle"), quiet), 0)


@cache
def guided(llm: str, seed: int = 0, **more: Any) -> pd.DataFrame:
    """Return the effects of all conditions on the rule-based speaker."""
    base = load_preset("public_opinion", {**SMALL, "seed": seed, "llm": llm, **more})
    found = {name: held(scenario) for name, scenario in study.conditions(base).items()}
    first = study.first_round(base)
    return study.effects({name: study.rooms(run_, scored(run_), first) for name, run_ in found.items()})


def effect(found: pd.DataFrame, measure: str, contrast: str) -> pd.Series:
    (row,) = [row for _, row in found.iterrows() if (row["measure"], row["contrast"]) == (measure, contrast)]
    return row


def test_a_planted_paradox_is_found_and_facts_move_attitudes() -> None:
    """Empathy lowers the tone by 2 points for each statement and no attitude; facts lower the attitude and no tone.

    As many posts come after 1 statement (round 6) as after 2 (round 7): the effect is -3, and that of facts on attitudes -1.
    """
    law = "oracle,kappa=0,tone=7,empathic_tone=-2,factual_attitude=-0.5"
    found = guided(law, activation="poisson,rate=2")
    for control in ("none", "empty", "factual"):
        row = effect(found, "sentiment", f"empathic - {control}")
        assert row["effect"] == pytest.approx(-3, abs=0.7)
        assert row["effect_high"] < -1.5
    facts = effect(found, "attitude", "factual - none")
    assert -1.1 < facts["effect"] < -0.8
    assert facts["effect_high"] < 0
    for measure, contrast in (
        ("attitude", "empathic - none"),
        ("sentiment", "factual - none"),
        ("sentiment", "empty - none"),
    ):
        assert abs(effect(found, measure, contrast)["effect"]) < 0.4
    told = study.sentences(found)
    assert told[0].startswith("Empathy paradox: empathy made posts more negative, by ")
    assert any(
        line.startswith("With facts, compared with no statement, attitudes ended") and "lower" in line for line in told
    )


@pytest.mark.thorough
def test_empathy_that_eases_the_mood_is_no_paradox() -> None:
    told = study.sentences(guided("oracle,tone=3,empathic_tone=2"))
    assert told[0].startswith("No empathy paradox: empathy eased the mood, by ")


@pytest.mark.thorough
def test_where_no_one_says_a_feeling_there_is_no_verdict() -> None:
    """All posts are neutral: nothing varies, so there is no interval, and no sentence claims one."""
    found = guided("oracle")
    assert effect(found, "sentiment", "empathic - none")["reason"] == "no variation"
    assert study.sentences(found)[0].startswith("It is unknown whether there is an empathy paradox")
    assert any("the effect on sentiment is unknown (no variation)" in line for line in study.sentences(found))


@check_each(
    ("whole", "content", "told"),
    [
        ((-2.0, -1.0), (-1.0, 0.5), "posts are 1.50 points more negative compared with no statement. A paradox needs"),
        ((-0.5, 1.0), (0.2, 0.4), "posts are 0.30 points more positive compared with an empty one. A paradox needs"),
        (
            (-2.0, -1.0),
            (1.0, 2.0),
            "negative compared with no statement and 1.50 points more positive compared with an empty",
        ),
        ((-1.0, 1.0), (-0.5, 0.5), "cannot be distinguished from posts without empathy"),
    ],
)
def test_one_clear_difference_is_not_said_to_be_none(
    whole: tuple[float, float], content: tuple[float, float], told: str
) -> None:
    """A paradox takes two clear differences; where one is clear, the sentence names it and does not deny it."""
    rows = [{"effect": (low + high) / 2, "effect_low": low, "effect_high": high} for low, high in (whole, content)]
    said = study.paradox(*rows)
    assert said.startswith("No empathy paradox was found: ")
    assert told in said


def test_with_two_rooms_there_is_no_verdict() -> None:
    frames = {name: pd.DataFrame({"topic": "t", "repetition": [0, 1], "group": "g"}) for name in study.CONDITIONS}
    for place, frame in enumerate(frames.values()):
        frame["sentiment"], frame["attitude"], frame["posts"] = [1.0 + place, np.nan], [5.0, 6.0], [2.0, 3.0]
    found = study.effects(frames)
    row = effect(found, "sentiment", "empathic - none")
    assert (row["pairs"], row["missing"], row["effect"], row["reason"]) == (1, 1, 3.0, "fewer than 5 repetitions")
    assert all("is unknown" in line for line in study.sentences(found))


@pytest.mark.thorough
def test_the_same_guidance_twice_has_no_effect() -> None:
    """Empty and factual with the same words and no planted effect: the same runs, so every difference is exactly 0."""
    words = own_words(load_language("en")).prompt("guidance_empty").text
    told = [Guidance(round=6, style=style, factual=words, by="Power Company") for style in ("empty", "factual")]
    base = load_preset("public_opinion", {**SMALL, "llm": "oracle,tone=4"})
    frames = []
    for one in told:
        found = held(base.with_settings({"interventions": (one,)}))
        frames.append(study.rooms(found, scored(found), 6)[["sentiment", "attitude", "posts"]])
    pd.testing.assert_frame_equal(*frames)


@pytest.mark.nightly
def test_without_an_effect_few_intervals_exclude_zero() -> None:
    """40 seeds with nothing planted but tones: at the level of 5%, 2 of 40 exclude 0; more than 6 have a probability of 1%.

    A paradox needs two intervals on the same side, so it is claimed more rarely still.
    """
    found = [guided("oracle,tone=4", seed, size=14, rounds=8, repetitions=6) for seed in range(40)]
    for measure in study.MEASURES:
        for treated, control in study.CONTRASTS:
            rows = [effect(one, measure, f"{treated} - {control}") for one in found]
            assert sum(row["effect_low"] > 0 or row["effect_high"] < 0 for row in rows) <= 6, (
                measure,
                treated,
                control,
            )
    assert sum(study.sentences(one)[0].startswith("Empathy paradox:") for one in found) <= 2


def test_a_scenario_without_guidance_or_survey_is_refused() -> None:
    with pytest.raises(UserError, match="no guidance whose styles could be compared: add --intervene"):
        study.conditions(load_preset("public_opinion", {"interventions": ()}))
    with pytest.raises(UserError, match="has no survey"):
        study.conditions(load_preset("public_opinion", {"survey": "never"}))


def test_conditions_change_the_style_alone() -> None:
    """News stays in all conditions; without guidance only the statements are gone."""
    base = load_preset("public_opinion")
    found = study.conditions(base)
    assert [len(one.interventions) for one in found.values()] == [2, 3, 3, 3]
    assert [one.interventions[-1].style for name, one in found.items() if name != "none"] == [
        "empty",
        "factual",
        "empathic",
    ]
    assert base.interventions[2].placebo().style == "empty"


@check_each("code", ["en", "de"])
def test_every_style_has_words_in_each_language(code: str) -> None:
    """One line each, and only {topic} to fill."""
    for style in ("empathic", "factual", "empty"):
        prompt = own_words(load_language(code)).prompt(f"guidance_{style}")
        assert prompt.slots <= {"topic"}
        assert "\n" not in prompt.text.strip()
    assert own_words(load_language(code)).words("official")


# Sentiment by round


def rated(rows: list[tuple[str, int, float | None]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["room", "round", "sentiment"])
    return frame.assign(text="Words.", sentiment=frame["sentiment"].astype(float))


@cache
def medium(llm: str = "oracle,tone=4") -> Tables:
    return held(load_preset("public_opinion", {**SMALL, "rounds": 6, "llm": llm}))


def test_rounds_of_rooms_by_hand() -> None:
    """A room without a post in a round has 0 posts and no sentiment; an unread post counts, and is missing."""
    found = medium()
    one, *_ = rooms = sorted(found.agents["room"].unique())
    table = rated([(one, 1, 2.0), (one, 1, 4.0), (one, 2, None), (rooms[1], 1, 9.0)])
    by_room = rounds_of_rooms(table, found, ["sentiment"]).set_index(["room", "round"])
    assert len(by_room) == 5 * 6
    assert by_room.loc[(one, 1), ["texts", "missing", "sentiment"]].tolist() == [2, 0, 3.0]
    assert by_room.loc[(one, 2), ["texts", "missing"]].tolist() == [1, 1]
    assert np.isnan(by_room.loc[(one, 2), "sentiment"])
    assert by_room.loc[(rooms[4], 6), "texts"] == 0
    point = by_round(by_room.reset_index(), ["sentiment"], (0, 10)).set_index("round").loc[1]
    assert (point["rooms"], point["sentiment"], point["texts"]) == (2, 6.0, 3 / 5)
    assert np.isnan(point["sentiment_low"])


def test_activity_follows_the_timetable() -> None:
    """The phases of the preset (from rounds 3 and 5 on) are seen in the number of people who act."""
    acts = medium().acts.groupby("round").size()
    assert acts[[5, 6]].min() > 2 * acts[[1, 2]].max()


# Compared with data


def written(folder: Path, text: str) -> Path:
    path = folder / "curve.csv"
    path.write_text(text)
    return path


def test_data_are_read_by_hand(tmp_path: Path) -> None:
    """Rows of a round are averaged by their posts, on the scale of the judge."""
    path = written(tmp_path, "round,sentiment,posts\n2,1,5\n1,-1,1\n1,0,3\n")
    found = read_data(path, (-1, 1))
    assert found.to_numpy().tolist() == [[1, pytest.approx(5 * (0.75)), 4], [2, 10, 5]]
    plain = read_data(written(tmp_path, "sentiment,round\n4,1\n6,1\n"))
    assert plain["sentiment"].tolist() == [5.0]
    assert plain["posts"].isna().all()


@check_each(
    ("text", "message"),
    [
        ("round,mood\n1,2\n", "lacks the column sentiment"),
        (
            "round,sentiment\n1,good\n",
            "row 2: sentiment must be a number from 0 to 10, or empty if it is missing, not 'good'",
        ),
        ("round,sentiment\n1,\n", "row 2: a value is empty"),
        ("round,sentiment\n0,3\n", "row 2: round must be a number from 1"),
        ("round,sentiment\n1.5,3\n", "row 2: round must be a whole number"),
        ("round,sentiment,posts\n1,3,0\n", "posts above 0"),
        (
            "round,sentiment,posts\n1,3,4\n2,3,inf\n",
            "row 3: posts must be a number of 0 or more, .* not 'inf'",
        ),
        ("round,sentiment\n1e30,3\n", "row 2: round must be a number from 1"),
        ("round,sentiment\n", "at least one row"),
        (
            "round,sentiment\n1,11\n",
            "row 2: sentiment must be .* give the scale of sentiment with --data-range",
        ),
        ("", "is empty: give a table whose first row names the columns"),
    ],
)
def test_data_that_do_not_fit_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_data(written(tmp_path, text))


def made_up(curve: np.ndarray, rooms: int = 8, noise: float = 0.2) -> pd.DataFrame:
    """Rooms around a curve of sentiment, with as many posts as sentiment says."""
    rng = np.random.default_rng(1)
    rows = [
        ("t", "g", room, f"r{room}", round_, max(0.0, value + rng.normal(0, noise)), 0, value + rng.normal(0, noise))
        for room in range(rooms)
        for round_, value in enumerate(curve, 1)
    ]
    return pd.DataFrame(
        rows, columns=["topic", "group", "repetition", "room", "round", "texts", "missing", "sentiment"]
    )


def data(curve: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"round": range(1, len(curve) + 1), "sentiment": curve, "posts": curve})


CURVE = 5 + 3 * np.exp(-(((np.arange(24) - 7) / 3.0) ** 2))
"""A rise and a fall over 24 rounds."""


def test_the_same_curve_is_found_and_a_shifted_one_is_not() -> None:
    """Level, correlation and place among shifts; a curve that is late by 8 rounds gets no verdict."""
    same = compare_with_data(made_up(CURVE + 1), data(CURVE)).set_index("measure")
    assert same.loc["sentiment", "level"] == pytest.approx(1, abs=0.1)
    assert same.loc["sentiment", "r"] > 0.95
    assert (same["place"] == 1).all()
    assert (same["error"] < same["flat"]).all()
    assert all("follows the data" in line for line in sentences(same.reset_index()))
    late = compare_with_data(made_up(np.roll(CURVE, 8)), data(CURVE))
    assert not any("follows the data (" in line for line in sentences(late))


def test_few_rounds_few_rooms_and_flat_curves_have_no_verdict() -> None:
    short = compare_with_data(made_up(CURVE[:4]), data(CURVE[:4]))
    few = compare_with_data(made_up(CURVE, rooms=3), data(CURVE))
    flat = compare_with_data(made_up(np.full(24, 5.0), noise=0.0), data(CURVE))
    for found in (short, few, flat):
        assert all("is unknown" in line for line in sentences(found))
    ten = compare_with_data(made_up(CURVE[:10]), data(CURVE[:10]))
    assert all("A verdict takes 21 rounds" in line for line in sentences(ten))


def test_a_curve_that_repeats_itself_fits_as_well_when_shifted() -> None:
    """Sentiment that goes up and down every other round fits after every second shift, so place 1 would be no evidence."""
    wave = 5 + 2 * (-1.0) ** np.arange(25)
    found = compare_with_data(made_up(wave), data(wave))
    assert (found["r"] > 0.9).all()
    assert (found["place"] == 12).all()
    assert all("in place 12" in line for line in sentences(found))


def test_curves_that_have_nothing_in_common_are_seldom_taken_for_a_fit() -> None:
    """80 pairs of random walks over 24 rounds: r alone would find a fit in many. With shifts of their changes it is 1 of 23 at
    most; 9 of 80 and more have a probability of 1%.
    """
    rng, claims, alone = np.random.default_rng(2), 0, 0
    for _ in range(80):
        one, other = (np.clip(5 + np.cumsum(rng.normal(0, 0.5, 24)), 0.5, 9.5) for _ in range(2))
        found = compare_with_data(made_up(one), data(other)).iloc[:1]
        claims += "follows the data (" in sentences(found)[0]
        alone += found["r_low"].iloc[0] > 0
    assert alone > 20
    assert claims <= 8


# The commands


@pytest.mark.thorough
def test_the_commands_write_what_they_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Guidance in four conditions, each a run; then sentiment of one of them beside a made-up file."""
    small = [
        "--repetitions",
        "1",
        "--rounds",
        "6",
        "--set",
        "size=8",
        "--set",
        "graph=ring,degree=2",
        "--set",
        "think=none",
    ]
    out = tmp_path / "g"
    assert run.main(["study", "guidance", "--llm", "oracle,tone=4", *small, "--out", str(out)]) == 0
    text = (out / "guidance.md").read_text()
    assert "t is unknown whether there is an empathy paradox" in text
    assert (out / "guidance.png").exists()
    assert {path.name for path in out.iterdir() if path.is_dir()} >= set(study.CONDITIONS)
    again = (out / "guidance.md").read_bytes(), (out / "empathic" / "record.jsonl").read_bytes()
    capsys.readouterr()
    assert run.main(["study", "guidance", "--llm", "oracle,tone=4", *small, "--out", str(out)]) == 0
    assert ((out / "guidance.md").read_bytes(), (out / "empathic" / "record.jsonl").read_bytes()) == again
    path = written(tmp_path, "round,sentiment,posts\n" + "".join(f"{round_},{round_},2\n" for round_ in range(1, 7)))
    told = ["study", "judge", str(out / "none"), "--rubric", "sentiment", "--llm", "oracle", "--data", str(path)]
    assert run.main(told) == 0
    page = (out / "none" / "sentiment" / "sentiment.md").read_text()
    assert "Compared with the data" in page
    assert run.main([*told, "--data-range", "low,high"]) == 2
    assert run.main([*told[:-1], str(tmp_path / "nowhere.csv")]) == 2
