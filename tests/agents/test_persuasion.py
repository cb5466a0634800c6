"""Messages that persuade: what readers and writers are sent, and how their replies are read."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.agents.language import load_language
from parley.agents.persona import load_personas
from parley.agents.persuasion import (
    PARAPHRASE,
    PERSUASIVE,
    Aim,
    Reader,
    Writer,
    read_advice,
    read_choice,
    read_message,
    read_persuasiveness,
)
from parley.llm.purposes import PURPOSES
from parley.llm.request import Reply

ANN = load_personas("democrat")[0]


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


def test_advice_and_messages_are_read() -> None:
    """Numbers of a list are no part of the advice; quotation marks are no part of a message; a refusal is no message."""
    assert read_advice(Reply("1. Be brief.\n\n2) Be kind.\n- Be bold."), 2) == ("Be brief.", "Be kind.")
    assert read_advice(Reply.failed("timeout"), 2) == ()
    assert read_message(Reply('"Taxes\nare fair."')).text == "Taxes are fair."
    assert read_message(Reply(" ")).reason == "empty"
    assert read_message(Reply("As an AI language model, I cannot role-play.")).reason == "refusal"


@check_each("code", ["en", "de"])
def test_every_prompt_states_its_material_in_each_language(code: str) -> None:
    """Reader and writer are sent the aim, the messages, the situation and the advice; `whom` changes the question."""
    language = load_language(code)
    reader, writer, aim = Reader(ANN, language), Writer(language), Aim("A-I-M", "S-I-T")
    sent = {
        "choice": reader.compose_choice("A-I-M", "F-1", "F-2", 1),
        "rating": reader.compose_rating("A-I-M", "F-1", 1),
        "message": writer.compose_message(aim, 1, "A-D-V"),
        "advice": writer.compose_advice(aim, "W-A-Y", 3, 1),
        PERSUASIVE: writer.compose_rewriting("A-I-M", "F-1", PERSUASIVE, 1),
        PARAPHRASE: writer.compose_rewriting("A-I-M", "F-1", PARAPHRASE, 1),
    }
    needed = {"choice": "F-1 F-2", "rating": "F-1", "message": "S-I-T A-D-V", "advice": "S-I-T W-A-Y", PERSUASIVE: "F-1",
              PARAPHRASE: "F-1"}  # fmt: skip
    for name, request in sent.items():
        text = request.messages[-1].content
        assert all(part in text for part in ["A-I-M", *needed[name].split()]), name
        assert request.purpose in PURPOSES, name
    assert sent["choice"].messages[0].content == ANN.backstory
    assert "A-D-V" not in writer.compose_message(aim, 1).messages[-1].content
    other = Reader(ANN, language, "group").compose_choice("A-I-M", "F-1", "F-2", 1)
    assert language.words("persuade_group") in other.messages[-1].content
