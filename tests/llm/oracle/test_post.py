"""A public post of the known-truth speaker: at its attitude, to nobody in particular, within the words asked for."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import pytest

from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import read
from parley.llm.request import Request


@pytest.mark.parametrize("grade", [0, 10])
def test_what_is_posted_is_what_is_thought(
    oracle: Oracle, turn: Callable[..., Request], line: Callable[..., str], grade: int
) -> None:
    """Over 400 seeds the mean grade of posts is the attitude after what was heard, within 0.2."""
    bank = banks().topics["climate_change"]
    requests = [turn([("Bob", line("climate_change", grade))], seed=seed, form="post") for seed in range(400)]
    said = [reply.text or "" for reply in oracle.complete(requests)]
    truth, unread = oracle.attitude(read(requests[0], banks()))
    assert statistics.fmean(bank.grade(text) or 0.0 for text in said) == pytest.approx(truth, abs=0.2)
    assert unread == 0
    assert not [text for text in said if "Bob" in text]


def test_a_post_is_never_longer_than_asked_for(oracle: Oracle, turn: Callable[..., Request]) -> None:
    said = oracle.complete([turn(words=20, seed=seed, form="post") for seed in range(50)])
    assert all(reply.text and len(reply.text.split()) <= 20 for reply in said)
    assert oracle.complete([turn(words=2, form="post")])[0].failure.name == "too_few_words"
