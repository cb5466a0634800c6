"""Messages that persuade: how the reply of a reader, and a message, are read."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.agents.language import load_language
from parley.agents.persuasion import read_choice, read_message
from parley.llm.request import Reply
from parley.studies.arena.writer import read_persuasiveness


@check_each(
    "text, value, reason",
    [
        ("1", 1.0, None),
        ("2", 0.0, None),
        ("Message 2.", 0.0, None),
        ("**1**", 1.0, None),
        ("1 rather than 2", None, "several_numbers"),
        ("12", None, "not_offered"),
        ("1.5", None, "not_offered"),
        ("The first", None, "no_number"),
        ("", None, "empty"),
        ("As an AI language model, I cannot role-play.", None, "refusal"),
    ],
)
def test_a_choice_is_read_or_missing_with_its_reason(text: str, value: float | None, reason: str | None) -> None:
    """A guess would count as a preference."""
    read = read_choice(Reply(text))
    assert (read.value, read.reason) == (value, reason)


def test_probabilities_come_before_the_words() -> None:
    """The exact distribution is used where a model tells it, over both answers; a failure keeps its name."""
    assert read_choice(Reply("1", answers={"1": 0.3, "2": 0.1})).value == pytest.approx(0.75)
    assert read_choice(Reply("1", answers={"1": 0.0, "2": 0.0})).reason == "no_probability"
    assert read_choice(Reply.failed("timeout")).reason == "timeout"
    english = load_language("en")
    assert read_persuasiveness(Reply("7"), english).value == 7
    assert read_persuasiveness(Reply("very"), english).value is None


def test_messages_are_read() -> None:
    """Quotation marks are no part of a message; a refusal is no message."""
    assert read_message(Reply('"Taxes\nare fair."')).text == "Taxes are fair."
    assert read_message(Reply(" ")).reason == "empty"
    assert read_message(Reply("As an AI language model, I cannot role-play.")).reason == "refusal"
