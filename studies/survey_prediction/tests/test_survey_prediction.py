"""Prediction of survey answers, and the choice of questions: by hand, planted truths, nulls, splits, files and errors."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import run
from parley.agents.language import ENGLISH, load_language
from parley.analysis.journaled_calls import CallDesk
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.studies.survey_prediction import elicitation
from parley.studies.survey_prediction.asking import Interviewer, KnownPerson, SurveyItem
from parley.studies.survey_prediction.elicitation import (
    ADAPTIVE,
    ElicitationStudy,
    by_person,
    information_gain,
    overall_difference,
    run_elicitation,
)
from parley.studies.survey_prediction.measures import (
    QUESTION,
    auc_difference,
    baseline_predictions,
    clustered_auc,
    measure,
    shuffled_range,
)
from parley.studies.survey_prediction.oracle import predicted_agreement, statements
from parley.studies.survey_prediction.prediction import MODEL, PredictionStudy, compare_all, measure_all, sentences
from parley.studies.survey_prediction.survey import SETS, Survey, invent_survey, read_survey, split_survey

ITEMS = "question,text,yes,no\nparks,More parks?,yes,no\nroads,More roads?,agree,disagree\n"


def desk(folder: Path) -> CallDesk:
    return CallDesk(folder, lambda title, total, unit="call": contextlib.nullcontext(lambda count: None))


def interviewer(survey: Survey, folder: Path, llm: str = "oracle", **more: Any) -> Interviewer:
    return Interviewer(llm, survey.language, desk(folder), **more)


@cache
def predicted(name: str, folder: Path) -> tuple[PredictionStudy, Any]:
    study = PredictionStudy(invent_survey(name, 60), "oracle")
    return study, study.predict(interviewer(study.survey, folder), "predictions")


def test_auc_and_its_interval_by_hand() -> None:
    """Of four pairs of a 1 and a 0, three are in order and one is tied: .875. Two answers of one person count as one unit."""
    answers, guesses = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.9, 0.5, 0.5, 0.1])
    whole = clustered_auc(answers, guesses, np.arange(4), 4)
    assert whole.value == 0.875
    assert np.allclose(whole.steps, np.array([-0.0625, 0.0625, 0.0625, -0.0625]) / 0.75)
    rng = np.random.default_rng(1)
    answers, guesses = (rng.random(40) < 0.5).astype(float), rng.random(40)
    alone = clustered_auc(answers, guesses, np.arange(40), 40).interval()
    twice = clustered_auc(np.tile(answers, 2), np.tile(guesses, 2), np.tile(np.arange(40), 2), 40).interval()
    assert np.allclose(alone, twice)
    assert math.isnan(clustered_auc(np.ones(3), np.ones(3), np.arange(3), 3).value)


def test_the_interval_over_people_holds_its_level() -> None:
    """Guesses unrelated to answers that hang together within people: about 95% of intervals hold .5."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(200):
        people = np.repeat(np.arange(20), 6)
        answers = (rng.random(120) < np.repeat(rng.random(20), 6)).astype(float)
        low, high = clustered_auc(answers, np.repeat(rng.random(20), 6), people, 20).interval()
        hits += low <= 0.5 <= high
    assert 180 <= hits <= 199


def test_measures_by_hand() -> None:
    """The share of each question is weighted, and a missing prediction is counted, not guessed."""
    values = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    guesses = np.array([[0.9, 0.2], [0.3, np.nan], [0.7, 0.6]])
    row = measure(values, guesses, np.ones((3, 2), bool), np.array([1.0, 1.0, 2.0]))
    assert (row["answers"], row["lacking"], row["people"], row["questions"]) == (5, 1, 3, 2)
    assert row["auc"] == 1.0
    assert math.isnan(row["auc_within"])  # no question of five people
    assert row["brier"] == pytest.approx(np.mean([(0.01 + 0.04) / 2, 0.09, (0.09 + 0.16) / 2]))
    assert row["rho"] == pytest.approx(1.0)  # two questions
    assert math.isnan(row["auc_low"])  # three people


def test_a_question_weighs_by_its_people_and_a_small_one_does_not_count() -> None:
    """By hand: AUCs of 1 (2 and 3 answers), 0 (4 and 4) and 1 (two people): (6 / 5 + 0) / (6 / 5 + 16 / 8) = .375."""
    answers = np.array([[1, 1, 0, 0, 0, *[np.nan] * 3], [1, 1, 1, 1, 0, 0, 0, 0], [1, 0, *[np.nan] * 6]]).T
    guesses = np.where(np.array([False, True, False]), 1 - answers, answers)
    row = measure(answers, guesses, np.isfinite(answers), np.ones(8))
    assert row["auc_within"] == pytest.approx(0.375)


def test_the_shuffled_range_is_what_questions_alone_give() -> None:
    """Of predictions that are the same for all people, shuffling changes nothing: no width. With one answer there is no range."""
    survey = invent_survey("planted", 30)
    flat = np.tile(survey.values.mean(axis=0), (30, 1))
    mask = np.isfinite(survey.values)
    low, high = shuffled_range(survey.values, flat, mask, 0)
    assert high - low < 1e-9
    assert auc_difference(survey.values, flat, flat, mask)["difference"] == 0
    assert auc_difference(survey.values, flat, flat, mask)["people"] == mask.any(axis=1).sum(), "the unit, counted"
    assert math.isnan(shuffled_range(np.ones((5, 2)), np.ones((5, 2)), np.ones((5, 2), bool), 0)[0])


def test_predictions_that_know_nothing_of_people_are_in_the_shuffled_range() -> None:
    """People answer alike throughout, and guesses differ between people throughout, but not with the answers: at most 2 of 20
    AUCs lie above the range (0.5 expected; 4 if each question is dealt by itself). Guesses that know the people are above it.
    """
    above = [0, 0]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        person, guess = rng.normal(size=(2, 24, 1))
        noise, mask = rng.normal(size=(2, 24, 5)) / 4, np.ones((24, 5), bool)
        values = (person + noise[0] > 0).astype(float)
        for place, known in enumerate((guess, person)[: 2 if seed < 4 else 1]):
            people = np.repeat(np.arange(24), 5)
            auc = clustered_auc(values.ravel(), (known + noise[1]).ravel(), people, 24).value
            above[place] += auc > shuffled_range(values, known + noise[1], mask, seed)[1]
    assert above[0] <= 2
    assert above[1] == 4


def test_test_sets_share_what_they_say_and_nothing_else() -> None:
    """No hidden answer is known; unasked questions and new people have no training answer; each hidden answer is in one set."""
    survey = invent_survey("planted", 40)
    values = survey.values.copy()
    values[3, :] = np.nan
    values[4, 2:] = np.nan
    split = split_survey(replace(survey, values=values), seed=3)
    sets = split.sets()
    assert not (split.hidden & split.known).any()
    assert not split.training[:, split.unasked].any()
    assert not split.training[split.new].any()
    assert sum(mask.sum() for mask in sets.values()) == split.hidden.sum()
    assert list(sets) == list(SETS)
    assert split.new.sum() == 10
    assert split.unasked.sum() == 4
    study = PredictionStudy(survey, "oracle")
    for person, item in study.questions():
        respondent, asked = study.asked(person, item)
        stated = {one.name for one, _ in respondent.stated}
        assert asked.name not in stated
        assert not {survey.items[n].name for n in np.flatnonzero(study.split.hidden[person])} & stated


def test_the_oracle_answers_by_its_law_in_both_languages(tmp_path: Path) -> None:
    """Agreement with a strong statement raises agreement with one of the same direction; probabilities are exact."""
    for code in ("en", "de"):
        survey = invent_survey("planted", 10, language=code)
        law = statements("planted", code)
        asking = interviewer(survey, tmp_path / code)
        (tmp_path / code).mkdir()
        known = KnownPerson((), ((survey.items[0], 1),))
        chances = asking.predict([(known, survey.items[3]), (KnownPerson(), survey.items[3])], "predictions")
        assert chances == [predicted_agreement([(law[0], True)], law[3]), predicted_agreement([], law[3])]
        assert chances[0] < chances[1]  # type: ignore[operator]
        assert asking.exact() == 2
    prompt = KnownPerson((("age", "34"),), ((SurveyItem("a", "More parks?", ("yes", "no")), 0),)).describe(ENGLISH)
    assert prompt == "- age: 34\n- More parks? Answer: no"
    assert KnownPerson().describe(load_language("de")) == "- nichts"


@pytest.mark.thorough
def test_what_is_planted_is_found_on_every_test_set(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The oracle is above shuffled answers and the question's mean, near the planted truth, also where no one was asked."""
    study, model = predicted("planted", tmp_path_factory.mktemp("planted"))
    models = {MODEL: model}
    every = models | study.baselines()
    measured, compared = measure_all(study, every), compare_all(study, every, models)
    rows = measured[measured["predictor"] == MODEL]
    assert (rows["auc"] > rows["null_high"]).all()
    beside = measured[measured["predictor"] == "truth"]
    assert (abs(rows["auc"].to_numpy() - beside["auc"].to_numpy()) < 0.1).all()
    lines = sentences(study, measured, compared)
    assert all("the predictor finds who gives which answer" in line for line in lines)
    assert np.isnan(every[QUESTION][:, study.split.unasked]).all()


@pytest.mark.parametrize("name", ["independent", "shuffled"])
def test_nothing_is_found_where_nothing_is_planted(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Without knowledge of the person the AUC is that of shuffled answers, and within questions it is at chance."""
    study, model = predicted(name, tmp_path_factory.mktemp(name))
    measured = measure_all(study, {MODEL: model})
    lines = sentences(study, measured, compare_all(study, {MODEL: model} | study.baselines(), {MODEL: model}))
    assert sum("no more than which answers are frequent" in line for line in lines) >= 3
    assert not any("finds who gives which answer" in line for line in lines)
    assert (abs(measured.loc[measured["answers"] > 100, "auc_within"] - 0.5) < 0.1).all()


def test_neighbours_beat_the_question_only_where_people_differ() -> None:
    """On planted answers neighbours add to the question's share; on independent ones they do not."""
    for name, more in (("planted", True), ("independent", False)):
        survey = invent_survey(name, 100)
        split = split_survey(survey, 0)
        found = baseline_predictions(survey, split)
        gain = auc_difference(survey.values, found["neighbours"], found["question"], split.sets()["retrodiction"])
        assert (gain["difference_low"] > 0) == more


def test_information_gain_by_hand() -> None:
    """An answer that decides a coin tells ln 2; one that changes nothing tells 0; one half-way is known; a missing one is NaN."""
    assert information_gain(0.5, np.array([1.0, 0.5]), np.array([0.0, 0.5])) == pytest.approx(math.log(2))
    assert information_gain(0.3, np.array([0.4]), np.array([0.4])) == 0
    half = information_gain(0.5, np.array([0.75]), np.array([0.25]))
    assert half == pytest.approx(math.log(2) + 0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert math.isnan(information_gain(0.5, np.array([np.nan]), np.array([0.2])))


def elicited(name: str, people: int, folder: Path, llm: str = "oracle", **more: Any) -> Any:
    study = ElicitationStudy(invent_survey(name, people), llm, **more)
    return study, run_elicitation(study, interviewer(study.survey, folder, llm, samples=study.samples))


@pytest.mark.thorough
def test_adaptive_questions_help_where_questions_differ(tmp_path: Path) -> None:
    """With strong and weak statements the chosen ones are strong, and the error falls faster than in random order."""
    _, rows = elicited("planted", 60, tmp_path)
    found = overall_difference(rows)
    assert found["high"] < 0
    assert found["people"] == 60
    first = rows[(rows["order"] == ADAPTIVE) & (rows["asked"] == 1)]
    strong = {f"q{n}" for n, one in enumerate(statements("planted"), 1) if abs(one.strength) > 1}
    assert first["question"].isin(strong).mean() > 0.9
    assert "is smaller" in elicitation.sentences(rows)[0]


def test_the_first_question_is_a_strong_one(tmp_path: Path) -> None:
    """The chosen question is one of the planted strong ones."""
    _, rows = elicited("planted", 5, tmp_path, steps=1, repeats=1, candidates=4, rest=2)
    first = rows[(rows["order"] == ADAPTIVE) & (rows["asked"] == 1)]
    strong = {f"q{n}" for n, one in enumerate(statements("planted"), 1) if abs(one.strength) > 1}
    assert first["question"].isin(strong).mean() >= 0.8
    assert (first["gain"] > 0).all()


def test_independent_questions_cannot_be_chosen_well(tmp_path: Path) -> None:
    """No question tells anything: all gains are 0, and the order makes no difference."""
    _, rows = elicited("independent", 6, tmp_path, repeats=1)
    assert rows["gain"].dropna().max() < 1e-9
    assert overall_difference(rows)["difference"] == 0
    assert "the order of asking makes no difference" in elicitation.sentences(rows)[0]


@pytest.mark.thorough
def test_shuffled_answers_give_no_gain(tmp_path: Path) -> None:
    """A model that believes in relations which are not there gains nothing by its choice."""
    _, rows = elicited("shuffled", 60, tmp_path)
    assert overall_difference(rows)["high"] > 0
    assert "smaller:" not in elicitation.sentences(rows)[0].replace("not clearly smaller or larger", "")


def test_all_orders_end_alike_when_all_is_asked(tmp_path: Path) -> None:
    """After the same questions the error is the same, whatever their order: the prompt has answers in the order of the file."""
    _, rows = elicited("planted", 4, tmp_path, steps=3, candidates=4)
    study = ElicitationStudy(invent_survey("planted", 4), "oracle", steps=3, candidates=4)
    assert all(len(walk.left) == 4 for walk in study.walks())
    people = by_person(rows)
    start = people.xs(0, level="asked").to_numpy(dtype=float)
    assert np.allclose(start, start[:, :1])
    assert "fewer than 5 people" in elicitation.sentences(rows)[0]


def test_missing_predictions_are_no_numbers(tmp_path: Path) -> None:
    """A model that answers something else gives no prediction, no error, and no verdict."""
    survey = invent_survey("planted", 12)
    asking = interviewer(survey, tmp_path, "fake", samples=2)
    study = PredictionStudy(survey, "fake", samples=2)
    model = study.predict(asking, "predictions")
    assert np.isnan(model).all()
    assert sum(asking.reasons().values()) == len(asking.answered)
    measured = measure_all(study, {MODEL: model})
    compared = compare_all(study, {MODEL: model} | study.baselines(), {MODEL: model})
    assert all("because no hidden answer has a prediction" in one for one in sentences(study, measured, compared))
    _, rows = elicited("planted", 6, tmp_path, "fake", samples=1)
    assert rows["error"].isna().all()
    assert "is unknown" in elicitation.sentences(rows)[0]


def test_drawn_answers_give_a_share(tmp_path: Path) -> None:
    """Without probabilities a prediction is the share of the readable draws."""

    class Drawn:
        in_flight = 0

        @property
        def identity(self) -> dict[str, str]:
            return {"backend": "drawn"}

        def seedless(self, request: Any) -> bool:
            return False

        def complete(self, requests: Any) -> list[Any]:
            replies = open_spec("oracle").complete(requests)
            for number, reply in enumerate(replies):
                reply.answers, reply.text = None, ("Agree.", "disagree", "Perhaps")[number % 3]
            return replies

    survey = invent_survey("planted", 10)
    asking = interviewer(survey, tmp_path, samples=7)
    asking.__dict__["backend"] = Drawn()
    assert asking.predict([(KnownPerson(), survey.items[0])], "predictions") == [pytest.approx(3 / 5)]
    assert asking.exact() == 0


def test_files_wide_and_long_are_the_same_survey(tmp_path: Path) -> None:
    """Both forms, words or numbers, blanks as missing, facts and weights; a long table repeats the facts."""
    questions, wide, long = tmp_path / "q.csv", tmp_path / "w.csv", tmp_path / "l.csv"
    questions.write_text(ITEMS)
    wide.write_text("person,year,weight,parks,roads\na,1996,2,1,disagree\nb,2000,1,No,\n")
    long.write_text(
        "person,year,weight,question,answer\na,1996,2,parks,yes\na,1996,2,roads,0\nb,2000,1,parks,0\nb,2000,1,roads,\n"
    )
    first, second = read_survey(wide, questions), read_survey(long, questions)
    assert np.array_equal(first.values, [[1.0, 0.0], [0.0, np.nan]], equal_nan=True)
    assert first.facts == second.facts == ((("year", "1996"),), (("year", "2000"),))
    assert first.weights.tolist() == [2, 1]
    assert first.absent_line == ""
    long.write_text("person,question,answer\na,parks,1\n")
    assert read_survey(long, questions).absent_line == "The table of answers lacks: roads."
    assert first.digest == second.digest


def test_wrong_files_are_one_line(tmp_path: Path) -> None:
    """Each fault of a file is named with what to write."""
    questions = tmp_path / "q.csv"

    faults = [
        (ITEMS, "id,parks\na,1\n", "lacks the column person"),
        (ITEMS, "person,parks\na,3\n", "'3' is no answer to parks"),
        (ITEMS, "person,parks\na,1\na,0\n", "person a has two rows"),
        (ITEMS, "person,parks\n,1\n", "row 2: person is empty"),
        (ITEMS, "person,trams\na,1\n", "no column named like a question"),
        (ITEMS, "person,weight,parks\na,0,1\n", "weight is 0, but must be a number above 0"),
        (ITEMS, "person,question,answer\na,parks,1\na,parks,0\n", "person a answers parks twice"),
        (
            ITEMS,
            "person,question,answer\na,parks,1\na,trams,0\n",
            "has no question trams: add it, or leave its rows out",
        ),
        ("question,text\nparks,More?\n", "person,parks\na,1\n", "lacks the column yes"),
        ("question,text,yes,no\nparks,More?,yes,Yes\n", "person,parks\na,1\n", "two different answers"),
        (ITEMS + "parks,Again?,yes,no\n", "person,parks\na,1\n", "a different name"),
    ]
    for asked, answers, message in faults:
        questions.write_text(asked)
        (tmp_path / "a.csv").write_text(answers)
        with pytest.raises(UserError, match=message):
            read_survey(tmp_path / "a.csv", questions)
    with pytest.raises(UserError, match="at least 8 and 4 are needed"):
        split_survey(invent_survey("planted", 5))
    with pytest.raises(UserError, match="set fewer --steps"):
        ElicitationStudy(invent_survey("planted", 5), "oracle", steps=9).walks()


@pytest.mark.thorough
def test_commands_write_reports_and_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both commands end with a report; the same again asks nothing and writes the same bytes; another survey is refused."""
    for command, name in (("predict", "predictions"), ("elicit", "elicitation")):
        words = ["study", command, "planted", "--llm", "oracle", "--people", "10", "--out", str(tmp_path / command)]
        page = tmp_path / command / f"{name}.md"
        assert run.main(words) == 0
        first = page.read_bytes()
        size = (tmp_path / command / "journal.sqlite").stat().st_size
        assert run.main(words) == 0
        assert page.read_bytes() == first
        assert (tmp_path / command / "journal.sqlite").stat().st_size == size
        assert run.main([*words[:2], "independent", *words[3:]]) == 2
        assert "give another --out" in capsys.readouterr().err
        assert run.main(["study", command, "nothing", "--llm", "oracle"]) == 2
        assert run.main(["study", command, "a.csv", "--llm", "oracle"]) == 2
        assert "add --questions" in capsys.readouterr().err
        assert run.main([*words, "--dry-run"]) == 0
        assert run.main(["study", command, "planted", "--llm", "oracle", "--language", "xx"]) == 2
    assert run.main(["study", "predict", "planted", "--llm", "oracle", "--epochs", "2"]) == 2
    assert "only works with --train" in capsys.readouterr().err
