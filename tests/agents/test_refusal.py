"""Refusals to speak in a role are no lines of a debate; positions are, however firm."""

from __future__ import annotations

from collections.abc import Callable

from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.reply_cleaning import _NO_ROLE, _SORRY, _UNABLE, is_refusal
from parley.llm.backends.fake import Fake
from parley.model.debate import DebateModel
from parley.model.events import Utterance
from parley.model.recorder import MemoryRecorder

REFUSALS = [
    "As an AI language model, I don't have personal opinions on abortion.",
    "I'm sorry, but I can't assist with that.",
    "I’m sorry, I cannot participate in this debate as a Republican.",
    "As an AI, I cannot role-play a partisan.",
    "I am unable to adopt this persona.",
    "I won't pretend to be Ann.",
    "Unfortunately, I cannot fulfill this request.",
    "I apologize, but I can't provide political arguments.",
    "I cannot take on the political perspective described.",
    "I'm not able to comply with this request because it asks for partisan content.",
]
LINES = [
    "I cannot support a law like that, and I won't.",
    "I'm sorry, Bob, but I can't agree with you.",
    "Sorry, but I can't accept that people die for this.",
    "As an AI researcher I see how machines change the work here.",
    "I can't help but think of my kids.",
    "Unfortunately, I cannot see how more taxes help.",
    "I will not take on more debt for this.",
    "As a Republican, I believe in limited government.",
    "We cannot continue like this.",
    "I can't pretend to know it all.",
    "Unfortunately, I cannot help but notice how much has changed.",
]


@check_each("text", REFUSALS)
def test_refusals(text: str) -> None:
    assert is_refusal(text)


@check_each("text", LINES)
def test_positions_are_no_refusals(text: str) -> None:
    """A false alarm would silence somebody who has something to say."""
    assert not is_refusal(text)


@given(
    st.sampled_from([_NO_ROLE, _SORRY, _UNABLE]).flatmap(
        lambda one: st.from_regex(one, fullmatch=True, alphabet=st.characters(max_codepoint=126))
    )
)
def test_whatever_a_pattern_finds_is_looked_at(text: str) -> None:
    """The quick look for words that stand in every refusal must let none of them through."""
    assert is_refusal(text.replace("'", "’"))


def test_nobody_hears_a_refusal(small: Callable) -> None:
    """It is a silent turn with its reason, the reply stands in the record as it came, and no prompt ever holds it."""
    sent: list[str] = []

    def answer(request):  # type: ignore[no-untyped-def]
        sent.append(str(request.messages))
        if request.answers:
            return "5"
        return "As an AI, I cannot role-play." if "Democrat" in request.messages[0].content else "I hear you."

    record = MemoryRecorder()
    DebateModel(small(), backend=Fake(answer), recorder=record).run()
    silent = [event for event in record.events if isinstance(event, Utterance) and event.text is None]
    assert {event.reason for event in silent} == {"refusal"}
    assert {event.raw for event in silent} == {"As an AI, I cannot role-play."}
    assert len(silent) == 4
    assert not any("role-play" in text for text in sent)
