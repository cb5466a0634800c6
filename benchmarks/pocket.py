"""How fast the compiled engine of the pocket model is, next to the same model through torch, and how well the two agree.

    python benchmarks/pocket.py [--model FOLDER] [--other FOLDER] [--times 3] [--repetitions 20]

`--other` is the model that torch runs, by default the same one. Two models with different tokenizers are compared by the
characters that they write. Everything runs on one thread.

1. Replies to 1, 40 and 120 chats of about 1,000 tokens that were read before, by both engines in turns: tokens and characters a
   second, and the share of the machine's rate of multiply-adds (that of a large matrix product).
2. Debates: rooms of three agents over three rounds with a survey after each round, by both engines.
3. Agreement on the questions of these debates: logits, sampled replies, distributions of ratings. Only for the same model.

Nothing is asserted; measured figures are in tools/log.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np

from parley.llm.backends import open_spec
from parley.llm.backends.pocket.prompt_ids import mask_names, name_tokens
from parley.llm.request import Backend, Reply, Request, Wrapper
from parley.model.debate import DebateModel
from parley.model.scenario import load_preset

BATCHES, CONTEXT, MOST = (1, 40, 120), 1000, 60
KEEP = "workers=1,keep=2048"


class Rate(NamedTuple):
    """Tokens and characters a second."""

    tokens: float
    characters: float


class Listening(Wrapper):
    """The backend, and every question it was asked, with its reply."""

    def __init__(self, inner: Backend):
        super().__init__(inner)
        self.asked: list[Request] = []
        self.replies: list[Reply] = []

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        self.asked += requests
        self.replies += replies
        return replies


def debate(backend: Backend, repetitions: int, rounds: int) -> tuple[float, Listening]:
    """Return seconds and questions of debates about one topic."""
    listening, settings = Listening(backend), {"topic": "climate_change", "repetitions": repetitions, "rounds": rounds}
    started = time.perf_counter()
    DebateModel(load_preset("three_way").with_settings(settings), backend=listening).run()
    return time.perf_counter() - started, listening


def long_chats(compiled: Any) -> list[Request]:
    """Return a question to each of 120 agents whose chat has about `CONTEXT` tokens; the oracle spoke before."""
    _, listening = debate(open_spec("oracle"), 40, 8)
    last: dict[tuple[str, ...], Request] = {}
    for request in listening.asked:
        length = compiled.inner.tokenizer.chat(request.messages)
        if not request.answers and len(length) <= 4 * CONTEXT:
            last[(request.messages[0].content, *sorted(request.names or ()))] = request
    longest = sorted(last.values(), key=lambda request: -len(str(request.messages)))[: max(BATCHES)]
    return [replace(request, sampling=request.sampling._replace(max_tokens=MOST)) for request in longest]


def rate(backend: Backend, requests: Sequence[Request], batch: int) -> Rate:
    """Return how fast replies are written to chats that were read before: what one token takes is subtracted."""
    some = list(requests[:batch]) if batch > 1 else list(requests[:12])
    short = [replace(request, sampling=request.sampling._replace(max_tokens=1)) for request in some]
    backend.complete(short)
    taken, replies = [], []
    for each in (short, some):
        started = time.perf_counter()
        parts = [backend.complete(each[place : place + batch]) for place in range(0, len(each), batch)]
        taken.append(time.perf_counter() - started)
        replies = [reply for batch_replies in parts for reply in batch_replies]
    seconds = taken[1] - taken[0]
    tokens = sum(reply.usage.completion_tokens - 1 for reply in replies)
    return Rate(tokens / seconds, sum(len(reply.text or "") for reply in replies) / seconds)


def multiply_adds_per_second() -> float:
    """Return the rate of a large matrix product on one thread."""
    matrix, best = np.random.default_rng(0).random((1024, 1024), np.float32), 0.0
    for _ in range(20):
        started = time.perf_counter()
        matrix @ matrix
        best = max(best, 1024**3 / (time.perf_counter() - started))
    return best


def multiply_adds(compiled: Any) -> float:
    """Return the multiply-adds of one token behind `CONTEXT` others."""
    weights = compiled.inner.reader.models[0]
    layers = weights.project.shape[0]
    matrices = (weights.project, weights.combine, weights.gate_up, weights.down, weights.logits)
    return float(sum(each.size for each in matrices) + 2 * 32 * CONTEXT * layers * weights.heads)


def compare_rates(compiled: Any, library: Backend, times: int) -> None:
    """Print the rates of both engines at each batch, measured in turns."""
    requests, limit = long_chats(compiled), multiply_adds_per_second()
    names = "reply tokens/s", "characters/s"
    print(
        f"{limit / 1e9:.1f} G multiply-adds/s; a token behind {CONTEXT} others needs {multiply_adds(compiled) / 1e6:.2f} M"
    )
    for batch in BATCHES:
        pairs = [(rate(compiled, requests, batch), rate(library, requests, batch)) for _ in range(times)]
        for place, name in enumerate(names):
            ours, theirs = (statistics.median(pair[side][place] for pair in pairs) for side in (0, 1))
            ratio = statistics.median(pair[0][place] / pair[1][place] for pair in pairs)
            share = f", {ours * multiply_adds(compiled) / limit:.0%} of the multiply-adds" if place == 0 else ""
            print(f"batch {batch:>3}: {ours:>8,.0f} {name:<15} torch {theirs:>8,.0f}: {ratio:.1f} times{share}")


def compare_answers(compiled: Any, library: Any, requests: Sequence[Request]) -> None:
    """Print how well both engines agree on the same questions."""
    ours, theirs = compiled.complete(requests), library.complete(requests)
    spoken = [reply.text == other.text for reply, other in zip(ours, theirs, strict=True) if reply.answers is None]
    apart = [
        sum(abs(reply.answers[answer] - other.answers[answer]) for answer in reply.answers) / 2
        for reply, other in zip(ours, theirs, strict=True)
        if reply.answers and other.answers
    ]
    print(
        f"the same words: {sum(spoken)} of {len(spoken)} replies; total variation of ratings at most {max(apart):.1e}"
    )
    differences, variations = zip(
        *(compare_logits(compiled, library, request) for request in requests[:: len(requests) // 10]), strict=True
    )
    print(
        f"largest difference of logits {max(differences):.1e}; mean total variation of next tokens {max(variations):.1e}"
    )


def compare_logits(compiled: Any, library: Any, request: Request) -> tuple[float, float]:
    """Return the largest difference of logits over all tokens of a prompt, and the mean total variation."""
    import torch

    from parley.llm.backends.pocket.reader import Row

    reader, model = compiled.inner.reader, library.inner.loaded.model
    ids = compiled.inner.tokenizer.chat(mask_names(request.messages, name_tokens(request.messages, request.names)))
    row = Row(0, request, ids)
    reader.pool.clear()
    reader.seat([row], lambda _: 0)
    logits = np.empty((row.count, reader.width), np.float32)
    reader.read_into([row], [range(row.count)], logits)
    reader.leave(row)
    with torch.inference_mode():
        expected = model(torch.tensor(row.tokens[None].astype(np.int64))).logits[0]
    ours = torch.from_numpy(logits[:, : expected.shape[1]])
    variation = (ours.double().softmax(-1) - expected.double().softmax(-1)).abs().sum(-1) / 2
    return float((ours - expected).abs().max()), float(variation.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="folder of the model (default: the shipped one)")
    parser.add_argument("--other", default="", help="folder of the model that torch runs (default: the same)")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=20)
    given = parser.parse_args()
    ours, theirs = (f"pocket:{folder}" if folder else "pocket" for folder in (given.model, given.other or given.model))
    compiled = open_spec(f"{ours},{KEEP}")
    seconds, listening = debate(compiled, given.repetitions, 3)
    reply_tokens = sum(reply.usage.completion_tokens for reply in listening.replies)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"debates, {len(listening.asked)} calls: {seconds:.1f} s, {reply_tokens / seconds:,.0f} reply tokens/s, "
        f"{memory:,.0f} MB at most"
    )
    library = open_spec(f"{theirs},{KEEP},engine=torch")
    slow, _ = debate(library, given.repetitions, 3)
    print(f"through torch {slow:.1f} s: {slow / seconds:.1f} times as long")
    compare_rates(compiled, library, given.times)
    if ours == theirs:
        compare_answers(compiled, library, listening.asked)


if __name__ == "__main__":
    main()
