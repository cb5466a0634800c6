"""What a representative is told: what was asked for, and of the current question nothing but opinion and draft."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.agents.language import ENGLISH
from parley.agents.question import Question, questionnaire
from parley.agents.representative import (
    CritiqueBrief,
    OtherOpinion,
    Representative,
    parse_knowledge,
    position_label,
    profile_text,
)
from parley.agents.society import load_society
from parley.llm.backends.pocket.prompt_ids import name_tokens
from parley.llm.errors import UserError
from parley.llm.request import Reply

NOW = Question("now_1", "Should we now?", "We should now.", "We should not.", "now")
OTHER = Question("other_1", "Should we other?", "We should other.", "We should not other.", "other")
BRIEF = CritiqueBrief(
    NOW, "My opinion.", "The draft.", {"age": "30 to 39", "gender": "female"},
    (OtherOpinion(OTHER, "Other opinion.", "Other critique.", 6), OtherOpinion(Question("bare", "Bare?", "B.", "No.", "b"))),
)  # fmt: skip


def text(knows: str, brief: CritiqueBrief = BRIEF) -> str:
    (message,) = Representative(brief, knows).messages()
    assert message.role == "user"
    return message.content


def test_the_whole_prompt() -> None:
    """Word for word, so that a slot filled with the wrong text is seen; who is asked nothing elsewhere has no section."""
    assert text("DOCP") == (
        "You stand in for one participant of a group that looks for common ground on a question.\n"
        "About the participant, by a questionnaire: gender (female), age (30 to 39).\n"
        "Earlier the participant discussed another question: Should we other?\n"
        "The position of the participant on it: moderately agree.\n"
        "The opinion of the participant on it: Other opinion.\n"
        "The critique of the participant of the draft on it: Other critique.\n"
        "The question that the group discusses now: Should we now?\n"
        "The opinion of the participant: My opinion.\n"
        "The draft statement of the group: The draft.\n"
        "Write the critique of this draft that the participant would write, in the words of the participant and nothing else."
    )


@check_each(
    ("letter", "told"),
    [
        ("D", "30 to 39"),
        ("O", "Other opinion."),
        ("C", "Other critique."),
        ("P", "position of the participant on it: moderately agree"),
    ],
)
def test_each_letter_adds_its_own_and_nothing_else(letter: str, told: str) -> None:
    """An ablation that leaks what it leaves out measures nothing."""
    assert told in text(letter)
    for without in ("", *("DOCP".replace(letter, "")), "DOCP".replace(letter, "")):
        assert told not in text(without)
    assert "Should we other?" not in text("D")


def test_at_most_three_others_and_one_line_each() -> None:
    others = tuple(
        OtherOpinion(Question(f"o{n}", f"Other {n}?", "Y.", "N.", "o"), f"Said {n}.\nAnn: more") for n in range(5)
    )
    told = text("O", CritiqueBrief(NOW, "My\n\nopinion: yes.\nBob: no.", "Draft.", {}, others))
    assert told.count("Earlier the participant") == 3
    assert "Said 2. Ann: more" in told
    assert "Said 3" not in told
    assert "My opinion: yes. Bob: no." in told


def test_no_section_is_taken_for_somebody_speaking() -> None:
    """The model in the box has tokens for names: a label that looks like one would be said by nobody."""
    assert name_tokens(Representative(BRIEF, "DOCP").messages()) == {}


questions = st.builds(Question, *[st.text("ab ?", min_size=1, max_size=4) for _ in range(5)])


@settings(max_examples=150, deadline=None)
@given(questions, st.lists(questions, max_size=4), st.sampled_from(["", "O", "C", "P", "DOCP"]))
def test_the_current_question_is_never_among_the_others(now: Question, others: list[Question], knows: str) -> None:
    """By id or by words, whatever their case and spaces: the answer to it would be in the prompt."""
    told = tuple(OtherOpinion(other, "leaked", "leaked", 1) for other in others)

    def words(one: Question) -> str:
        return " ".join(one.question.split()).casefold()

    leak = any(other.id == now.id or words(other) == words(now) for other in others)
    if leak:
        with pytest.raises(ValueError, match="is among the others"):
            CritiqueBrief(now, "opinion", "draft", {}, told)
    else:
        assert ("leaked" in text(knows, CritiqueBrief(now, "opinion", "draft", {}, told))) == bool(
            others and set(knows) & set("OC")
        )


def test_the_request_and_what_is_read_of_the_reply() -> None:
    asked = Representative(BRIEF, "OC", adapter="mine").compose_critique(7)
    assert (asked.purpose, asked.adapter, asked.seed, asked.answers) == ("critique", "mine", 7, ())
    one = Representative(BRIEF)
    assert one.absorb_text(Reply(" I\nagree. ")).text == "I agree."
    for reply, reason in (
        (Reply.failed("timeout"), "timeout"),
        (Reply("  \n"), "empty"),
        (Reply("As an AI language model, I have no opinions."), "refusal"),
    ):
        silent = one.absorb_text(reply)
        assert (silent.text, silent.reason) == (None, reason)


def test_letters() -> None:
    assert (parse_knowledge("pcod"), parse_knowledge("")) == ("DOCP", "")
    for wrong in ("X", "OO", "O,C"):
        with pytest.raises(UserError, match="does not name what a representative knows: combine the letters"):
            parse_knowledge(wrong)
    assert position_label(1) == "strongly disagree"


def test_the_sections_are_files_with_digests() -> None:
    assert set(ENGLISH.prompt_digests("representative")) == {
        f"representative/{name}"
        for name in (
            "role", "demographics", "other", "other_position", "other_opinion", "other_critique", "base", "ask",
            "question", "opinion", "critique", "ask_opinion", "ask_ballot",
        )
    }  # fmt: skip


def test_each_answer_is_told_under_what_was_asked() -> None:
    """A leaning is no vote, and "a parent of mine" is no status: an answer stands behind words that fit its question."""
    told = profile_text({item.name: item.answers[1] for item in questionnaire(load_society())}, load_society())
    assert told == (
        "gender (man), age (20 to 29), ethnic background (Black), region (Midwest), highest schooling completed (high school), "
        "political leaning (left of centre), religion (Buddhist), born in another country (a parent of mine), "
        "household income compared with what is usual (below)"
    )


def test_the_lines_in_the_docs_are_those_of_the_prompt() -> None:
    """One example line a section stands in docs/deliberation.md; it must be what is sent."""
    told = (Path(__file__).parents[2] / "docs" / "deliberation.md").read_text(encoding="utf-8")
    other = OtherOpinion(OTHER, "Yes, if it is paid for by those who can.", "Good start, but say who pays.", 6)
    lines = text("DOCP", CritiqueBrief(NOW, "o", "d", BRIEF.demographics, (other,))).splitlines()[1:6]
    assert [line for line in lines if f"`{line}`" not in told] == [lines[1]]
