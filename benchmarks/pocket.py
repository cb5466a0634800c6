"""How fast the model in the box is, and what of it is ours: ratios measured in one run, in one process, on one thread.

    python benchmarks/pocket.py [--figure docs/pocket_speed.svg]

1. Debates: 40 rooms x 3 agents x 3 rounds on one topic with a survey after each round; the same with nothing kept between turns;
   and the same questions put one at a time to the library's `generate` (every 10th of them, the time scaled up).
2. Tokens per second at batch 1, 8, 40, 120, beside what the machine's matrix products would allow (2 x parameters a token).

Nothing is asserted; the figures of a machine stand in docs/log.md.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import torch

from parley.llm.backends import open_spec
from parley.llm.backends.hf.prompts import encode
from parley.llm.backends.pocket.names import name_tokens, mask_names
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.model.debate import DebateModel
from parley.model.scenario import Scenario, load_preset

BATCHES = (1, 8, 40, 120)
EVERY = 10


class Listening:
    """The backend, and every question it was asked."""

    in_flight = 0

    def __init__(self, inner: Backend):
        self.inner, self.identity, self.seedless = inner, inner.identity, inner.seedless
        self.asked: list[Request] = []
        self.said = 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        self.asked += requests
        self.said += sum(reply.usage.completion_tokens for reply in replies)
        return replies


def scenario() -> Scenario:
    return load_preset("three_way").with_settings({"topics": "climate_change", "repetitions": 40, "rounds": 3})


def debates(spec: str) -> tuple[float, Listening]:
    """Seconds for all debates, and what was asked."""
    backend = Listening(open_spec(spec))
    started = time.perf_counter()
    DebateModel(scenario(), backend=backend).run()
    return time.perf_counter() - started, backend


def one_at_a_time(backend: Listening) -> float:
    """Seconds for the same questions through the library's `generate`, one by one (a sample, scaled up)."""
    loaded = backend.inner.inner.loaded  # type: ignore[attr-defined]
    sample = backend.asked[::EVERY]
    started = time.perf_counter()
    for request in sample:
        messages = tuple(mask_names(request.messages, name_tokens(request.messages)))
        ids = encode([Request(messages, request.sampling, request.seed)], loaded.tokenizer, "auto")[0]
        most = 1 if request.answers else request.sampling.max_tokens
        with torch.inference_mode():
            loaded.model.generate(torch.tensor([ids]), do_sample=not request.answers, max_new_tokens=most)
    return (time.perf_counter() - started) * len(backend.asked) / len(sample)


def speed(batch: int) -> float:
    """Tokens said a second in one batch of speeches, the reading of the prompts included."""
    backend = open_spec("pocket,keep=0")
    said = (
        Message("system", "You are an American."),
        Message("user", "This is a debate about racism. Complete your next reply."),
    )
    asked = [Request(said, Sampling(), seed) for seed in range(batch)]
    backend.complete(asked)
    times = max(1, 240 // batch)
    started, tokens = time.perf_counter(), 0
    for _ in range(times):
        tokens += sum(reply.usage.completion_tokens for reply in backend.complete(asked))
    return tokens / (time.perf_counter() - started)


def limit() -> float:
    """Tokens a second if the processor did nothing but the model's matrix products, at the rate of large ones."""
    size = 1024
    one, other = torch.randn(size, size), torch.randn(size, size)
    started, times = time.perf_counter(), 30
    for _ in range(times):
        one @ other
    rate = times * 2 * size**3 / (time.perf_counter() - started)
    model = open_spec("pocket").inner.loaded.model  # type: ignore[attr-defined]
    print(f"matrix products {rate / 1e9:.0f} GFLOP/s; the model has {model.num_parameters() / 1e6:.2f} M parameters")
    return rate / (2 * model.num_parameters())


def figure(rates: dict[int, float], most: float, path: Path) -> None:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(3.5, 2.4))
    axis = drawn.subplots()
    axis.plot(list(rates), list(rates.values()), "o-", color="#1f5fa8", label="pocket, one thread")
    axis.axhline(most, color="#777777", linestyle="--", label="limit by matrix products")
    for batch, rate in rates.items():
        axis.annotate(
            f"{rate / most:.1%}", (batch, rate), textcoords="offset points", xytext=(0, 6), ha="center", fontsize=7
        )
    axis.set(xscale="log", yscale="log", xlabel="requests in a batch", ylabel="tokens per second")
    axis.set_xticks(list(rates), [str(batch) for batch in rates])
    axis.margins(x=0.12, y=0.12)
    axis.legend(fontsize=7, frameon=False)
    drawn.tight_layout()
    drawn.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    ours, backend = debates("pocket")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    anew, _ = debates("pocket,keep=0")
    single = one_at_a_time(backend)
    print(f"{len(backend.asked)} calls, {backend.said} tokens said: {ours:.1f} s ({backend.said / ours:,.0f} tokens/s)")
    print(f"{memory:,.0f} MB of memory at most")
    print(f"nothing kept between turns {anew:.1f} s: {anew / ours:.1f} times as long")
    print(f"one at a time through `generate` about {single:.0f} s: {single / ours:.1f} times as long")
    most = limit()
    rates = {batch: speed(batch) for batch in BATCHES}
    for batch, rate in rates.items():
        print(f"batch {batch:>3}: {rate:,.0f} tokens/s, {rate / most:.2%} of the limit")
    if given.figure:
        figure(rates, most, given.figure)


if __name__ == "__main__":
    main()
