"""A run of one process on a server on loopback that answers after 0, 20 or 50 ms, in turn with a bare aiohttp loop."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from benchmarks.endpoint import bare_aiohttp, parley, server

DELAYS = (0.0, 0.02, 0.05)
AGENTS, STEPS, PAIRS = 100, 30, 5


class Cost(NamedTuple):
    """Milliseconds of a call."""

    wall: float
    processor: float


def section() -> None:
    """Print medians of the pairs, for each latency."""
    with server(0.0) as url:
        parley(url, 10, 2)  # imports
        bare_aiohttp(url, 10, 2)
    print(f"client: {AGENTS} agents, {STEPS} steps, journal and record on; medians of {PAIRS} pairs, ratios of pairs")
    for delay in DELAYS:
        pairs = [(_cost(parley, delay), _cost(bare_aiohttp, delay)) for _ in range(PAIRS)]
        rates = [1000 / median(pair[way].wall for pair in pairs) for way in (0, 1)]
        processor = [median(pair[way].processor for pair in pairs) for way in (0, 1)]
        wall_ratio = median(bare.wall / ours.wall for ours, bare in pairs)
        processor_ratio = median(bare.processor / ours.processor for ours, bare in pairs)
        print(
            f"  {delay * 1000:>3.0f} ms: {rates[0]:,.0f} and {rates[1]:,.0f} calls/s ({wall_ratio:.2f}), "
            f"processor {processor[0]:.3f} and {processor[1]:.3f} ms ({processor_ratio:.2f})"
        )


def _cost(way: Callable[[str, int, int], int], delay: float) -> Cost:
    with server(delay) as url:
        gc.collect()
        wall, processor = time.perf_counter(), time.process_time()
        calls = way(url, AGENTS, STEPS)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return Cost(1000 * wall / calls, 1000 * processor / calls)
