"""A run on the model in the box that kills itself: `python killed_pocket.py FOLDER COUNT`; used by test_resumed_pocket.py.

It dies while its COUNTth batch is answered (0: never), when the model has replied and the journal does not know it yet.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import run  # noqa: F401  (`parley` is this checkout)
from parley.analysis.run_report import write_report
from parley.llm.backends import open_spec
from parley.llm.request import Reply, Request, Wrapper
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario


def scenario() -> Scenario:
    changes = {"topic": "climate_change", "repetitions": 2, "rounds": 2, "llm": "pocket", "max_tokens": 40}
    return load_preset("three_way").with_settings(changes)


class Dying(Wrapper):
    """Answers so many batches."""

    def __init__(self, count: int):
        super().__init__(open_spec("pocket"))
        self.count, self.batches = count, itertools.count(1)

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        if next(self.batches) == self.count:
            os.kill(os.getpid(), signal.SIGKILL)
        return replies


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    run_scenario(RunSpec(scenario(), folder), backend=Dying(int(sys.argv[2])))
    write_report(folder)
