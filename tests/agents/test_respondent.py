"""A respondent: what it is sent in each way and language, and what is read of its reply."""

from __future__ import annotations

from data_checks import check_each

from parley.agents.language import load_language
from parley.agents.respondent import Group, Respondent, read_option
from parley.llm.request import Reply

OPTIONS = ("A great deal", "Not much", "Nothing")


def test_the_group_is_named_in_the_way_that_was_chosen() -> None:
    """A prefix is part of the question, a persona a system message; without a group neither is sent."""
    for code, country in (("en", "Germany"), ("de", "Deutschland")):
        language = load_language(code)
        for way in ("prefix", "persona"):
            respondent = Respondent(language, way)
            for group, words in (
                (Group("Germany", country=True), country),
                (Group("farmers"), "farmers"),
                (Group("x", "You are x."), "You are x."),
            ):
                request = respondent.compose("How much?", OPTIONS, group, 1)
                assert [message.role for message in request.messages] == ["system", "user"][
                    -2 if way == "persona" else -1 :
                ]
                assert words in request.messages[0].content
                assert "C. Nothing" in request.messages[-1].content
            alone = respondent.compose("How much?", OPTIONS, None, 1)
            assert len(alone.messages) == 1
            assert alone.messages[0].content.startswith("How much?")
            assert alone.answers == ("A", "B", "C")


@check_each(
    ("text", "letter"),
    [
        ("A", "A"), ("b.", "B"), ("(C)", "C"), ("The answer is B", "B"), ("not much", "B"), ("B. Not much", "B"),
        ("C) Nothing.", "C"),
        ("A or B", None), ("", None), ("D", None), ("A great deal", "A"), ("B. Nothing", None),
    ],
)  # fmt: skip
def test_a_reply_is_read_without_guessing(text: str, letter: str | None) -> None:
    """A letter, an option, or both if they belong together; anything else is missing with a reason."""
    choice = read_option(Reply(text), OPTIONS)
    assert choice.answer == letter
    assert (choice.reason is None) == (letter is not None)
