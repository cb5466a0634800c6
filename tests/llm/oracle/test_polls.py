"""The oracle answers a survey by the planted law: the same shares with every wording, and none without the facts."""

from __future__ import annotations

import pytest

from parley.agents.language import load_language
from parley.agents.respondent import Group, Respondent
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.people_laws import SurveyLaw
from parley.llm.errors import UserError
from parley.llm.request import Request

OPTIONS = ("Yes", "No", "Perhaps")


def test_answers_are_the_shares_of_the_law() -> None:
    """In both languages and both ways, with the group and without; a drawn reply is one of the letters."""
    for code in ("en", "de"):
        for way in ("prefix", "persona"):
            for group in (Group("farmers"), None):
                request = Respondent(load_language(code), way).compose("Is it so?", OPTIONS, group, 3)
                (reply,) = open_spec("oracle").complete([request])
                expected = SurveyLaw().shares("Is it so?", OPTIONS, group.name if group else "")
                assert list((reply.answers or {}).values()) == pytest.approx(expected)
                assert reply.text in ("A", "B", "C")


def test_parameters_of_the_law() -> None:
    """group_effect=0 ignores the group, peaked=0 makes shares even; both are part of the model's identity."""
    named, alone = (SurveyLaw(group_effect=0).shares("Is it so?", OPTIONS, group) for group in ("farmers", ""))
    assert named == alone != SurveyLaw().shares("Is it so?", OPTIONS, "farmers")
    assert SurveyLaw(peaked=0).shares("Is it so?", OPTIONS, "farmers") == pytest.approx([1 / 3] * 3)
    assert open_spec("oracle,peaked=0").identity["survey"] == {"group_effect": 1.0, "peaked": 0.0}
    assert "survey" not in open_spec("oracle").identity
    for wrong in ("peaked=-1", "group_effect=21"):
        with pytest.raises(UserError, match="between 0 and 20"):
            open_spec(f"oracle,{wrong}")


def test_a_question_without_its_choices_is_not_answered() -> None:
    """No share is made up for a request that does not state what can be chosen."""
    request = Respondent(load_language("en")).compose("Is it so?", OPTIONS, None, 3)
    bare = Request(request.messages, request.sampling, 1, request.answers, "poll")
    (reply,) = open_spec("oracle").complete([bare])
    assert reply.failure
    assert reply.failure.name == "unknown_ask"
