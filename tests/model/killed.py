"""A run that kills itself: `python killed.py FOLDER LOG WHERE COUNT IN_FLIGHT PRESET REPORT`; used by test_scenario_run.py.

WHERE: ask (at the COUNTth request, before it is answered), write (at the COUNTth write of the record, halfway through its
line), report (when the COUNTth table is about to be written), never. Every request that reaches the model is noted in LOG.
REPORT: "report" writes one, which takes longer than the run; "" writes none.
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
from parley.model import recorder
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

SETTINGS = {"topic": "racism", "repetitions": 6, "rounds": 3, "llm": "oracle"}
OWN = {"platform": {"repetitions": 1, "size": 16, "activation": "every", "graph": "ring,degree=4"}}
"""Settings of a preset, besides."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: Path, log: Path, where: str, count: int, in_flight: int, preset: str, report: bool) -> None:
    asked, writes = itertools.count(1), itertools.count(1)
    notes = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def answer(request: Request) -> str:
        os.write(notes, request.key("test").hex().encode() + b"\n")
        if where == "ask" and next(asked) == count:
            die()
        return opinionated(request)

    def torn(self: recorder.FileRecorder, events: object) -> None:
        if where == "write" and next(writes) == count:
            self._file.write('{"kind":"utterance","room":"torn')
            self._file.flush()
            die()
        whole(self, events)

    whole, recorder.FileRecorder.write = recorder.FileRecorder.write, torn
    scenario = load_preset(preset).with_settings(SETTINGS | OWN.get(preset, {}))
    run_scenario(RunSpec(scenario, folder), backend=Fake(answer, in_flight=in_flight))
    if report:
        write_report(folder, count if where == "report" else 0)


def write_report(folder: Path, last: int) -> None:
    """Write the report; die when the table with number `last` is about to be written (0: never)."""
    from parley.analysis import run_report, table_export  # takes longer to load than a run

    written, table = itertools.count(1), table_export.write_table

    def dying(frame: object, stem: Path) -> list[Path]:
        if next(written) == last:
            die()
        return table(frame, stem)

    table_export.write_table = run_report.write_table = dying
    run_report.write_report(folder)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        Path(sys.argv[2]),
        sys.argv[3],
        int(sys.argv[4]),
        int(sys.argv[5]),
        sys.argv[6],
        bool(sys.argv[7]),
    )
