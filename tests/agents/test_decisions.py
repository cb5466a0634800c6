"""Choices in replies: one option is read, or none with a reason. "A" is also a word, which must never become a choice."""

from __future__ import annotations

from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.decisions import read_option

READ = [
    ("A", "A"),
    ("b", "B"),
    (" B.\n", "B"),
    ("**A**", "A"),
    ("(B)", "B"),
    ("Option A", "A"),
    ("Option B.", "B"),
    ('"A"', "A"),
    ("I choose B.", "B"),
    ("I would choose option A", "A"),
    ("My answer is B", "B"),
    ("Answer: A", "A"),
    ("A, because my check says so", "A"),
    ("A, because B was chosen by a few only", "A"),
    ("B because all others chose it", "B"),
    ("A\nMy check points to A.", "A"),
    ("I go with B", "B"),
    ("After the others, I pick A.", "A"),
    ("I do not trust the others, so I choose A.", "A"),
    ("Ich wähle B.", "B"),
    ("Antwort: A", "A"),
    ("B, weil alle es wählen", "B"),
    ("A: my own check", "A"),
]
UNREAD = [
    ("", "empty"),
    (None, "empty"),
    (" \n ", "empty"),
    ("As an AI language model, I cannot choose.", "refusal"),
    ("7", "no_option"),
    ("The first one", "no_option"),
    ("AB", "no_option"),
    ("A check is a check.", "unclear_option"),
    ("A good choice is hard.", "unclear_option"),
    ("My check points to B", "unclear_option"),
    ("I would not choose A", "denied_option"),
    ("I choose A or I choose B", "several_options"),
    ("A/B", "several_options"),
    ("A, B", "several_options"),
    ("A or B", "several_options"),
    ("Both A and B", "unclear_option"),
]


@check_each(("reply", "option"), READ)
def test_a_plain_choice_is_read(reply: str, option: str) -> None:
    assert read_option(reply) == (option, None)


@check_each(("reply", "reason"), UNREAD)
def test_all_else_is_missing_with_its_reason(reply: str | None, reason: str) -> None:
    assert read_option(reply) == (None, reason)


@given(st.text(alphabet="AB ab.,:not choseI\n", max_size=40))
def test_any_text_gives_an_option_or_a_reason(text: str) -> None:
    option, reason = read_option(text)
    assert (option is None) != (reason is None)
