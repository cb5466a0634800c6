"""What a run costs on this machine: memory of a model, and time by the speed of the latest run.

llama.cpp says with each call how long it read and wrote. The seconds for a token are about in proportion to the bytes of the
weights, so the speed of a small model tells about that of a larger one before it is loaded.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import psutil

from parley.llm.backends.gguf.header import Header
from parley.llm.request import Usage
from parley.llm.user_file import user_cache

FEWEST = 10
"""Calls from which a speed is kept, and again after as many."""
OVERHEAD = 300 << 20
"""Bytes of Parley itself and of the working memory of llama.cpp."""
LOOK = 0.2
"""Seconds over which the work of the cores is looked at."""
NUMBERS, TIMES = 1 << 16, 100
"""Numbers that are multiplied and added up where no speed is known, and how often."""
READING, WRITING = 0.085, 0.77
"""Such multiplications on one core in the time in which llama.cpp reads a token of a prompt (of which two thirds are known), and
writes one, for each byte of weights. Measured with SmolLM2."""


class Speed(NamedTuple):
    """Seconds for a token of a prompt, and for a token of a reply, for each byte of weights."""

    reading: float
    writing: float
    measured: bool


class MachineCosts(NamedTuple):
    """Bytes of memory and seconds of a run; `parts` says in words what the memory is for. measured: see `Speed`."""

    memory: int
    seconds: float
    parts: str
    measured: bool


@dataclass
class SpeedLog:
    """Adds up what calls took, and keeps it for later plans. size: the bytes of the weights."""

    size: int
    calls: int = 0
    sums: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("asked", "reading", "written", "writing"), 0.0)
    )
    _lock: Any = field(default_factory=Lock)  # each slot adds its calls from a thread of its own

    def add(self, data: Mapping[str, Any], is_first: bool = True) -> None:
        """Note a call of the engine. Of the lookups of a closed question only the first counts its prompt."""
        timings, usage = data.get("timings"), data.get("usage")
        if not timings or not usage:
            return
        with self._lock:
            self.calls += is_first
            self.sums["asked"] += usage["prompt_tokens"] * is_first
            self.sums["reading"] += timings["prompt_ms"] / 1000
            self.sums["written"] += usage["completion_tokens"] - 1  # the first token comes with the prompt
            self.sums["writing"] += timings["predicted_ms"] / 1000
            if is_first and self.calls % FEWEST == 0:
                self._keep()

    def _keep(self) -> None:
        with suppress(OSError):  # a plan without a measured speed is no reason to end a run
            path = _file()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.sums | {"size": self.size}), encoding="utf-8")


def machine_costs(header: Header, context: int, slots: int, keep: int, usage: Usage) -> MachineCosts:
    """Return what a run of so many tokens costs here. Nothing is loaded."""
    cache, speed = context * slots * header.bytes_per_token, known_speed()
    memory = header.size + cache + (keep << 20) + OVERHEAD
    parts = (
        f"weights {_words(header.size)}, a context of {context:,} tokens {_words(cache)}, kept prompts up to {keep} MB"
    )
    seconds = header.size * (usage.prompt_tokens * speed.reading + usage.completion_tokens * speed.writing)
    return MachineCosts(memory, seconds, parts, speed.measured)


def known_speed() -> Speed:
    """Return the speed that the latest run measured; before the first run an estimate, from a multiplication of matrices."""
    try:
        sums = json.loads(_file().read_text(encoding="utf-8"))
        reading, written = sums["reading"] / sums["asked"] / sums["size"], sums["written"]
        writing = sums["writing"] / written / sums["size"] if written else reading * WRITING / READING
        return Speed(reading, writing, True)
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        return _estimated_speed()


def free_cores() -> int:
    """Return the number of cores that have nothing to do now; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Not the load average, which still counts what ended a minute ago.
    busy: float = psutil.cpu_percent(LOOK) / 100 * (psutil.cpu_count() or 1)
    return max(1, cores - round(busy))


def _estimated_speed() -> Speed:
    numbers = np.ones(NUMBERS, np.float32)
    start = time.process_time()
    for _ in range(TIMES):
        np.einsum("i,i->", numbers, numbers)
    seconds = max(time.process_time() - start, 1e-6) / (NUMBERS * TIMES) / free_cores()
    return Speed(seconds * READING, seconds * WRITING, False)


def _file() -> Path:
    return user_cache() / "speed.json"


def _words(size: float) -> str:
    return f"{size / 1e6:.0f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
