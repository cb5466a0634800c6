"""The neutral questions of the known-truth speaker, from which a training takes a hundred, in every society."""

from __future__ import annotations

import re

import pytest
from data_checks import check_each

from parley.agents.society import load_society, society_names
from parley.llm.backends import in_society, open_spec
from parley.llm.backends.oracle.phrases import banks
from parley.training.tuning.dataset import parse_questions, question_problem, write_questions

FEWEST = 130
"""Questions of a bank: most questions of a reply are on one topic, so that a hundred need a larger bank."""
LANGUAGE = {
    "en": r"\b(?:the|you|your|what|how|people)\b",
    "de": r"\b(?:der|die|das|du|dein|deine|dich|dir|was|wie|wir|bei|für)\b",
}


@check_each("name", [name for name in society_names() if name != "us"])
def test_a_bank_has_many_questions_and_each_can_be_trained_on(name: str) -> None:
    """Nothing twice, nothing like a survey's question, nobody's side taken, and all in the language of the society."""
    society, known = load_society(name), list[str]()
    for question in banks(name).data("questions")["questions"]:
        assert question_problem(question, known, society) == "", question
        assert parse_questions(f"1. {question}") == [question]
        assert question[0].isupper()
        known.append(question)
    assert len(known) >= FEWEST
    own = [question for question in known if re.search(LANGUAGE[society.language.code], question, re.I)]
    assert len(own) >= 0.9 * len(known)
    assert name != "germany" or not [question for question in known if re.search(LANGUAGE["en"], question, re.I)]


@pytest.mark.parametrize("name", society_names())
@pytest.mark.parametrize("seed", [0, 1])
def test_a_hundred_can_be_written(name: str, seed: int) -> None:
    """What `run.py tune` asks for by default."""
    written = write_questions(100, seed, open_spec(in_society("oracle", name)), load_society(name)).questions
    assert len(set(written)) == 100
