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
from parley.model.room import request_as_text, shared_prefix, text_with_reply


@given(st.text("ab", max_size=9), st.text("ab", max_size=9), st.text("ab", max_size=9))
def test_the_common_beginning(start: str, one: str, other: str) -> None:
    first, second = start + one, start + other
    alike = (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    assert shared_prefix(first, second) == next(alike, min(len(first), len(second)))


def test_an_own_reply_counts_once_it_is_generated() -> None:
    first = (Message("system", "Ann."), Message("user", "Go."))
    then = (*first, Message("assistant", "I go."), Message("user", "On."))
    sent, now = request_as_text(Request(first, Sampling(), 1)), request_as_text(Request(then, Sampling(), 1))
    assert now[: shared_prefix(now, sent)] == sent
    assert now[: shared_prefix(now, text_with_reply(sent, Reply("I go.")))] == f"{sent}\n<assistant>\nI go."
    assert text_with_reply(sent, Reply.failed("timeout")) == sent


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
