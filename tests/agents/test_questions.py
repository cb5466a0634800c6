"""Divisive questions: the shipped set, the public file, the screen, the splits."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.question import (
    QUESTIONS,
    Question,
    assign_questions,
    load_questions,
    question_id,
    read_public,
    to_toml,
    topics_of,
)
from parley.agents.question_generator import find_duplicate, question_problem
from parley.agents.topic import topic_names
from parley.llm.errors import UserError

OURS = load_questions()
PUBLIC = Path(__file__).parents[3] / "shared" / "data" / "cc_by" / "habermas_questions_5645.json"
TEXT = st.text(max_size=30)
ZOOS = Question("", "Should zoos be closed?", "Zoos should be closed.", "Zoos should not be closed.", "animals")


# The shipped set.


def test_the_shipped_set_is_large_and_even_over_topics() -> None:
    """A lopsided set would make a mechanism's score one of the topic that is most asked about."""
    topics = Counter(one.topic for one in OURS)
    assert len(OURS) >= 160
    assert 20 <= len(topics) <= 30
    assert max(topics.values()) - min(topics.values()) <= 1
    assert set(topic_names()) <= set(topics)


def test_held_out_topics_are_in_no_other_split() -> None:
    """Else ood_test would not be out of distribution. Splits are about 80, 10 and 10 percent, and can be drawn again."""
    sizes = Counter(one.split for one in OURS)
    assert not set(topics_of(OURS, "ood_test")) & set(topics_of(OURS, "train", "iid_test"))
    assert set(topics_of(OURS, "iid_test")) <= set(topics_of(OURS, "train"))
    assert all(0.08 <= sizes[split] / len(OURS) <= 0.12 for split in ("iid_test", "ood_test"))
    assert assign_questions(OURS, topics_of(OURS, "ood_test"), 0) == OURS


def test_every_shipped_question_passes_the_screen() -> None:
    """One that takes a side, asks two things, or comes twice would bias what is measured on it."""
    assert not [told for number, one in enumerate(OURS) if (told := question_problem(one, OURS[:number]))]


def test_shipped_sentences_differ_and_have_one_meaning() -> None:
    """A position score rates the statement: `All ... should not` could deny all of it or a part."""
    assert all(len({one.question, one.statement, one.against}) == 3 for one in OURS)
    assert not [one.against for one in OURS if one.against.split()[0].lower() in {"all", "every", "everyone", "each"}]


def test_an_id_stands_for_a_wording() -> None:
    """A record names questions by id: who changes the wording changes the id."""
    assert [one.id for one in OURS] == [question_id(one.topic, one.question) for one in OURS]


# Files.


def test_the_shipped_file_is_what_the_writer_writes(tmp_path: Path) -> None:
    """One format for the shipped and the written: nothing is lost between them."""
    head = QUESTIONS.read_text(encoding="utf-8").split("\n")[0].removeprefix("# ")
    assert to_toml(OURS, head) == QUESTIONS.read_text(encoding="utf-8")


@given(
    st.lists(st.builds(Question, TEXT, TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=4, unique_by=lambda one: one.id)
)
def test_any_text_comes_back_from_a_file(tmp_path_factory: pytest.TempPathFactory, questions: list[Question]) -> None:
    """Models write quotes, line breaks and worse."""
    path = tmp_path_factory.mktemp("any") / "q.toml"
    path.write_text(to_toml(questions, "any"), encoding="utf-8")
    assert load_questions(path) == tuple(questions)


@check_each(
    ("text", "told"),
    [
        ("", "needs a table"),
        ("question = 3", "needs a table"),
        ("question = [3]", "needs a table"),
        ("[[question", "is not valid TOML"),
        ('[[question]]\nid = "a"', "question 1 of .* lacks question, statement, against, topic"),
        (to_toml([replace(ZOOS, split="trian")], "x"), "unknown split of .*: did you mean train"),
        (to_toml([ZOOS, ZOOS], "x"), "twice"),
        (to_toml([ZOOS], "x").replace('"animals"', "3"), "topic in question 1 of .* is 3, but must be a text"),
    ],
)
def test_a_broken_file_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "q.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=told) as caught:
        load_questions(path)
    assert "\n" not in str(caught.value)


ENTRY = {
    "id": "S1",
    "question": "Is it so?",
    "affirming_statement": "It is so.",
    "negating_statement": "It is NOT so.",
    "topic": 3,
    "split": "iid_test",
}


def test_the_public_format_is_read(tmp_path: Path) -> None:
    """Field by field: a mix-up of the two sentences would turn every position score round."""
    path = tmp_path / "public.json"
    path.write_text(json.dumps([ENTRY]))
    assert read_public(path) == (Question("S1", "Is it so?", "It is so.", "It is NOT so.", "3", "iid_test"),)


@check_each(
    ("text", "told"),
    [
        ("{", "is not valid JSON"),
        ("{}", "must be a list of questions"),
        ("[1]", "must be a list of questions"),
        (json.dumps([ENTRY | {"topic": "3"}]), "topic in question 1 of .* is '3', but must be a whole number"),
        (json.dumps([{"id": "S1"}]), "lacks question, affirming_statement"),
        (json.dumps([ENTRY, ENTRY]), "has the question S1 twice"),
    ],
)
def test_a_broken_public_file_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "public.json"
    path.write_text(text)
    with pytest.raises(UserError, match=told):
        read_public(path)
    with pytest.raises(UserError, match="cannot read"):
        read_public(tmp_path / "none.json")


@pytest.fixture(scope="module")
def public() -> tuple[Question, ...]:
    if not PUBLIC.exists():
        pytest.skip("the public questions are not beside this checkout (shared/data/cc_by)")
    return read_public(PUBLIC)


def test_the_public_questions_are_all_read(public: tuple[Question, ...]) -> None:
    """Counts as published with the file."""
    assert len(public) == 5645
    assert Counter(one.split for one in public) == {"train": 4500, "iid_test": 565, "ood_test": 580}
    assert len(topics_of(public)) == 105


def test_no_shipped_question_is_a_public_one(public: tuple[Question, ...]) -> None:
    """Ours are our own, and a model that has read the public ones has not read ours."""
    theirs = [one.question for one in public]
    assert not {one.statement.lower() for one in OURS} & {one.statement.lower() for one in public}
    assert not [(one.question, same) for one in OURS if (same := find_duplicate(one.question, theirs))]


def test_the_screen_passes_most_public_questions(public: tuple[Question, ...]) -> None:
    """A screen that drops what is good wastes a model's work: nine in ten pass, the others mostly have no plain negation."""
    assert sum(not question_problem(one) for one in public) > 0.9 * len(public)


# The screen.


@check_each(
    ("changes", "told"),
    [
        ({}, ""),
        ({"question": "What should become of zoos?"}, "not a question with yes or no"),
        ({"question": "Zoos should be closed."}, "not a question with yes or no"),
        ({"question": "Should cruel zoos be closed?"}, "loaded words: cruel"),
        ({"question": "Shouldn't zoos be closed?"}, "loaded words"),
        ({"question": "Should the Labour Party close zoos?"}, "names a party: Labour Party"),
        ({"question": "Should zoos be closed? Should circuses?"}, "two questions in one"),
        ({"question": "Should zoos be closed and circuses be banned?"}, "two questions in one"),
        ({"question": "Should zoos be closed, or should they be larger?"}, "two questions in one"),
        ({"question": "Should zoos?"}, "too short or too long"),
        ({"question": "Should zoos be free?"}, "a statement that does not match"),
        ({"statement": "Zoos should be closed"}, "not a declarative sentence"),
        ({"statement": "Should zoos be closed?"}, "not a declarative sentence"),
        ({"against": ZOOS.statement}, "no plain negation"),
        ({"against": "Zoos should not be open."}, "no plain negation"),
    ],
)
def test_the_screen_says_what_is_wrong(changes: dict[str, str], told: str) -> None:
    found = question_problem(replace(ZOOS, **changes))
    assert found.startswith(told)
    assert bool(found) == bool(told)


@check_each(
    ("question", "statement", "against"),
    [
        ("Does the state carry the cost?", "The state carries the cost.", "The state does not carry the cost."),
        ("Do zoos teach well?", "Zoos teach well.", "Zoos do not teach well."),
        ("Has it gone far enough?", "It has gone far enough.", "It has NOT gone far enough."),
        ("Can cats be taught?", "Cats can be taught.", "Cats cannot be taught."),
        ("Should cats and dogs be taxed?", "Cats and dogs should be taxed.", "Cats and dogs should not be taxed."),
    ],
)
def test_the_screen_knows_how_english_asks_and_denies(question: str, statement: str, against: str) -> None:
    """False alarms would leave only questions with `should`."""
    assert question_problem(Question("", question, statement, against, "")) == ""


@given(st.sampled_from(OURS), st.randoms(use_true_random=False), st.booleans())
def test_planted_near_duplicates_are_found(one: Question, rng: random.Random, added: bool) -> None:
    """Other case, other order, a word more: the same question, and it would count twice."""
    words = one.question.rstrip("?").split()
    rng.shuffle(words)
    planted = " ".join([*words, *["today"] * added]).upper() + "?"
    assert find_duplicate(planted, [other.question for other in OURS]) == one.question
    assert question_problem(one, OURS) == f"a near duplicate: {one.question}"


@given(st.text())
def test_no_text_breaks_the_screen(text: str) -> None:
    """A model's reply can be anything."""
    question_problem(replace(ZOOS, question=text))
    question_problem(replace(ZOOS, statement=text, against=text))


@given(st.integers(0, 99), st.permutations(OURS))
def test_splits_depend_on_the_seed_and_not_on_the_order(seed: int, shuffled: list[Question]) -> None:
    held = topics_of(OURS, "ood_test")
    first, second = assign_questions(OURS, held, seed), assign_questions(shuffled, held, seed)
    assert {one.id: one.split for one in first} == {one.id: one.split for one in second}
    assert Counter(one.split for one in first) == Counter(one.split for one in OURS)
