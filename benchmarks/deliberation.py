"""200 groups of five through a private deliberation.

    python benchmarks/deliberation.py [MEDIATOR]      (draft_revise; habermas for sixteen candidates and rankings)

A group is a session of one episode here: position, opinions, draft, critiques, revision, final ratings, questionnaire; with
journal and record, as `run.py` holds it, then the report. The bar is 60 seconds for the sitting. Nothing is asserted.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

from parley.analysis.run_report import write_report
from parley.model.debate import DebateModel
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

GROUPS, BAR = 200, 60


def scenario(mediator: str) -> Scenario:
    """200 groups of five: a hundred with one more of either party."""
    settings = {"repetitions": GROUPS // 2, "episodes": 1, "llm": "oracle", "mediator": mediator}
    return load_preset("consensus").with_settings(settings)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started, done = time.perf_counter(), work()
    return time.perf_counter() - started, done


def main(mediator: str = "draft_revise") -> None:
    setup = scenario(mediator)
    told = plan_run(setup)
    print(f"{told.rooms} groups of 5, mediator {mediator}: {told.calls:,} calls")
    bare, _ = timed(lambda: DebateModel(setup).run())
    print(f"the model alone                 {bare:6.1f} s  {told.calls / bare:8,.0f} calls/s")
    with tempfile.TemporaryDirectory() as folder:
        seconds, done = timed(lambda: run_scenario(RunSpec(setup, Path(folder) / "run")))
        print(f"with journal and record         {seconds:6.1f} s  {done.asked / seconds:8,.0f} calls/s  (bar: {BAR} s)")
        report, _ = timed(lambda: write_report(Path(folder) / "run"))
        print(f"report                          {report:6.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
