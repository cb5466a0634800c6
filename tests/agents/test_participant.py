"""The participant of a private deliberation: what it is sent, what it keeps, and the questionnaire."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mesa
import pytest
from data_checks import check_each

from parley.agents.closed_answers import read_choice
from parley.agents.language import ENGLISH
from parley.agents.participant import Participant, agreement_probe
from parley.agents.persona import Persona
from parley.agents.question import (
    POSITION,
    QuestionnaireItem,
    load_questions,
    questionnaire,
    read_questionnaire,
)
from parley.agents.society import load_society
from parley.agents.speech import DebateStyle
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request, Sampling

QUESTION = load_questions()[0]
MANNER = DebateStyle("deliberation", 75, Sampling(), 0.0, "whole", "strict")
Made = Callable[[], Participant]


@pytest.fixture
def member() -> Participant:
    persona = Persona("p_01", "democrat", "Ann", "You are Ann, a baker.")
    return Participant(mesa.Model(), persona, QUESTION.subject, 5, MANNER, "an adapter", "a voice")


def sent(request: Request) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in request.messages]


def test_it_hears_the_question_and_that_nobody_but_the_mediator_reads_it(member: Participant) -> None:
    (system, user) = sent(member.compose_speech(1, "opinion"))
    assert system == ("system", "You are Ann, a baker.")
    assert QUESTION.question in user[1]
    assert "5 people" in user[1]
    assert "Nobody but the mediator reads what you write" in user[1]
    assert "at most 75 words" in user[1]


def test_what_it_is_sent_grows_at_the_end_only(member: Participant) -> None:
    """Own texts and the mediator's statements are kept, in order: a prefix of what it is sent next."""
    first = member.compose_speech(1, "opinion")
    member.absorb_speech(Reply("I am for it."))
    member.hear("Mediator", "We are for it.", "draft")
    second = member.compose_speech(2, "critique")
    assert second.messages[:2] == first.messages
    assert [role for role, _ in sent(second)] == ["system", "user", "assistant", "user"]
    assert sent(second)[2][1] == "I am for it."
    assert sent(second)[3][1].startswith("Mediator: We are for it.\n\n")
    assert (second.adapter, second.voice) == ("an adapter", "a voice")


def test_a_critique_needs_a_statement_that_was_not_criticised_yet(member: Participant) -> None:
    """A mediator that failed leaves nothing to criticise; an old statement is not criticised twice."""
    assert member.blocked_reason("opinion") is None
    assert member.blocked_reason("critique") == "no_statement"
    member.hear("Mediator", "We are for it.", "draft")
    assert member.blocked_reason("critique") is None
    member.compose_speech(1, "critique")
    member.absorb_speech(Reply("Too short."))
    assert member.blocked_reason("critique") == "no_statement"
    member.hear("Mediator", "We are all for it.", "revision")
    assert member.blocked_reason("critique") is None


@pytest.mark.parametrize("first", [Reply("Too short."), Reply.failed("timeout")])
def test_the_critique_it_is_known_by_is_that_of_the_draft_or_none(member: Participant, first: Reply) -> None:
    """Where that one failed, what it wrote of the revision is not told as one of the draft."""
    for form, reply in (("draft", first), ("revision", Reply("Still too short."))):
        member.hear("Mediator", f"We are for it ({form}).", form)
        member.compose_speech(1, "critique")
        member.absorb_speech(reply)
    assert member.said == ({"critique": "Too short."} if first.text else {})


def test_its_position_is_the_first_that_could_be_read(member: Participant) -> None:
    probe = QUESTION.subject.probe(POSITION)
    for text, expected in (("no idea", None), ("6", 6.0), ("2", 6.0)):
        member.absorb_survey(Reply(text), probe)
        assert member.position == expected
    assert member.ratings[POSITION].value == 2.0
    member.absorb_survey(Reply("7"), agreement_probe("draft", "We are for it.", ENGLISH))
    assert member.position == 6.0


def test_the_position_is_agreement_with_the_declarative_form_on_seven_points() -> None:
    probe = QUESTION.subject.probe(POSITION)
    asked = probe.ask("deliberation")
    assert f'"{QUESTION.statement}"' in asked
    assert "from 1 to 7" in asked
    assert (probe.attitude(1), probe.attitude(4), probe.attitude(7)) == (0, 5, 10)


def test_a_statement_is_rated_word_for_word() -> None:
    """Braces and quotes of a model's text are text."""
    probe = agreement_probe("draft", 'We say {x} and "y".', ENGLISH)
    assert '"We say {x} and "y"."' in probe.ask("deliberation")
    assert probe.name == "draft"


def test_ratings_and_items_leave_no_trace(member: Participant) -> None:
    before = sent(member.compose_speech(1, "opinion"))
    member.compose_survey(agreement_probe("draft", "We are for it.", ENGLISH), 1)
    member.absorb_survey(Reply("7"), agreement_probe("draft", "We are for it.", ENGLISH))
    member.compose_item(questionnaire(load_society())[0], 1)
    member.absorb_item(Reply("woman"), questionnaire(load_society())[0])
    assert sent(member.compose_speech(1, "opinion")) == before


def test_an_item_is_asked_of_the_persona_alone(member: Participant) -> None:
    member.hear("Mediator", "We are for it.", "draft")
    item = questionnaire(load_society())[1]
    system, user = sent(member.compose_item(item, 1))
    assert system[1] == "You are Ann, a baker."
    assert "We are for it" not in user[1]
    assert all(answer in user[1] for answer in item.answers)
    again = sent(member.compose_item(item, 1, again=True))[1][1]
    assert again.startswith("That answer could not be read.")
    assert again.endswith(user[1])


def test_a_failed_item_has_its_reason(member: Participant) -> None:
    assert member.absorb_item(Reply.failed("timeout"), questionnaire(load_society())[0]) == (None, "timeout")


def test_the_nine_items_of_the_study_can_all_be_left_unanswered() -> None:
    """Gender, age decade, ethnicity, region, education, politics, religion, immigration, income (004, section 4.1)."""
    items = questionnaire(load_society())
    names = ["gender", "age", "ethnicity", "region", "education", "politics", "religion", "immigration", "income"]
    assert [item.name for item in items] == names
    assert {item.answers[-1] for item in items} == {"prefer not to say"}


ANSWERS = ("woman", "man", "another gender", "prefer not to say")


@check_each("item", questionnaire(load_society()), ids=lambda item: item.name)
def test_every_answer_is_read_back(item: QuestionnaireItem) -> None:
    for answer in item.answers:
        for text in (
            answer,
            answer.upper(),
            f"{answer}.",
            f'"{answer}"',
            f"**{answer}**",
            f"I am {answer}",
            f" {answer}\n",
        ):
            assert item.read(text) == (answer, None), text


@check_each(
    ("text", "expected"),
    [
        ("I'm a woman.", "woman"),
        ("I am a man", "man"),
        ("My answer is: woman", "woman"),
        ("Answer: woman", "woman"),
        ("My answer is woman", "woman"),
        ("I'd say prefer not to say", "prefer not to say"),
        ("woman or man", None),
        ("woman, man", None),
        ("not a woman", None),
        ("a businesswoman", None),
        ("I am a woman and a mother", None),
        ("none of your business", None),
        ("", None),
        ("  ", None),
        (None, None),
    ],
)
def test_whatever_is_not_one_answer_is_refused(text: str | None, expected: str | None) -> None:
    """Nothing is guessed: a wrong answer would describe another person."""
    found = read_choice(text, ANSWERS)
    assert found.answer == expected
    assert (found.reason is None) == (expected is not None)


@check_each(
    ("text", "words"),
    [
        ("", "needs the text `declined`"),
        ('declined = "no"\n', "a table [items.NAME]"),
        ('declined = "no"\n[items.age]\nquestion = "?"\n', "the table [items.age] of"),
        ('declined = "no"\n[items.age]\nquestion = "?"\nanswers = ["a", "No"]\n', "has the same answer twice"),
        ('declined = "no"\n[items.age]\nquestion = "?"\nanswers = [1]\n', "needs a text `question`"),
        ('declined = "no"\n[items]\nage = 3\n', "must be a table"),
    ],
)
def test_a_broken_questionnaire_is_named_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "items.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_questionnaire(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
