"""How fast the engine for local models is: without each of its parts, and compared with the library's plain `generate`.

    python benchmarks/hf_engine.py [--repetitions 40] [--times 3]
    python benchmarks/hf_engine.py --model FOLDER [--repetitions 6] [--times 3]

Without `--model`, the model is that of `pocket`, through torch. Each variant runs the debates `--times` times, in turns with the
others, each time in a new process. A ratio is the median time of a variant divided by that of the whole engine. A part that is
only there for speed must gain a factor of 1.3.

With `--model`, requests of a debate to the first speaker of each room are asked, `--times` times in turns: by the engine,
from an empty cache, and by `generate` of the library in one batch that is padded on the left. A ratio is the median of the
processor seconds of `generate` divided by those of the engine. For closed questions `generate` writes a reply of at most 8
tokens, or a single token, while the engine returns the probability of each answer. The engine's replies are also compared with
those to each request alone.

Nothing is asserted; measured figures are in tools/log.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

MODEL = f"hf:{ROOT / 'llm' / 'backends' / 'pocket' / 'weights' / 'pocket'},dtype=float32"
VARIANTS = {
    "the whole engine": f"{MODEL},batch=32768,keep=2560,workers=2",
    "one worker": f"{MODEL},batch=32768,keep=2560,workers=1",
    "nothing kept between turns": f"{MODEL},batch=32768,keep=0,workers=2",
    "no batches": f"{MODEL},batch=1,keep=2560,workers=2",
}
TOKENS = 16
"""Tokens of a reply, where the engine is compared with `generate`."""
KEEP = 512 << 20
"""Bytes for what the engine has read before."""
ANSWER_TOKENS = 8
"""Tokens that `generate` may write for the answer to a closed question."""


def hold_debates(spec: str, repetitions: int) -> float:
    """Seconds for debates of three agents over three rounds on one topic, with a survey after each round."""
    import run  # noqa: F401  (`parley` is this checkout)
    from parley.llm.backends import open_spec
    from parley.model.debate import DebateModel
    from parley.model.scenario import load_preset

    settings = {"topic": "climate_change", "repetitions": repetitions, "rounds": 3}
    scenario, backend = load_preset("three_way").with_settings(settings), open_spec(spec)
    started = time.perf_counter()
    DebateModel(scenario, backend=backend).run()
    return time.perf_counter() - started


def time_variants(repetitions: int, times: int) -> dict[str, list[float]]:
    """Seconds of each variant, one number for each time."""
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(times):
        for name, spec in VARIANTS.items():
            command = [sys.executable, __file__, "--one", spec, "--repetitions", str(repetitions)]
            seconds[name].append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
            print(f"{name:<28} {seconds[name][-1]:7.1f} s", file=sys.stderr, flush=True)
    return seconds


def debate_batches(repetitions: int) -> dict[str, list[Any]]:
    """The requests to the first speakers of a debate's rooms: their first and second speech, and a closed question after them.

    The rule-based speaker holds the debate, so its lines are short.
    """
    from parley.llm.backends import open_spec
    from parley.llm.request import Wrapper
    from parley.model.debate import DebateModel
    from parley.model.scenario import load_preset

    batches: list[list[Any]] = []

    class Listening(Wrapper):
        def complete(self, requests: Sequence[Any]) -> list[Any]:
            batches.append(list(requests))
            return self.inner.complete(requests)

    settings = {"topic": "climate_change", "repetitions": repetitions, "rounds": 2, "max_tokens": TOKENS}
    DebateModel(load_preset("two_way").with_settings(settings), backend=Listening(open_spec("oracle"))).run()
    speeches = [batch for batch in batches if batch[0].purpose == "speech"]
    personas = {request.messages[0] for request in speeches[0]}
    survey = [request for request in batches[-1] if request.messages[0] in personas and request.answers]
    return {"first speech": speeches[0], "second speech": speeches[len(speeches) // 2], "closed questions": survey}


def generate_plainly(loaded: Any, requests: Sequence[Any], tokens: int) -> None:
    """Write replies with the library alone: one batch, padded on the left."""
    import torch

    from parley.llm.backends.hf.answer_tokens import encode

    prompts = encode(requests, loaded.tokenizer, "auto")
    batch = loaded.tokenizer.pad({"input_ids": prompts}, padding_side="left", return_tensors="pt")
    sampling = requests[0].sampling
    drawn = {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}
    with torch.inference_mode():
        loaded.model.generate(
            **batch, max_new_tokens=tokens, **(drawn if sampling.temperature else {"do_sample": False})
        )


def compare(folder: str, repetitions: int, times: int) -> None:
    """Print a table: processor seconds of the engine and of `generate`, for the same requests."""
    import torch
    from transformers.utils import logging

    import run  # noqa: F401  (`parley` is this checkout)
    from parley.llm.backends import open_spec
    from parley.llm.backends.hf.kv_cache import PrefixCache
    from parley.llm.backends.hf.loading import load_model

    logging.set_verbosity_error()
    torch.set_num_threads(1)
    spec = f"hf:{folder},dtype=float32"
    first, plain = cast(Any, open_spec(spec)), load_model(folder, "float32", "full", "cpu")
    plain.model.set_attn_implementation("sdpa")  # as the library loads it
    print(f"check of the machine: {_seconds(lambda: first.says):.1f} s of processor; {first.says}")
    batches = debate_batches(repetitions)
    seconds: dict[tuple[str, str], list[float]] = {}
    for requests in batches.values():  # the first use of weights reads them from the disk
        first.complete(requests[:1])
        generate_plainly(plain, requests[:1], 1)
    for _ in range(times):
        first.prefixes, replies = PrefixCache(KEEP), []
        for name, requests in batches.items():
            ways: dict[str, Callable[[], Any]] = {"engine": lambda: replies.extend(first.complete(requests))}  # noqa: B023
            lengths = {"generate": ANSWER_TOKENS, "one token": 1} if requests[0].answers else {"generate": TOKENS}
            for way, tokens in lengths.items():
                ways[way] = lambda: generate_plainly(plain, requests, tokens)  # noqa: B023
            for way, work in ways.items():
                seconds.setdefault((name, way), []).append(_seconds(work))
                print(f"{name:<18} {way:<10} {seconds[name, way][-1]:6.2f} s", file=sys.stderr, flush=True)
    all_requests = [request for batch in batches.values() for request in batch]
    alone = [
        open_spec(f"{spec},keep=0").complete([request])[0]
        for request in all_requests[:: max(1, len(all_requests) // 6)]
    ]
    print(
        f"same reply alone: {alone == replies[:: max(1, len(all_requests) // 6)]} ({len(alone)} of {len(all_requests)} tried)"
    )
    print("| | engine, s | generate, s | ratio |\n|---|---|---|---|")
    for name, way in seconds:
        if way != "engine":
            ours, theirs = (statistics.median(seconds[name, each]) for each in ("engine", way))
            print(
                f"| {name}{', one token' if way == 'one token' else ''} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} |"
            )


def _seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Print a line for each variant, or for each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a folder with a model: compare the engine with the library's generate on it")
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.model:
        return compare(options.model, options.repetitions or 6, options.times)
    repetitions = options.repetitions or 40
    if options.one:
        return print(hold_debates(options.one, repetitions))
    medians = {name: statistics.median(seconds) for name, seconds in time_variants(repetitions, options.times).items()}
    whole = next(iter(medians.values()))
    print("| | seconds | ratio |\n|---|---|---|")
    for name, median in medians.items():
        print(f"| {name} | {median:.1f} | {median / whole:.2f} |")
    return None


if __name__ == "__main__":
    main()
