"""How chat models say an answer: the oracle on demand, chatter always; and no thought reaches another agent."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from data_checks import check_each

from parley.agents.closed_answers import OPTIONS, read_choice
from parley.agents.language import ENGLISH, Language, language_of_study
from parley.llm.backends import open_spec
from parley.llm.backends.chatter import CLOSED_WAYS
from parley.llm.backends.fake import Fake
from parley.llm.driver import ask, drive
from parley.llm.errors import UserError
from parley.llm.manners import CLOSED, FREE, said
from parley.llm.request import Message, Request, Sampling, answer_line
from parley.llm.thinking import THOUGHTS, split_thinking

LISTED = "A, B, C"


def words_of(study: str) -> Language:
    """Return the English prompts and texts of a study."""
    return language_of_study(ENGLISH, Path(__file__).parents[2] / "studies" / study)


ASKED = {
    ENGLISH.prompt("decision_ask").text: OPTIONS,
    ENGLISH.prompt("poll").fill(question="Tea?", options="A. x\nB. y\nC. z", letters=LISTED): ("A", "B", "C"),
    ENGLISH.prompt("questionnaire").fill(question="Who?", answers="a woman; a man"): ("a woman", "a man"),
    words_of("survey_prediction").prompt("respondent_ask").fill(question="Parks?", answers="yes; no"): ("yes", "no"),
    ENGLISH.prompt("target").fill(word="like", meaning="you agree", numbers="1, 2, 4"): ("1", "2", "4"),
    ENGLISH.prompt("act").fill(acts="like (you agree), share (to all)", words="like, share"): ("like", "share"),
    ENGLISH.prompt("persuasion_choice").fill(aim="x", first="f", second="s", whom="you"): ("1", "2"),
    words_of("community").prompt("community_choice").fill(thread="Ann: hello"): OPTIONS,
    words_of("conjoint").prompt("conjoint").fill(question="?", first="- age: 36", second="- age: 52"): OPTIONS,
    words_of("games").entry("game_ask_response"): ("1", "2", "3"),
    words_of("games").entry("game_ask_sent"): tuple(map(str, range(11))),
}  # fmt: skip


@check_each(("asked", "answers"), ASKED.items())
def test_a_prompt_states_its_answers_in_words(asked: str, answers: tuple[str, ...]) -> None:
    """Who sees the text alone knows what may be answered: every offered answer is drawn, and no other."""
    choose = next(filter(None, (way(asked) for way in CLOSED_WAYS)))
    assert {choose(random.Random(seed)) for seed in range(200)} == set(answers)


def test_manners_keep_the_answer() -> None:
    texts = [split_thinking(said("B", manner, True))[0] for manner in CLOSED]
    assert {read_choice(text, OPTIONS).answer for text in texts} == {"B"}
    assert set(FREE) < set(CLOSED)
    with pytest.raises(UserError, match="option manner of oracle"):
        open_spec("oracle,manner=sonnet")
    assert open_spec("oracle,manner=json").identity["manner"] == "json"
    assert "manner" not in open_spec("oracle").identity


@pytest.mark.parametrize("in_flight", [0, 2])
def test_thoughts_reach_no_agent_whatever_backend_they_come_from(in_flight: int) -> None:
    """A backend of a user returned "<think>...", which was spoken to the others, and read for its first number."""
    for start, end in THOUGHTS:
        fake = Fake([f"{start}A secret{end}I agree."], in_flight=in_flight)
        (reply,) = drive([ask(Request((Message("user", "Well?"),), Sampling(), 1))], fake)
        assert (reply.text, reply.thinking) == ("I agree.", "A secret")


def test_a_completion_ends_at_its_first_full_line() -> None:
    """Gemma wrote " 10.\\n\\nYou are a data analyst ... 51", of which no number could be read."""
    assert answer_line(" 10.\n\nYou are a data analyst of 51 years.") == " 10."
    assert answer_line("\n\n7\nQuestion: why?") == "7"
    assert answer_line("") == ""
