"""A claim that kills itself: `python killed_claim.py CLAIM FOLDER LOG COUNT`; used by test_claim_command.py.

The model of the claim is `killed_claim.py:counted`, the oracle that notes each request in LOG. After COUNT of
them (0: never) it kills the command, and then the worker that it is in, before it answers more.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.request import Reply, Request

PLACE = "KILLED_CLAIM"
"""The environment variable that workers inherit: process of the command, count, log."""


class Counted(Oracle):
    """The oracle; one worker asks it, so the log has as many lines as there were requests."""

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        command, count, log = os.environ[PLACE].split(" ", 2)
        with open(log, "a+", encoding="utf-8") as file:
            file.seek(0)
            if 0 < int(count) <= len(file.readlines()):
                os.kill(int(command), signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)
            file.writelines(f"{request.key('test').hex()}\n" for request in requests)
        return super().complete(requests)


def counted() -> Counted:
    """Open the model."""
    oracle = open_backend("")
    oracle.__class__ = Counted
    assert isinstance(oracle, Counted)
    return oracle


def main(claim: Path, folder: Path, log: Path, count: int) -> int:
    import run

    os.environ[PLACE] = f"{os.getpid()} {count} {log}"
    small = [
        "--repetitions",
        "1",
        "--workers",
        "1",
        "--no-qualify",
    ]  # the check is kept for all runs: it is asked once in both
    return run.main(["study", "claim", str(claim), *small, "--out", str(folder), "--trust", __file__])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])))
