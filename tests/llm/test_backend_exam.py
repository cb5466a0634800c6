"""Every module in llm/backends sits the exam. A new one is found here by itself.

One that needs more than its name to open brings a fixture `<name>_spec` in conftest.py. Sabotage comes last: the exam can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from data_checks import check_each

from parley.llm import exam
from parley.llm.backends import backend_names, open_spec
from parley.llm.backends.fake import Fake
from parley.llm.request import Reply, Request

from .conftest import echo

fresh = count()


@pytest.fixture
def spec(request: pytest.FixtureRequest, name: str) -> str:
    try:
        return str(request.getfixturevalue(f"{name}_spec"))
    except pytest.FixtureLookupError:
        return name


@pytest.mark.thorough
@pytest.mark.parametrize("name", backend_names())
@check_each("check", exam.CHECKS, ids=lambda check: check.__name__)
def test_backend(spec: str, check: Callable[[exam.Open], None]) -> None:
    """A false alarm here would cost the author of a backend an hour: each check is a sentence of `Backend`'s docstring."""
    check(lambda: open_spec(spec))


class Sabotaged(Fake):
    """A fake with one promise broken."""

    def __init__(self, broken: Callable[[list[Reply], Sequence[Request]], list[Reply]]):
        super().__init__(echo)
        self.broken = broken

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return self.broken(super().complete(requests), requests)


def _shifted(replies: list[Reply], asked: Sequence[Request]) -> list[Reply]:
    return replies[1:] + replies[:1]


def _shares(replies: list[Reply], asked: Sequence[Request]) -> list[Reply]:
    return [
        Reply("x", answers=dict.fromkeys(request.answers, 0.5)) if request.answers else Reply("x") for request in asked
    ]


class Untidy(Fake):
    """Forgets to put away what it was doing when it is interrupted, and answers that next time."""

    def __init__(self) -> None:
        super().__init__(echo)
        self.doing: list[Request] = []

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.doing = self.doing or list(requests)[1:]
        replies = super().complete([*requests[:1], *self.doing])
        self.doing = []
        return replies[: len(requests)]


def test_exam_catches_what_is_left_over_after_an_interrupt() -> None:
    with pytest.raises(AssertionError):
        exam.is_none_the_worse_for_an_interrupt(Untidy)


SABOTAGE: dict[str, tuple[Callable[..., None], Callable[..., list[Reply]]]] = {
    "loses a reply": (exam.gives_one_reply_per_request_in_order, lambda replies, _: replies[1:]),
    "answers the next question": (exam.gives_one_reply_per_request_in_order, _shifted),
    "says nothing at all": (
        exam.gives_text_or_a_named_failure_never_both,
        lambda replies, _: [Reply(None) for _ in replies],
    ),
    "counts": (
        exam.gives_the_same_replies_to_the_same_requests,
        lambda replies, _: [Reply(str(next(fresh))) for _ in replies],
    ),
    "depends on the batch": (exam.does_not_care_how_requests_are_batched, lambda r, _: [Reply(str(len(r))) for _ in r]),
    "shares that sum to five": (exam.gives_answer_shares_that_cover_the_answers_and_sum_to_one, _shares),
}


@check_each(("check", "broken"), SABOTAGE.values(), ids=SABOTAGE.keys())
def test_exam_catches(check: Callable[[exam.Open], None], broken: Callable[..., list[Reply]]) -> None:
    with pytest.raises(AssertionError):
        check(lambda: Sabotaged(broken))


@check_each("identity", [{"path": "/etc/passwd"}, {"nested": [{"at": "/models/x"}]}, {}, {"size": float("nan")}])
def test_exam_catches_identities(identity: dict[str, Any]) -> None:
    """A path or a NaN in an identity changes every journal key from one machine, or one moment, to the next."""

    class Named(Fake):
        @property
        def identity(self) -> dict[str, Any]:
            return identity

    with pytest.raises((AssertionError, ValueError)):
        exam.has_a_stable_identity_in_json_without_paths(lambda: Named(echo))
