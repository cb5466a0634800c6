"""Retry: only what may pass by itself is asked again, a bounded number of times."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.llm.request import Reply, Request
from parley.llm.retry import Retry

from .conftest import Counted, questions

BUSY = Reply.failed("timeout", "busy", transient=True)
REFUSED = Reply.failed("refused", "never")


class Flaky(Counted):
    """Question n fails `failures[n]` times with a transient failure before it is answered."""

    def __init__(self, failures: Sequence[int], lost_later: int = 0):
        super().__init__(self._next)
        self.left, self.lost_later = list(failures), lost_later

    def _next(self, request: Request) -> str | Reply:
        self.left[request.seed] -= 1
        return BUSY if self.left[request.seed] >= 0 else f"answer {request.seed}"

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return super().complete(requests)[self.lost_later if len(self.batches) > 1 else 0 :]


@given(st.lists(st.integers(0, 6), max_size=6), st.integers(1, 5))
def test_only_what_failed_is_asked_again(failures: list[int], attempts: int) -> None:
    """Every question is asked until it is answered, at most `attempts` times, and each reply stays in its place."""
    inner, pauses = Flaky(failures), []
    replies = Retry(inner, attempts, 0.5, pauses.append).complete(questions(len(failures)))
    expected = [f"answer {n}" if failed < attempts else None for n, failed in enumerate(failures)]
    assert [reply.text for reply in replies] == expected
    assert inner.calls == sum(min(failed + 1, attempts) for failed in failures)
    assert [[request.seed for request in batch] for batch in inner.batches] == [
        [n for n, failed in enumerate(failures) if failed >= turn] for turn in range(len(inner.batches))
    ]


def test_pauses_double() -> None:
    pauses: list[float] = []
    replies = Retry(Flaky([9]), 5, 0.25, pauses.append).complete(questions(1))
    assert pauses == [0.25, 0.5, 1.0, 2.0]
    assert replies == [BUSY], "the last outcome stands, with its name"


def test_a_final_failure_is_not_asked_again() -> None:
    inner, pauses = Counted(lambda request: REFUSED), []
    assert Retry(inner, sleep=pauses.append).complete(questions(3)) == [REFUSED] * 3
    assert (inner.calls, pauses) == (3, [])


def test_a_transient_failure_may_turn_final() -> None:
    answers = iter([BUSY, REFUSED, Reply("too late")])
    assert Retry(Counted(lambda request: next(answers)), sleep=lambda _: None).complete(questions(1)) == [REFUSED]


def test_an_exception_is_no_failure() -> None:
    """A bug in a backend is passed on at once; asking again would hide it."""
    inner = Counted(lambda request: {}["bug"])
    with pytest.raises(KeyError):
        Retry(inner, sleep=lambda _: None).complete(questions(1))
    assert inner.calls == 1


@pytest.mark.parametrize(
    "inner", [Counted(lost=1), Flaky([1, 1, 0], lost_later=1)], ids=["at first", "when asked again"]
)
def test_a_lost_reply_is_an_error(inner: Counted) -> None:
    with pytest.raises((RuntimeError, ValueError)):
        Retry(inner, sleep=lambda _: None).complete(questions(3))


def test_the_model_stays_the_model() -> None:
    inner = Counted(in_flight=5)
    assert (Retry(inner).identity, Retry(inner).in_flight) == (inner.identity, 5)
