"""Messages that persuade: what readers and writers are sent, and how advice and ratings are read."""

from __future__ import annotations

from data_checks import check_each

from parley.agents.language import load_language
from parley.agents.persona import load_personas
from parley.agents.persuasion import Reader
from parley.llm.request import Reply
from parley.studies.arena.writer import (
    PARAPHRASE,
    PERSUASIVE,
    Aim,
    Writer,
    compose_rating,
    read_advice,
    read_persuasiveness,
)

ANN = load_personas("democrat")[0]


def test_advice_and_ratings_are_read() -> None:
    """Numbers of a list are no part of the advice; a rating in words is missing."""
    assert read_advice(Reply("1. Be brief.\n\n2) Be kind.\n- Be bold."), 2) == ("Be brief.", "Be kind.")
    assert read_advice(Reply.failed("timeout"), 2) == ()
    english = load_language("en")
    assert read_persuasiveness(Reply("7"), english).value == 7
    assert read_persuasiveness(Reply("very"), english).value is None


@check_each("code", ["en", "de"])
def test_every_prompt_states_its_material_in_each_language(code: str) -> None:
    """Reader and writer are sent the aim, the messages, the situation and the advice; `whom` changes the question."""
    language = load_language(code)
    reader, writer, aim = Reader(ANN, language), Writer(language), Aim("A-I-M", "S-I-T")
    sent = {
        "choice": reader.compose_choice("A-I-M", "F-1", "F-2", 1),
        "rating": compose_rating(reader, "A-I-M", "F-1", 1),
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
    assert sent["choice"].messages[0].content == ANN.backstory
    assert "A-D-V" not in writer.compose_message(aim, 1).messages[-1].content
    other = Reader(ANN, language, "group").compose_choice("A-I-M", "F-1", "F-2", 1)
    assert language.words("persuade_group") in other.messages[-1].content
