"""A request's key says what "the same question" means; a reply survives being written down."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType

import pytest
from data_checks import check_each
from hypothesis import given

from parley.llm.backends.fake import Fake
from parley.llm.request import Message, Reply, Request, Sampling, check_replies, identity_text

from .conftest import question, replies, requests

ASKED = Request(
    (Message("system", "You are Ann."), Message("user", "Why?")), Sampling(0.5, 60, 0.9, ("\n",)), 7, ("yes", "no")
)
OTHERS = {
    "another persona": replace(ASKED, messages=(Message("system", "You are Bob."), ASKED.messages[1])),
    "another role": replace(ASKED, messages=(Message("user", "You are Ann."), ASKED.messages[1])),
    "one message fewer": replace(ASKED, messages=ASKED.messages[:1]),
    "messages in another order": replace(ASKED, messages=ASKED.messages[::-1]),
    "two messages run into one": replace(ASKED, messages=(Message("system", "You are Ann.userWhy?"),)),
    "another temperature": replace(ASKED, sampling=ASKED.sampling._replace(temperature=0.6)),
    "another length": replace(ASKED, sampling=ASKED.sampling._replace(max_tokens=61)),
    "another nucleus": replace(ASKED, sampling=ASKED.sampling._replace(top_p=1.0)),
    "another stop": replace(ASKED, sampling=ASKED.sampling._replace(stop=("\n", "\n"))),
    "another seed": replace(ASKED, seed=8),
    "no closed answers": replace(ASKED, answers=()),
    "answers in another order": replace(ASKED, answers=("no", "yes")),
    "answers that begin otherwise": replace(ASKED, answer_prefix="I say "),
    "a reply that is begun": replace(ASKED, begin="Ann:"),
    "another adapter": replace(ASKED, adapter="left"),
}


@check_each("other", OTHERS.values(), ids=OTHERS.keys())
def test_key_of_another_question_differs(other: Request) -> None:
    assert other.key("model") != ASKED.key("model")


def test_key_belongs_to_one_model() -> None:
    """A request that was put to one model has another key for the next one, and its old one when asked again."""
    asked = replace(ASKED)
    first = asked.key("model")
    assert asked.key("another model") != first
    assert asked.key("model") == first


def test_key_leaves_the_purpose_out() -> None:
    assert replace(ASKED, purpose="survey").key("model") == ASKED.key("model")


@given(requests(), requests())
def test_key_is_unambiguous(one: Request, other: Request) -> None:
    def same(request: Request) -> str:
        special = (request.answer_prefix, request.adapter, request.begin)
        return json.dumps((request.messages, request.sampling, request.seed, request.answers, special))

    assert (one.key("model") == other.key("model")) == (same(one) == same(other))
    assert one.key("model") == replace(one).key("model")


def test_key_stays_as_it_is() -> None:
    """A changed key makes every journal of an unfinished run worthless: change it only on purpose."""
    assert ASKED.key('{"backend": "fake"}').hex() == KEY


@given(replies())
def test_reply_survives_json(reply: Reply) -> None:
    """One ASCII line, without NaN; the reply that comes back is the same (a split surrogate pair becomes its character)."""
    line = reply.to_json()
    assert line.isascii()
    assert "\n" not in line
    back = Reply.from_json(line)
    assert back.to_json() == line
    assert back == Reply.from_json(back.to_json())
    if "\\ud" not in line:
        assert back == reply
        assert type(back.failure) is type(reply.failure)


def test_reply_may_hold_any_mapping() -> None:
    reply = Reply("1", answers=MappingProxyType({"0": 0.5, "1": 0.5}), notes=MappingProxyType({"unread": 1}))
    assert Reply.from_json(reply.to_json()) == reply


def test_missing_is_not_empty() -> None:
    """An empty text and no answer shares are not the same as a failure and shares of nothing."""
    empty, failed = Reply(""), Reply.failed("timeout", "after 30 s", transient=True)
    assert [Reply.from_json(reply.to_json()).text for reply in (empty, failed)] == ["", None]
    assert Reply.from_json(Reply("x", answers={}).to_json()).answers == {}
    assert Reply.from_json(Reply("x").to_json()).answers is None
    assert Reply.from_json(failed.to_json()).failure == ("timeout", "after 30 s", True)


def test_replies_do_not_share_notes() -> None:
    assert Reply("a").notes is not Reply("b").notes


def test_identity_text_does_not_depend_on_order() -> None:
    class Other(Fake):
        identity = {"model": "m", "backend": "fake"}  # noqa: RUF012

    assert identity_text(Other([])) == identity_text(Fake([], name="m"))


def test_a_missing_reply_is_an_error() -> None:
    """Too few or too many: with either, somebody would get the answer to somebody else's question."""
    replies = [Reply("a"), Reply("b")]
    assert check_replies(replies, 2) is replies
    for expected in (1, 3):
        with pytest.raises(RuntimeError, match=f"answered 2 of {expected} requests"):
            check_replies(replies, expected)


def test_questions_of_these_tests_differ() -> None:
    assert question("a", 1).key("") != question("a", 2).key("") != question("b", 2).key("")


KEY = "21cafa7bd3e792092ebb1a4f50917adb"
