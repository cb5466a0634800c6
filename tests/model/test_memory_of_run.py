"""What a run of many people keeps in memory: a bound for each agent, and of a round only the prompts that are being answered."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from standins import opinionated

import parley.llm.driver
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.request import Reply, Request, Wrapper
from parley.model.debate import DebateModel
from parley.model.recorder import FileRecorder, MemoryRecorder, to_line
from parley.model.scenario import Scenario, load_preset

KEPT = 11_000
"""Bytes for each agent of a network after three rounds; it was 14,300 when the last prompt of each was kept as one text."""


def network(size: int, rounds: int) -> Scenario:
    return load_preset("network").with_settings({"size": size, "rounds": rounds, "repetitions": 1, "topic": "racism"})


def kept(size: int, folder: Path) -> int:
    """Return the bytes that are in memory when a run of so many agents has ended, with its record in a file."""
    with closing(FileRecorder(folder / f"{size}.jsonl")) as recorder:
        gc.collect()
        tracemalloc.start()
        try:
            model = DebateModel(network(size, 3), backend=Fake(opinionated), recorder=recorder)
            model.run()
            gc.collect()
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()


def test_an_agent_of_a_network_takes_a_few_kilobytes(tmp_path: Path) -> None:
    kept(60, tmp_path)  # prompts and personas are read once
    assert kept(260, tmp_path) - kept(60, tmp_path) < 200 * KEPT


class Counted(Wrapper):
    """Notes how many requests came at once."""

    most = 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.most = max(self.most, len(requests))
        return self.inner.complete(requests)


@pytest.mark.parametrize("memory", ["last:10", "whole"])
def test_a_round_is_asked_in_blocks_and_nobody_hears_before_all_have_spoken(
    monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    def lines(at_once: int) -> tuple[int, list[str]]:
        monkeypatch.setattr(parley.llm.driver, "AT_ONCE", at_once)
        recorder, backend = MemoryRecorder(), Counted(open_spec("oracle"))
        scenario = network(20, 2).with_settings({"memory": memory, "reference": ()})
        DebateModel(scenario, backend=backend, recorder=recorder).run()
        return backend.most, [to_line(event) for event in recorder.events]

    (most, whole), (few, in_blocks) = lines(1000), lines(7)
    assert (most, few) == (20, 7)
    assert in_blocks == whole
