"""Every public reader of replies takes time in proportion to the length of a reply: models loop, and servers may be hostile."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from data_checks import check_each
from fuzz.kinds import MORE, UNITS, long_text
from fuzz.readers import READERS


def seconds(read: Callable[[str], object], text: str) -> float:
    """The seconds of processor that a reader takes."""
    began = time.process_time()
    read(text)
    return time.process_time() - began


@check_each("name", READERS)
def test_a_reply_that_loops_is_read_at_once(name: str) -> None:
    """5,000 characters take a few milliseconds; the slow patterns that we had took .2 s, four times as much at 10,000."""
    read = READERS[name]
    read("x")  # what is compiled and loaded once
    slow = {unit for unit in UNITS if seconds(read, long_text(unit, 5_000)) > 0.1}
    assert not {unit for unit in slow if seconds(read, long_text(unit, 5_000)) > 0.1}, "twice, for a busy machine"


@pytest.mark.nightly
@check_each("name", READERS)
def test_a_hundred_thousand_characters_of_any_kind(name: str) -> None:
    """Less than .2 s of processor each, or at most 15 times the time of a tenth of the text."""
    read = READERS[name]
    read("x")
    for unit in (*UNITS, *MORE):
        taken = seconds(read, long_text(unit, 100_000))
        if taken > 0.2:  # a busy machine takes twice as long now and then
            taken = min(taken, *(seconds(read, long_text(unit, 100_000)) for _ in range(2)))
            shorter = min(seconds(read, long_text(unit, 10_000)) for _ in range(3))
            assert taken < max(0.2, 15 * shorter), f"{unit!r}: {taken:.2f} s, {shorter:.3f} s for a tenth"
            assert taken < 1, repr(unit)
