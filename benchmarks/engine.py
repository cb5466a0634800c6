"""Speed of the engine with a model that costs nothing, next to an empty Mesa step.

    python benchmarks/engine.py

Rates are agent-steps per second (one agent, one reply), measured in one run, in turn, best of three; the ratio to Mesa's own
step is what to quote, since it is the machine that sets the absolute figures. Nothing is asserted.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import mesa

from parley.llm.backends.fake import Fake
from parley.llm.journal import Journal
from parley.model.debate import DebateModel
from parley.model.recorder import FileRecorder
from parley.model.scenario import Scenario, load_preset

AGENTS, ROUNDS, BEST_OF = 1000, 10, 3
LINE = "I hear what you say, and I would like to add a thought of my own to it before we go on with this."


class Empty(mesa.Model):
    """Mesa's yardstick: every agent shuffled, an empty step, one reporter collected."""

    def __init__(self) -> None:
        super().__init__(rng=1)
        for _ in range(AGENTS):
            Idle(self)
        self.datacollector = mesa.DataCollector(agent_reporters={"unique_id": lambda agent: agent.unique_id})

    def step(self) -> None:
        self.agents.shuffle_do("act")
        self.datacollector.collect(self)


class Idle(mesa.Agent):
    def act(self) -> None:
        return None


def scenario(survey: str, memory: str) -> Scenario:
    """250 rooms of four, one topic."""
    settings = {"topic": "racism", "repetitions": 250, "rounds": ROUNDS, "survey": survey, "memory": memory}
    return load_preset("three_way").with_settings(settings | {"seats": "first,first,second,second"})


def population(survey: str, memory: str) -> Scenario:
    """As many people in one room: a network in which each person hears six."""
    settings = {
        "topic": "racism",
        "reference": "",
        "repetitions": 1,
        "size": AGENTS,
        "rounds": ROUNDS,
        "survey": survey,
    }
    return load_preset("network").with_settings(settings | {"memory": memory})


def mesa_alone() -> float:
    model = Empty()
    return _rate(lambda: [model.step() for _ in range(ROUNDS)], AGENTS * ROUNDS)


def engine(survey: str, memory: str, make: Callable[[str, str], Scenario] = scenario) -> float:
    model = DebateModel(make(survey, memory), backend=_fake())
    return _rate(model.run, AGENTS * ROUNDS)


def kept(survey: str, memory: str) -> float:
    """With journal and record on disk."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.sqlite", _fake())
        recorder = FileRecorder(Path(folder) / "record.jsonl")
        model = DebateModel(scenario(survey, memory), backend=journal, recorder=recorder)
        rate = _rate(model.run, AGENTS * ROUNDS)
        recorder.close()
        journal.close()
    return rate


def _fake() -> Fake:
    return Fake(lambda request: request.answers[0] if request.answers else LINE)


def _rate(work: Callable[[], object], steps: int) -> float:
    gc.collect()
    started = time.perf_counter()
    work()
    return steps / (time.perf_counter() - started)


CASES: dict[str, Callable[[], float]] = {
    "mesa, empty step": mesa_alone,
    "engine, last 4 lines": lambda: engine("never", "last:4"),
    "engine, a network, last 4 lines": lambda: engine("never", "last:4", population),
    "engine, whole memory": lambda: engine("never", "whole"),
    "engine, whole memory, a survey each round": lambda: engine("rounds", "whole"),
    "engine, a network, last 4 lines, surveys": lambda: engine("rounds", "last:4", population),
    "journal and record, last 4 lines": lambda: kept("never", "last:4"),
    "journal and record, whole memory": lambda: kept("never", "whole"),
    "journal and record, whole memory, surveys": lambda: kept("rounds", "whole"),
}


def main() -> None:
    rates = {name: max(measure() for _ in range(BEST_OF)) for name, measure in CASES.items()}
    yardstick = rates["mesa, empty step"]
    print(f"{AGENTS:,} agents, {ROUNDS} rounds, best of {BEST_OF}")
    for name, rate in rates.items():
        print(f"{name:<44} {rate:>10,.0f} agent-steps/s   {rate / yardstick:6.3f} of Mesa's empty step")


if __name__ == "__main__":
    main()
