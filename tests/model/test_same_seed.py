"""Same seed, same record: whatever the backend, the batch size, the number in flight and the order of completion."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from data_checks import check_each
from golden import GOLDEN, fingerprint
from standins import Scrambled, opinionated

import parley.llm.driver
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder, to_line
from parley.model.scenario import Scenario

Small = Callable[..., Scenario]


def record(scenario: Scenario, backend: object) -> str:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder).run()
    return "".join(map(to_line, recorder.events))


@check_each("in_flight", [1, 4, 32])
def test_numbers_in_flight_do_not_show(small: Small, in_flight: int) -> None:
    expected = record(small("echo_chamber"), Fake(opinionated))
    assert record(small("echo_chamber"), Scrambled(opinionated, in_flight)) == expected


@check_each("size", [1, 7, 10_000])
@check_each("name", ["fake", "oracle"])
def test_batch_sizes_do_not_show(small: Small, monkeypatch: pytest.MonkeyPatch, size: int, name: str) -> None:
    backend = Fake(opinionated) if name == "fake" else open_spec("oracle")
    expected = record(small("echo_chamber"), backend)
    monkeypatch.setattr(parley.llm.driver, "MAX_BATCH", size)
    assert record(small("echo_chamber"), backend) == expected


@pytest.mark.parametrize("name", ["fake", "oracle"])
def test_another_seed_is_another_record(small: Small, name: str) -> None:
    backend = Fake(opinionated) if name == "fake" else open_spec("oracle")
    assert record(small(seed=1), backend) == record(small(seed=1), backend) != record(small(seed=2), backend)


def test_the_golden_run_is_unchanged() -> None:
    """The known-truth speaker's run is the same on every machine, Python and Mesa.

    A difference on purpose: `python tests/golden.py`, and say in the changelog what changed for users.
    """
    assert fingerprint() == json.loads(Path(GOLDEN).read_text())
