"""A branch that kills itself: `python killed_branch.py PARENT FOLDER LOG COUNT`; used by test_branching.py.

At the COUNTth request (0: never), before it is answered. Every request that reaches the model is noted in LOG.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path

from standins import opinionated

import run  # noqa: F401
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.branching import plan_branch
from parley.model.scenario_run import run_scenario


def main(parent: Path, folder: Path, log: Path, count: int) -> None:
    asked, notes = itertools.count(1), os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def answer(request: Request) -> str:
        os.write(notes, request.key("test").hex().encode() + b"\n")
        if next(asked) == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return opinionated(request)

    plan = plan_branch(parent, 2, folder, {"temperature": 0.2}, ["message by=Ann text='Think of the cost.'"])
    run_scenario(plan.spec, backend=Fake(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
