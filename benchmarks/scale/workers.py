"""One run in one process, and in several workers: calls a second, and whether the records are the same bytes."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.scale.servers import loopback_servers
from parley.model.placement import Workers, one_worker, use_workers
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

WORKERS = (1, 2, 4)
RUNS: dict[str, dict[str, Any]] = {
    "three_way": {"repetitions": 300, "rounds": 3},
    "network": {"size": 1000, "repetitions": 1, "rounds": 3},
}
"""Rooms are divided among workers, and the agents of the one network."""


class Finished(NamedTuple):
    """Seconds of a run in all, its calls, and its events."""

    wall: float
    calls: int
    record: list[Any]


def section() -> None:
    """Print each run on the rule-based speaker, and on a server on loopback that answers after 20 ms."""
    print(f"workers: {os.cpu_count()} cores, journal and record on")
    with loopback_servers(1, 0.0, 0.02) as (url,):
        for model, spec in {
            "oracle": "oracle",
            "server": f"openai:echo,base_url={url},closed=text,in_flight=64",
        }.items():
            for preset, settings in RUNS.items():
                scenario = load_preset(preset).with_settings({"topic": "racism", "llm": spec, **settings})
                runs = {number: _run(scenario, number) for number in WORKERS}
                for number, finished in runs.items():
                    first = runs[WORKERS[0]]
                    rate, same = finished.calls / finished.wall, finished.record == first.record
                    print(
                        f"  {preset} on {model}, {number} workers: {finished.calls:,} calls, {rate:,.0f} a second "
                        f"({first.wall / finished.wall:.2f}), same record: {same}"
                    )


def _run(scenario: Any, number: int) -> Finished:
    with tempfile.TemporaryDirectory() as folder, one_worker():
        use_workers(Workers(number))
        started = time.perf_counter()
        outcome = run_scenario(RunSpec(scenario, Path(folder) / "run"))
        return Finished(time.perf_counter() - started, outcome.asked, _without_notes(outcome.record))


def _without_notes(record: Path) -> list[Any]:
    """Return the events of a record without the notes of calls, which say what was in the server's cache."""
    events = map(json.loads, record.read_text(encoding="utf-8").splitlines())
    return [{name: value for name, value in event.items() if name != "notes"} for event in events]
