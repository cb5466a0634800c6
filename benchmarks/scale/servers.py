"""Eight servers with a prefix cache against one: in counted time with the oracle's words, then on loopback in real time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.scale.prefix_cache import CachedServer, Choice, SimulatedServers, by_conversation, by_load
from parley.llm.backends import open_spec
from parley.llm.driver import complete_all
from parley.llm.request import Backend, Reply, Request, Wrapper
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

COUNT = 8
WORD, REPLY = 0.001, 0.2
"""Seconds that a simulated server takes for a word of a prompt that it does not know, and to write a reply."""
LOOPBACK_WORD, LOOPBACK_REPLY, IN_FLIGHT = 0.0003, 0.06, 256
"""The same on loopback, and the requests in flight."""
SIZES = (("three_way", {"repetitions": 12, "rounds": 5}, 32), ("three_way", {"repetitions": 32, "rounds": 3}, 256))
LARGEST = ("three_way", {"repetitions": 60, "rounds": 5}, 480)
MORE = (LARGEST, ("platform", {"rounds": 4}, 64))
"""Scenarios with their settings and the requests in flight."""


def section() -> None:
    """Print the ratios of both."""
    print(
        f"simulated: {COUNT} servers with a prefix cache of blocks of 16 words against one, {WORD} s a word, {REPLY} s a reply"
    )
    for name, settings, in_flight in (*SIZES, *MORE):
        simulated_ratios(load_preset(name).with_settings(settings), in_flight)
    loopback_ratios()


def simulated_ratios(scenario: Scenario, in_flight: int) -> tuple[float, float]:
    """Print and return the words computed by eight servers over those by one, and their throughput over its own."""
    one = simulate(scenario, 1, by_load, in_flight)
    calls, share = one.servers[0].calls, one.computed / one.servers[0].words
    print(f"{scenario.name}, {in_flight} in flight: {calls:,} calls, one server computes {share:.2f} of the words")
    ratios = 0.0, 0.0
    for rule, choose in (("by load", by_load), ("by conversation", by_conversation(COUNT))):
        many = simulate(scenario, COUNT, choose, in_flight)
        ratios = many.computed / one.computed, one.now / many.now
        busiest = max(server.calls for server in many.servers) * COUNT / calls
        print(
            f"  {rule:16} {ratios[0]:.3f} of its words, {ratios[1]:.2f} of its throughput; busiest {busiest:.2f} of the mean"
        )
    return ratios


def simulate(scenario: Scenario, count: int, choose: Choice, in_flight: int) -> SimulatedServers:
    """Run a scenario on simulated servers with the oracle's replies; return them."""
    servers = [CachedServer(WORD, REPLY) for _ in range(count)]
    simulated = SimulatedServers(open_spec("oracle"), servers, choose, in_flight)
    _run(scenario, simulated)
    return simulated


def loopback_ratios() -> None:
    """Print the ratios of eight servers on loopback to one, in one run: words computed, as the servers say them, and seconds."""
    scenario = load_preset("three_way").with_settings({"repetitions": 32, "rounds": 3})
    one, many = [_on_loopback(scenario, count) for count in (1, COUNT)]
    print(f"loopback: {one.calls:,} calls, {LOOPBACK_WORD} s a word not in the cache, {LOOPBACK_REPLY} s a reply")
    print(f"  one server {one.seconds:.1f} s, {COUNT} servers {many.seconds:.1f} s: {one.seconds / many.seconds:.2f}")
    print(f"  {many.computed / one.computed:.3f} of the words that one server computes")


class Tally(NamedTuple):
    calls: int
    computed: int
    seconds: float


def _on_loopback(scenario: Scenario, count: int) -> Tally:
    with loopback_servers(count) as urls:
        backend = open_spec(f"openai:echo,base_url={'+'.join(urls)},closed=text,in_flight={IN_FLIGHT}")
        heard = Heard(backend)
        started = time.perf_counter()
        _run(scenario, heard)
        return Tally(heard.calls, heard.computed, time.perf_counter() - started)


class Heard(Wrapper):
    """Counts the words that servers computed, by their own account."""

    calls = computed = 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return complete_all(self, requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        landed = super().receive(wait)
        self.calls += len(landed)
        self.computed += sum(reply.usage.prompt_tokens - reply.notes.get("cached_tokens", 0) for _, reply in landed)
        return landed


@contextmanager
def loopback_servers(count: int, word: float = LOOPBACK_WORD, reply: float = LOOPBACK_REPLY) -> Iterator[list[str]]:
    """The addresses of some servers, in a process of their own."""
    words = [sys.executable, "-m", "benchmarks.scale.loopback_servers", str(count), str(word), str(reply)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    try:
        assert process.stdout
        yield [f"http://127.0.0.1:{port}/v1" for port in process.stdout.readline().split()]
    finally:
        process.terminate()
        process.wait()


def _run(scenario: Scenario, backend: Backend) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_scenario(RunSpec(scenario, Path(folder) / "run"), backend=backend)
