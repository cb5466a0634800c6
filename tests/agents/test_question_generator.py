"""A model writes divisive questions: what is asked, what is accepted, what becomes of the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st
from standins import Scrambled

import run
from parley.agents.question import Question, load_questions, set_path, topics_of
from parley.agents.question_generator import (
    BATCH,
    SEEDS,
    TURNS,
    GeneratedQuestions,
    parse_question,
    propose_question,
    question_problem,
    sample_seeds,
    write_questions,
)
from parley.agents.society import load_society, society_names
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Backend, Reply, Request

OURS = load_questions()


def row(number: int) -> str:
    """A line in the form asked for; made-up words, so that no two numbers are alike."""
    name = "".join("abcdefghij"[int(digit)] for digit in str(number))
    rest = f"{name}e pay for {name}i"
    return f"taxes | Should {name}a {rest}? | {name.title()}a should {rest}. | {name.title()}a should not {rest}."


def ten(request: Request) -> str:
    """Ten lines that no other request gets."""
    return "\n".join(f"{place}. {row(request.seed * BATCH + place)}" for place in range(BATCH))


def written(backend: Backend, count: int = 12, seed: int = 0) -> GeneratedQuestions:
    return drive([propose_question(count, seed, OURS)], backend)[0]


@given(st.text())
def test_every_line_of_a_reply_is_read_or_counted(text: str) -> None:
    """A model's reply can be anything, and what is dropped is told."""
    found, unread = parse_question(text, ["taxes"])
    assert len(found) + unread == sum(bool(line.strip()) for line in text.splitlines())


def test_ten_seeds_are_shown_and_each_prompt_has_its_own() -> None:
    """As in the study; the same ten every time would give the same questions every time."""
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return ten(request)

    written(Fake(answer), 35)
    texts = [request.messages[0].content for request in asked]
    assert [sum(f"| {one.statement} |" in text for one in OURS) for text in texts] == [SEEDS] * 4
    assert len(set(texts)) == len({request.seed for request in asked}) == 4
    assert sample_seeds(OURS, 5, 0, 1) == sample_seeds(OURS, 5, 0, 1) != sample_seeds(OURS, 5, 0, 2)
    assert len(sample_seeds(OURS[:3], 5)) == 3


def test_what_is_written_is_new_screened_and_split() -> None:
    """Broken lines are dropped and counted, and more is asked for until there are enough."""
    good = [row(number) for number in range(100, 112)]
    one = OURS[0]
    ours = f"{one.topic} | {one.question} | {one.statement} | {one.against}"
    bad = ["Here you are:", "pets | " + good[0][8:], "taxes | Who pays? | All pay. | All do not pay.", ours, good[0]]
    replies = ["\n".join([*good[:2], *bad]), Reply.failed("timeout"), "\n".join(good[2:])]
    found = written(Fake(replies), 12)
    assert [one.question for one in found.questions] == [line.split(" | ")[1] for line in good]
    assert found.dropped == {
        "not in the form asked for": 2,
        "not a question with yes or no for an answer": 1,
        "a near duplicate": 2,
        "reply failed (timeout)": 1,
    }
    assert not [
        told for number, one in enumerate(found.questions) if (told := question_problem(one, found.questions[:number]))
    ]
    assert Counter(one.split for one in found.questions) == {"train": 11, "iid_test": 1}


def test_topics_held_out_stay_held_out() -> None:
    """The shipped and the written may be trained on together: no question on a topic that tests are about."""
    held = topics_of(OURS, "ood_test")[0]
    found = written(Fake(lambda request: ten(request).replace("taxes |", f"{held} |")), 10)
    assert {one.split for one in found.questions} == {"ood_test"}


def test_the_same_seed_gives_the_same_questions_in_any_order_of_replies() -> None:
    """A network must not change the outcome."""
    assert written(Fake(ten), 40, 3) == written(Scrambled(ten, in_flight=3, seed=1), 40, 3)
    assert written(Fake(ten), 40, 3) != written(Fake(ten), 40, 4)


def test_asking_ends_when_nothing_comes_of_it() -> None:
    """A paid model that cannot do it is not asked for ever."""
    asked: list[Request] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        return Reply.failed("timeout")

    with pytest.raises(
        UserError, match=rf"only 0 of 12 questions are usable .*reply failed \(timeout\): {2 * TURNS}\)"
    ):
        written(Fake(answer))
    assert len(asked) == 2 * TURNS


def test_the_command_writes_a_file_that_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("parley.llm.backends.open_spec", lambda spec: Fake(ten, spec))
    out = tmp_path / "new" / "mine.toml"
    assert run.main(["study", "questions", "--llm", "fake", "--count", "25", "--seed", "2", "--out", str(out)]) == 0
    assert load_questions(out) == written(Fake(ten), 25, 2).questions
    assert "mine.toml: 25 (dropped: nothing dropped)" in capsys.readouterr().out


@check_each(
    ("given", "told"),
    [
        (["--llm", "oracle"], "choose another model with --llm"),
        (["--llm", "fake"], "only 0 of 150 questions are usable"),
        (["--llm", "fake", "--count", "0"], "--count is 0, but must be 1 or more"),
        (["--llm", "orakle"], "unknown model"),
        ([], "--llm"),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line(
    tmp_path: Path, given: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The known-truth speaker does not write questions: it says so and leaves nothing behind."""
    assert run.main(["study", "questions", "--out", str(tmp_path / "x.toml"), *given]) == 2
    line = capsys.readouterr().err
    assert told in line
    assert line.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("mine")
    with pytest.raises(UserError, match="exists already"):
        write_questions(10, tmp_path / "x.toml", Fake(ten), "fake", 0)
    assert (tmp_path / "x.toml").read_text() == "mine"


GERMANY = load_society("germany")
THEIRS = load_questions(set_path("shipped", "germany"))
BAHN = Question(
    "", "Soll die Bahn kostenlos sein?", "Die Bahn soll kostenlos sein.", "Die Bahn soll nicht kostenlos sein.", ""
)


@check_each("name", society_names())
def test_the_questions_of_every_society_pass_the_checks_of_its_language(name: str) -> None:
    known = load_questions(set_path("shipped", name))
    language = load_society(name).language
    assert [told for place, one in enumerate(known) if (told := question_problem(one, known[:place], language))] == []


@check_each(
    ("changes", "told"),
    [
        ({}, ""),
        ({"against": "Die Bahn soll nie kostenlos sein."}, "no plain negation"),
        ({"statement": "Die Bahn soll umsonst sein."}, "does not match"),
        ({"question": "Warum soll die Bahn kostenlos sein?"}, "loaded words"),
        ({"question": "Soll die gierige Bahn kostenlos sein?"}, "loaded words: gierige"),
        ({"question": "Soll die Bahn, wie die SPD will, kostenlos sein?"}, "names a party: SPD"),
        ({"question": "Wann soll die Bahn kostenlos sein?"}, "not a question with yes or no"),
        ({"question": "Soll die Bahn kostenlos sein und sollen Busse fahren?"}, "two questions in one"),
    ],
)
def test_what_is_wrong_with_a_german_question(changes: dict[str, str], told: str) -> None:
    """The checks are those of the language: German word order, negation, loaded words and parties."""
    problem = question_problem(replace(BAHN, **changes), (), GERMANY.language)
    assert told in problem
    assert bool(told) == bool(problem)


def test_a_kein_is_a_negation() -> None:
    """„keine Maut“ says no to „eine Maut“."""
    maut = replace(
        BAHN,
        question="Soll es eine Maut geben?",
        statement="Es soll eine Maut geben.",
        against="Es soll keine Maut geben.",
    )
    assert question_problem(maut, (), GERMANY.language) == ""


def test_a_german_model_is_asked_in_german_for_german_questions(tmp_path: Path) -> None:
    """The questions shown are the society's own, and what is written can be loaded."""
    asked: list[Request] = []
    topic = THEIRS[0].topic

    def answer(request: Request) -> str:
        asked.append(request)
        names = ["".join("abcdefghij"[int(digit)] for digit in str(100 * request.seed + place)) for place in range(10)]
        kinds = [f"das {name}werk mit {name}holz und {name}stein" for name in names]
        rows = [
            f"{topic} | Soll {one} bleiben? | {one.capitalize()} soll bleiben. | {one.capitalize()} soll nicht bleiben."
            for one in kinds
        ]
        return "\n".join(rows)

    out = tmp_path / "mine.toml"
    found = write_questions(12, out, Fake(answer), "fake", 0, GERMANY)
    assert load_questions(out) == found.questions
    text = asked[0].messages[0].content
    assert text.startswith("Menschen in einem Land wie Deutschland")
    assert sum(f"| {one.statement} |" in text for one in THEIRS) == SEEDS


def test_the_oracle_writes_none_in_any_society(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has no divisive questions to tell, so it refuses in one line and leaves nothing behind."""
    for name in ("germany", "neutral"):
        assert (
            run.main(["study", "questions", "--society", name, "--llm", "oracle", "--out", str(tmp_path / "x.toml")])
            == 2
        )
        line = capsys.readouterr().err
        assert "choose another model with --llm" in line
        assert line.count("\n") == 1
    assert not list(tmp_path.iterdir())
