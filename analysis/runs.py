"""A run in Python: make one, or load one, and look at what it found. `parley.run` and `parley.load`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import tables as record
from parley.analysis.metrics import METRICS
from parley.analysis.plots import attitudes
from parley.analysis.report import SUMMARY, write_report
from parley.analysis.summary import caption
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

FRAMES = tuple(one.name for one in fields_of(record.Tables) if one.name not in ("header", "finished"))
"""The tables of a run, each a DataFrame."""


class Run:
    """A run folder, or a record file.

    Its tables are attributes, each a DataFrame: `attitudes`, `utterances`, `agents`, `calls`, and the others of `FRAMES`.
    `tables` has them all, with the record's header. Errors: UserError where there is no record.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self.tables = record.load(self.folder)

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name in FRAMES:
            frame: pd.DataFrame = getattr(self.tables, name)
            return frame
        raise AttributeError(f"a run has no {name!r}")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *FRAMES])

    def __repr__(self) -> str:
        scenario = self.tables.header.scenario
        state = "" if self.tables.finished else ", unfinished"
        return f"<Run of {scenario['name']} on {scenario['llm']} in {self.folder}{state}>"

    @property
    def summary(self) -> str:
        """The text of summary.md, written if it is not there. Errors: UserError for a record without a folder."""
        if not self.folder.is_dir():
            raise UserError(f"{self.folder} is a record alone: a summary is written into a run folder")
        if not (self.folder / SUMMARY).exists():
            write_report(self.folder)
        return (self.folder / SUMMARY).read_text(encoding="utf-8")

    def metric(self, name: str) -> pd.DataFrame:
        """One metric of the run (docs/metrics.md), such as `drift`, or one at a path. Errors: UserError on an unknown one."""
        frame: pd.DataFrame = METRICS.find(name).compute(self.tables)
        return frame

    def plot(self) -> Figure:
        """Attitudes by round, topic and party, with intervals over rooms. A notebook shows the figure."""
        import matplotlib.pyplot  # noqa: F401  once it is there, a notebook draws what a cell returns

        points = self.metric("trajectory")
        return attitudes(self.tables, points, self.tables.groups, caption(self.tables, points))

    def report(self, out: Path | str | None = None) -> Path:
        """Write one HTML file that needs nothing beside it (the run folder's report.html); its path."""
        from parley.analysis.web.report import write

        return write([self.folder], Path(out) if out else self.folder / "report.html")


def run(
    scenario: str | Scenario = "three_way",
    *,
    out: Path | str | None = None,
    keep_going: bool = False,
    metrics: Sequence[str] = (),
    **fields: Any,
) -> Run:
    """Run the debates of a scenario to the end, with its report, into a folder.

    scenario: a preset's name, or a Scenario. fields: any field of it by name (`llm="oracle"`, `repetitions=5`).
    out: the run folder (runs/<scenario>-<time>); an unfinished one is gone on with, and asks nothing twice.
    metrics: the paths of metrics of your own, for the report (`["./agreed.py"]`).
    Errors: UserError for what the user can put right, and where (nearly) nothing that the model answers can be read.
    """
    base = scenario if isinstance(scenario, Scenario) else load_preset(scenario)
    asked = base.with_settings(fields)
    folder = Path(out) if out else Path("runs") / f"{asked.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    outcome = run_scenario(RunSpec(asked, folder, tuple(fields), Budget(keep_going=keep_going)))
    if outcome.stopped:
        raise UserError(outcome.stopped)
    write_report(folder, more=metrics)
    return Run(folder)


def load(folder: Path | str) -> Run:
    """A run that was made before: a run folder, or a record file. Errors: UserError where there is none."""
    return Run(folder)
