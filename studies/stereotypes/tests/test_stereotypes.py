"""The survey of personas: planted views of the other party, interviews turn by turn, and answers of a user."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.language import load_language
from parley.agents.persona import load_personas
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Message, Reply
from parley.studies.stereotypes import individuation as measures
from parley.studies.stereotypes.individuation import NO_MATCH, Measured
from parley.studies.stereotypes.perception import (
    DIFFERENCE,
    OUT,
    count_unpaired,
    perception_distances,
    perception_gaps,
    wide,
)
from parley.studies.stereotypes.report import PLAIN, check_guesses, findings, measure_all, read_answers, write
from parley.studies.stereotypes.survey import (
    ATTEMPTS,
    PersonaSurvey,
    answer_problem,
    interview_life,
    life_questions,
    run_survey,
)

TOPICS = ("racism", "abortion", "climate_change")


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permute 99 times instead of 999, so that the tests are quick."""
    monkeypatch.setattr(measures, "DRAWS", 99)
    monkeypatch.setattr("parley.studies.stereotypes.perception.DRAWS", 99)


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda done: None)


def seen(spec: str, folder: Path) -> pd.DataFrame:
    return run_survey(PersonaSurvey("twins", TOPICS), spec, folder, quiet)


def test_planted_exaggeration_is_found_and_none_is_not(tmp_path: Path) -> None:
    """A speaker that puts the other party half as far again is found by gap and d; one without is not; both repeat exactly."""
    near, far = seen("oracle", tmp_path / "near"), seen("oracle,exaggeration=1.2", tmp_path / "far")
    gaps = {
        name: {one.measure: one for one in perception_gaps(table, wide(table))}
        for name, table in (("n", near), ("f", far))
    }
    none, planted = (gaps[name][DIFFERENCE] for name in "nf")
    assert none.low < 0 < none.high
    assert planted.low > 0.4
    assert none.people == 40
    distances = perception_distances(far, wide(far)).set_index(["seen by", "target"])
    assert (distances.loc[OUT, "low"] > 0).all()
    assert (distances.loc[OUT, "p"] < 0.05).all()
    pd.testing.assert_frame_equal(seen("oracle", tmp_path / "near"), near)


def test_gap_by_hand() -> None:
    """Group b answers 8, a 2. Seen by a at 10, b is 2 points too extreme; seen by b at 8, it is right."""
    rows = [(group, f"{group}{n}", "q", "", value, "") for group, value in (("a", 2.0), ("b", 8.0)) for n in range(6)]
    for group, about, value in (("a", "a", 2.0), ("a", "b", 10.0), ("b", "a", 0.0), ("b", "b", 8.0)):
        rows += [(group, f"{group}{n}", "q", about, value + 0.1 * n - 0.25, "") for n in range(6)]
    table = pd.DataFrame(rows, columns=["group", "person", "question", "about", "answer", "reason"])
    own, out, difference = perception_gaps(table, wide(table))
    assert [round(one.value, 6) for one in (own, out, difference)] == [0.0, 2.0, 2.0]
    few = perception_gaps(table[table["person"].str[1].astype(int) < 3], wide(table))
    assert few[1].reason == "fewer than 5 persons"
    table.loc[table["about"] == "b", "answer"] = np.nan
    unknown = perception_gaps(table, wide(table))[1]
    assert np.isnan(unknown.value)
    assert unknown.reason == "fewer than 5 persons"


def views(people: int, questions: int, seed: int) -> pd.DataFrame:
    """Return answers of groups a (about 3) and b (about 7), and guesses about both that are drawn like the answers."""
    rng, numbers = np.random.default_rng(seed), range(people)
    rows = [
        (group, f"{group}{person}", f"q{question}", about, 5 + 2 * side + rng.normal(0, 1), "")
        for group in "ab" for person in numbers for question in range(questions)
        for about, side in (("", -1 if group == "a" else 1), ("a", -1), ("b", 1))
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["group", "person", "question", "about", "answer", "reason"])


def test_the_groups_are_compared_on_the_same_questions() -> None:
    """Where everyone sees both groups 2 points too far on one question alone, guesses refused on others make no difference."""
    table = views(20, 3, 1)
    about, other = table["about"] != "", table["question"] != "q0"
    table.loc[about & ~other, "answer"] += np.where(table["about"] == "a", -2, 2)[about & ~other]
    table.loc[about & other & (table["about"] != table["group"]), "answer"] = np.nan
    difference = perception_gaps(table, wide(table))[2]
    assert difference.low < 0 < difference.high


@pytest.mark.parametrize("kept", [("q0",), ()])
def test_guesses_need_not_cover_every_question(kept: tuple[str, ...]) -> None:
    """Guesses on one of two questions are measured on that one; without a guess that was read nothing is, not even a p."""
    table = views(6, 2, 1)
    actual = wide(table)
    table = table[(table["about"] == "") | (table["question"] == "q0")]
    table.loc[(table["about"] != "") & ~table["question"].isin(kept), "answer"] = np.nan
    found, distances = perception_gaps(table, actual), perception_distances(table, actual)
    assert count_unpaired(table[(table["about"] != "b") | (table["group"] == "a")]) == (
        6 if kept else 0,
        12 if kept else 0,
    )
    assert all(np.isfinite(one.value) == bool(kept) for one in found)
    assert (distances[["w", "p"]].notna() == bool(kept)).all(axis=None)


@pytest.mark.parametrize("refused", [0, 0.6])
def test_distance_of_guesses_that_are_drawn_like_answers_is_by_chance(
    refused: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few guesses, or many that are missing, are no farther from the answers than by chance in about 19 of 20 sets."""
    monkeypatch.setattr("parley.studies.stereotypes.perception.DRAWS", 39)
    false = 0
    for seed in range(12):
        table = views(15, 2, seed)
        lost = (table["about"] != "") & (np.random.default_rng(seed).random(len(table)) < refused)
        table.loc[lost, "answer"] = np.nan
        found = perception_distances(table, wide(table), seed)
        false += int((found["p"] < 0.05).sum())
    assert false <= 6  # of 48


def test_interview_turn_by_turn() -> None:
    """Each question is asked after all answers before it; a contradiction is asked again, and ends the interview if it stays."""
    person, language = load_personas("republican")[0], load_language("en")
    asked = []

    def answer(request: object) -> str:
        asked.append(request)
        return f"Answer {len(asked)}."

    (lived,) = drive([interview_life(person, life_questions(language, 3), language, 0)], Fake(answer))
    assert [len(request.messages) for request in asked] == [2, 4, 6]
    assert [message.content for message in asked[2].messages if message.role == "assistant"] == [
        "Answer 1.",
        "Answer 2.",
    ]
    assert lived.reason == ""
    assert len(lived.turns) == 6
    young = (Message("system", "You are Ann, 24, a nurse."),)
    assert answer_problem(Reply("I am happily retired, and my garden is large."), young, language)
    assert answer_problem(Reply("I like my work."), young, language) is None
    (broken,) = drive([interview_life(person, life_questions(language, 3), language, 0)], Fake(lambda request: " "))
    assert broken.reason == "question 1: empty"
    assert broken.again == ATTEMPTS
    for code in ("en", "de"):
        with pytest.raises(UserError, match="the interview has only 10 questions"):
            life_questions(load_language(code), 11)


def test_sentences_have_the_verdict_of_each_measure() -> None:
    """Above the null, below it, inside the interval, a p above .05, and unknown with its reason."""
    rows = [
        Measured("gap: out-group minus own group", 1.0, 0.5, 1.5, 80, 0.0),
        Measured("gap: out-group minus own group", -0.5, -0.7, -0.3, 80, 0.0),
        Measured("slope on groups (people: 1)", 0.5, 0.3, 0.7, 80, 1.0),
        Measured("spread within groups (people: 1)", 1.1, 0.9, 1.3, 80, 1.0),
        Measured("share of groups, personas", 0.1, 0.01, 0.19, 80, 0.0, 0.2),
        Measured("individuation: r with the own person", reason=NO_MATCH),
    ]
    table = pd.DataFrame([{"source": "personas", **one._asdict()} for one in rows])
    assert [line.partition("; ")[0] for line in findings(table)] == [
        "Personas: compared with what each group answers, the other group is seen as more extreme than the own group",
        "Personas: compared with what each group answers, the other group is seen as less extreme than the own group",
        "Personas: groups of personas are less far apart than groups of people",
        "Personas: personas of a group do not clearly differ more or less than people of a group",
        "Personas: groups do not clearly differ",
        f"Personas: individuation: r with the own person is unknown, because {NO_MATCH}.",
    ]


def test_command_with_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside people whose groups are half as far apart, the slope is about 2; people named as personas give an individuation."""
    table = seen("oracle", tmp_path / "own")
    own = table[table["about"] == ""].copy()
    own["answer"] = 5 + (own["answer"] - 5) / 2 + np.random.default_rng(0).normal(0, 0.5, len(own))
    own.drop(columns=["about", "reason"]).to_csv(tmp_path / "people.csv", index=False)
    words = [
        "study",
        "stereotypes",
        "--personas",
        "twins",
        "--topic",
        ",".join(TOPICS),
        "--people",
        str(tmp_path / "people.csv"),
    ]
    assert run.main([*words, "--out", str(tmp_path / "a")]) == 0
    found = pd.read_csv(tmp_path / "a/measures.csv").set_index("measure")
    slope, like = found.loc["slope on groups (people: 1)"], found.loc["individuation: r with the own person"]
    assert 1.7 < slope["low"] < 2 < slope["high"] < 2.3
    assert like["low"] > 0
    assert like["p"] < 0.05
    assert "Individuals or stereotypes" in (tmp_path / "a/stereotypes.md").read_text(encoding="utf-8")
    capsys.readouterr()
    words = ["study", "stereotypes", "--answers", str(tmp_path / "people.csv"), "--out", str(tmp_path / "b")]
    assert run.main(words) == 0
    assert not (tmp_path / "b/stereotypes.png").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("person,group,question\na,b,c\n", "lacks the column answer"),
        ("person,group,question,answer\na,b,c,11\n", "row 2: answer must be a number from 0 to 10"),
        (
            "person,group,question,answer\na,b,c,x\n",
            "row 2: answer must be a number from 0 to 10, or empty if it is missing, not 'x'",
        ),
        ("person,group,question,answer\na,,c,1\n", "row 2: group is empty"),
        ("person,group,question,answer\na,b,c,1\na,b,c,2\n", "repeats a person"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    """A file that does not fit, or guesses about a group that never answers, is refused ; an empty answer is missing."""
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_answers(tmp_path / "people.csv")
    (tmp_path / "holes.csv").write_text("person,group,question,answer\na,b,c,\na,b,d,7\n", encoding="utf-8")
    assert read_answers(tmp_path / "holes.csv", (1, 7))["reason"].tolist() == ["empty", ""]
    table = views(1, 1, 0)
    check_guesses(table, table, tmp_path / "views.csv")
    with pytest.raises(UserError, match="guesses about c, a group without answers"):
        check_guesses(table.replace({"about": {"b": "c"}}), table, tmp_path / "views.csv")


@pytest.mark.thorough
@pytest.mark.parametrize(("people", "lost"), [(1, ""), (8, "a"), (8, "b"), (8, "ab")])
def test_few_people_and_missing_groups_are_unknown(people: int, lost: str, tmp_path: Path) -> None:
    """One persona a group, a group without answers, or none at all: no number is made up, and each has its reason."""
    rng = np.random.default_rng(people)
    rows = [
        (group, f"{group}{person}", f"q{question}", about, math.nan if group in lost else rng.uniform(0, 10), "")
        for group in "ab" for person in range(people) for question in range(3) for about in ("", "a", "b")
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["group", "person", "question", "about", "answer", "reason"])
    full = table.assign(answer=rng.uniform(0, 10, len(table)))
    found = measure_all({PLAIN: table}, full, 0)
    mine = found[(found["source"] == PLAIN) & ~found["measure"].str.endswith("people")]
    assert mine[["value", "low"]].isna().all(axis=None) or (people == 1 and mine["low"].isna().all())
    assert (mine["reason"] != "").all()
    assert write({PLAIN: table}, full, "x", "oracle", 0, tmp_path).exists()


def test_the_plan_counts_what_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was no --dry-run. The plan names as many calls as the same command then makes."""
    command = ["study", "stereotypes", "--topic", "racism,abortion", "--personas", "twins", "--llm", "oracle"]
    assert run.main([*command, "--interview", "2", "--dry-run", "--out", str(tmp_path / "run")]) == 0
    planned = capsys.readouterr().out
    assert not (tmp_path / "run").exists()
    asked: list[int] = []
    survey = PersonaSurvey("twins", ("racism", "abortion"), 2)

    def count(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
        return contextlib.nullcontext(asked.append)

    run_survey(survey, "oracle", tmp_path / "run", count)
    assert sum(asked) == survey.calls
    plain = PersonaSurvey("twins", ("racism", "abortion")).calls
    assert planned == f"{len(survey.people()):,} personas, 2 topics: {sum(asked) + plain:,} calls\n"
