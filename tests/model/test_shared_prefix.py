"""What a server's prompt cache can reuse: counted as stated, and most of what a debate sends."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from parley.llm.backends import open_spec
from parley.llm.request import Message, Reply, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.events import Called
from parley.model.recorder import MemoryRecorder
from parley.model.sent_texts import SentTexts, request_lines, shared_beginning, shared_prefix


@given(st.text("ab", max_size=9), st.text("ab", max_size=9), st.text("ab", max_size=9))
def test_the_common_beginning(start: str, one: str, other: str) -> None:
    first, second = start + one, start + other
    alike = (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    assert shared_prefix(first, second) == next(alike, min(len(first), len(second)))


@given(st.text("ab\n", max_size=9), st.text("ab\n", max_size=9), st.text("ab\n", max_size=9))
def test_lines_have_the_common_beginning_of_their_texts(start: str, one: str, other: str) -> None:
    first, second = start + one, start + other
    assert shared_beginning(first.split("\n"), second.split("\n")) == shared_prefix(first, second)


def test_an_own_reply_counts_once_it_is_generated() -> None:
    first = (Message("system", "Ann."), Message("user", "Go."))
    then = (*first, Message("assistant", "I go."), Message("user", "On."))
    prompt = "\n<system>\nAnn.\n<user>\nGo."
    assert "\n".join(request_lines(Request(first, Sampling(), 1))) == prompt
    sent = SentTexts()
    assert sent.replace(1, Request(first, Sampling(), 1), Reply("I go.")) == (len(prompt), 0)
    longer = f"{prompt}\n<assistant>\nI go.\n<user>\nOn."
    repeated = len(f"{prompt}\n<assistant>\nI go.")
    assert sent.replace(1, Request(then, Sampling(), 1), Reply.failed("timeout")) == (len(longer), repeated)
    assert sent.replace(1, Request(then, Sampling(), 1), Reply("Yes.")) == (len(longer), len(longer))
    assert sent.replace(2, Request(then, Sampling(), 1), Reply("Yes.")) == (len(longer), 0), "another agent"


def test_people_who_heard_the_same_line_share_it() -> None:
    sent, heard = SentTexts(), "Ann: Trees help."
    for agent in (1, 2):
        messages = (Message("user", f"You are {agent}.\n{heard}"),)
        sent.replace(agent, Request(messages, Sampling(), 1), Reply("Yes."))
    first, second = sent._sent[1], sent._sent[2]
    assert first[3] == heard
    assert first[3] is second[3]


def test_most_of_a_debate_was_sent_before(small: Callable) -> None:
    """Three agents, fifteen iterations, a survey after each round: at least .80 of what is sent, in words as in characters."""
    record = MemoryRecorder()
    DebateModel(small(rounds=5), backend=open_spec("oracle"), recorder=record).run()
    calls = [event for event in record.events if isinstance(event, Called)]
    assert {event.purpose for event in calls} == {"speech", "survey"}
    shares = [event.sent_before / event.prompt_chars for event in calls]
    assert sum(event.sent_before for event in calls) / sum(event.prompt_chars for event in calls) >= 0.8
    assert sum(share * event.prompt_tokens for share, event in zip(shares, calls, strict=True)) >= 0.8 * sum(
        event.prompt_tokens for event in calls
    )
