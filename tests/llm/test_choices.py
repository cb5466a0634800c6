"""A closed question answered from a distribution."""

from __future__ import annotations

import pytest
from data_checks import check_each

from parley.llm.request import Message, Reply, Request, Sampling, set_choice


@check_each(
    ("answers", "shares", "chosen"),
    [
        (("9", "10"), (0.5, 0.5), "10"),
        (("10", "9"), (0.5, 0.5), "9"),
        (("b", "a", "c"), (0.4, 0.4, 0.2), "a"),
        (("a", "b"), (0.6, 0.4), "a"),
    ],
)
def test_of_equals_the_last_that_is_listed(answers: tuple[str, ...], shares: tuple[float, ...], chosen: str) -> None:
    """By its place: by its spelling 9 would be more than 10, and the list reversed would change nothing."""
    reply, asked = Reply(""), Request((Message("user", "Rate it."),), Sampling(0.0), 1, answers)
    set_choice(reply, asked, shares)
    assert reply.text == chosen
    assert reply.answers == pytest.approx(dict(zip(answers, shares, strict=True)))
