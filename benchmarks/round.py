"""A round of 1,000 people on a network over an endpoint, and the same calls through the same client without a model.

    python benchmarks/round.py [ROUNDS] [SECONDS]  how long the server takes to answer (0)
    python benchmarks/round.py memory [AGENTS]     two rounds of 100,000 on an instant stand-in, journal and record on: memory

The server answers at once, or after SECONDS, a process of its own on loopback (benchmarks/endpoint.py). Each round of the
model (Mesa, environment, prompts with the last 4 lines, what is said handed on) is followed by its requests sent once more
by the client alone; then the next round. Ratios are those of seconds, of the wall and of the processor of this process,
round by round; their medians are printed, and both rates. `kept` is the same with journal and record on. Nothing is
asserted; the figures of a machine are in tools/log.
"""

from __future__ import annotations

import gc
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

from benchmarks.endpoint import IN_FLIGHT, resident, server
from benchmarks.engine import AGENTS, population
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.driver import complete_all
from parley.llm.journal import Journal
from parley.llm.request import Backend, Request, Wrapper
from parley.model.debate import DebateModel
from parley.model.recorder import NullRecorder, Recorder, FileRecorder
from parley.model.scenario_run import COLLECT, RunSpec, run_scenario

ROUNDS = 7


class Listening(Wrapper):
    """Passes everything on, and keeps the requests of a round."""

    def __init__(self, inner: Backend):
        super().__init__(inner)
        self.sent: list[Request] = []

    def send(self, requests: Sequence[Request]) -> None:
        self.sent += requests
        super().send(requests)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Of the wall, and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def pairs(url: str, rounds: int, kept: bool) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Seconds of each round, by the model and by the client alone; the first round, which imports, is left out."""
    client = open_spec(f"openai:echo,base_url={url},closed=text,in_flight={IN_FLIGHT}")
    heard = Listening(client)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.sqlite", heard) if kept else None
        file = FileRecorder(Path(folder) / "record.jsonl") if kept else None
        recorder: Recorder = file or NullRecorder()
        setup = population("never", "last:4").with_settings({"rounds": rounds + 1})
        model = DebateModel(setup, backend=journal or heard, recorder=recorder)
        timings = []
        for _ in range(rounds + 1):
            heard.sent.clear()
            held = seconds(model.step)
            assert model.error is None, model.error
            assert len(heard.sent) == AGENTS
            timings.append((held, seconds(lambda: complete_all(client, heard.sent))))  # type: ignore[arg-type]
        for writer in (journal, file):
            if writer:
                writer.close()
    return timings[1:]


def memory(agents: int) -> None:
    """Resident memory, in GB, and seconds of the processor, at each stage of a sitting."""

    def print_memory(stage: str) -> None:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{stage:<14} {resident() / 1024:5.2f} GB ({most:.2f} at most), {time.process_time():,.0f} s", flush=True)

    print_memory("imports")
    line = "I hear what you say, and I would like to add a thought of my own to it before we go on with this."
    fake = Fake(lambda request: request.answers[0] if request.answers else line)
    setup = population("rounds", "last:4").with_settings({"rounds": 2, "size": agents})
    with tempfile.TemporaryDirectory() as folder:
        run_scenario(
            RunSpec(setup, Path(folder) / "run"),
            None,
            lambda model: print_memory(f"after round {model.round}"),
            fake,
            on_end=lambda _: print_memory("after round 2"),
        )
        print_memory(f"{sum(file.stat().st_size for file in (Path(folder) / 'run').iterdir()) / 2**30:.2f} GB on disk")


def main() -> None:
    if sys.argv[1:2] == ["memory"]:
        return memory(int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
    gc.set_threshold(COLLECT)  # as in a sitting
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    wait = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    print(f"{AGENTS:,} people, mean degree 6, {rounds} rounds, {wait:g} s to answer: median of ratios, and of rates")
    for name, kept in (("model", False), ("kept", True)):
        with server(wait) as url:
            timings = pairs(url, rounds, kept)
        for what, place in (("wall", 0), ("processor", 1)):
            ratio = statistics.median([alone[place] / held[place] for held, alone in timings])
            rates = [AGENTS / statistics.median([timing[who][place] for timing in timings]) for who in (0, 1)]
            print(
                f"{name:<6} {what:<10} {ratio:5.2f} of the client's rate   ({rates[0]:,.0f} and {rates[1]:,.0f} calls/s)"
            )

    return None


if __name__ == "__main__":
    main()
