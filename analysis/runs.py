"""A run in Python: `parley.run` makes one, `parley.load` opens one, and `Run` has its tables, metrics, figures and report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import fields as fields_of
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis import tables as record
from parley.analysis.formatting import count_phrase
from parley.analysis.metrics import METRICS
from parley.analysis.notebook import draw_named, html_card
from parley.analysis.provenance import size_of
from parley.analysis.run_report import SUMMARY, figures, write_report
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.model.agent_factory import AgentClass
from parley.model.arguments import budgets_from_args
from parley.model.custom import FILE, Topology, given_graph, scenario_on
from parley.model.progress import Progress
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

FRAMES = tuple(
    field.name for field in fields_of(record.Tables) if field.name not in ("header", "finished", "of_studies")
)
"""The tables of each run, each a DataFrame."""
PREVIEW = 3
"""Lines of a run that a notebook shows."""


class Run:
    """A finished or unfinished run: its tables, metrics, figures and report.

    Every table of the record is an attribute, a pandas DataFrame: `attitudes` (one row per rating), `utterances` (one row per
    turn), `agents`, `probes`, `calls`, `interventions`, `links`, `heard`, `private`, `summaries`, `characters`. Attitudes are on
    an axis from 0 to 10. A missing rating is NaN with a `reason`, never a number.

    Parameters
    ----------
    folder : str or Path
        A run folder, or a record file in it.

    Attributes
    ----------
    folder : Path
        The run folder.
    tables : parley.analysis.tables.Tables
        All tables, and the header of the record: scenario, model, versions, digests of prompts and data.

    Raises
    ------
    UserError
        The folder holds no record.

    Examples
    --------
    >>> run = parley.load("runs/a")  # doctest: +SKIP
    >>> run.attitudes.groupby("party")["attitude"].mean()  # doctest: +SKIP
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self.tables = record.load(self.folder)

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name != "tables" and name in self._names:  # a copy has no tables yet
            frame: pd.DataFrame = getattr(self.tables, name)
            return frame
        raise AttributeError(f"a run has no {name!r}")

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *self._names])

    @property
    def _names(self) -> tuple[str, ...]:
        """The tables of each run, and those that a study adds, such as the moves of a game."""
        return (*FRAMES, *self.tables.of_studies)

    def __repr__(self) -> str:
        scenario = self.tables.header.scenario
        state = "" if self.tables.finished else ", unfinished"
        return f"<Run of {scenario['name']} on {scenario['llm']} in {self.folder}{state}>"

    def _repr_html_(self) -> str:
        header, tables = self.tables.header, self.tables
        asked = record.asked_for(tables.attitudes)
        ratings, missing = len(asked), int(asked["rating"].isna().sum())
        lines = [
            "" if tables.finished else "The run is unfinished: repeat the call to continue.",
            (disclaimers.short_disclaimer(header) or "").replace("**", ""),
            f"{size_of(tables.agents)}, {count_phrase(len(tables.utterances), 'utterance')}; "
            f"{missing:,} of {ratings:,} ratings are missing.",
            f"Folder {self.folder}. Tables: {', '.join(self._names)}.",
        ]
        preview = tables.utterances[["room", "round", "name", "text"]].head(PREVIEW)
        return html_card(f"{header.scenario['name']} on {disclaimers.model_label(header)}", lines, preview)

    @property
    def summary(self) -> str:
        """The text of summary.md. It is written if the folder has none.

        Raises
        ------
        UserError
            The run is a record file without a folder.
        """
        if not self.folder.is_dir():
            raise UserError(
                f"{self.folder} is a record file, and a summary needs the whole run: load the folder of the run"
            )
        if not (self.folder / SUMMARY).exists():
            write_report(self.folder)
        return (self.folder / SUMMARY).read_text(encoding="utf-8")

    @property
    def topology(self) -> nx.Graph | None:
        """The graph of `parley.run(topology=...)`, with texts as names of nodes; None for a run without one."""
        path = (self.folder if self.folder.is_dir() else self.folder.parent) / FILE
        return nx.read_graphml(path) if path.exists() else None

    def metric(self, name: str) -> pd.DataFrame:
        """Compute one metric of the run.

        Parameters
        ----------
        name : str
            A metric of analysis/metrics/, such as `drift` or `polarisation`, or one at a path (`./agreed.py`).

        Returns
        -------
        DataFrame
            One row per topic, group and party (or as the metric's page says), in points of the axis from 0 to 10. With fewer than
            five rooms the ends of an interval are NaN: no verdict.

        Raises
        ------
        UserError
            There is no such metric.

        Examples
        --------
        >>> run.metric("drift")  # doctest: +SKIP
        """
        frame: pd.DataFrame = METRICS.find(name).compute(self.tables)
        return frame

    @property
    def plots(self) -> list[str]:
        """The names of the figures that `plot` draws, the main one first."""
        return list(figures(self.tables, self.folder))

    def plot(self, name: str | None = None) -> Figure:
        """Draw a figure of the run. A notebook shows it where a cell returns it.

        Parameters
        ----------
        name : str, optional
            One of `plots`: `attitudes` (attitude, 0 to 10, by round; bars are 95% intervals over rooms), `network` (who hears
            whom),
            `attitudes_<group>` for one group of several, `contagion` (who believes an item of news), `consensus` (private
            deliberations). The main figure if left out.

        Returns
        -------
        matplotlib.figure.Figure
            The figure in `figures/` of the run folder.

        Raises
        ------
        UserError
            The run has no such figure.

        Examples
        --------
        >>> run.plot("attitudes").savefig("attitudes.pdf")  # doctest: +SKIP
        """
        return draw_named(figures(self.tables, self.folder), name)

    def report(self, out: Path | str | None = None) -> Path:
        """Write one HTML file about the run: results, caveats, examples, the command to run it again. It needs no other file.

        Parameters
        ----------
        out : str or Path, optional
            The file (`report.html` in the run folder).

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UserError
            The file cannot be written.
        """
        from parley.analysis.html_report import write

        return write([self.folder], Path(out) if out else self.folder / "report.html")


def run(
    scenario: str | Scenario = "three_way",
    *,
    out: Path | str | None = None,
    agent_class: AgentClass = None,
    topology: Topology | None = None,
    backend: Backend | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    price: tuple[float, ...] | None = None,
    keep_going: bool = False,
    progress: bool = True,
    metrics: Sequence[str] = (),
    **fields: Any,
) -> Run:
    """Run the debates of a scenario to the end and write their report, as `python run.py --scenario` does.

    The folder keeps every reply. The same call with the same folder continues an unfinished run and repeats no request.

    Parameters
    ----------
    scenario : str or Scenario
        The name of a preset (`parley.preset_names()`), the path of a .toml preset, or a Scenario.
    out : str or Path, optional
        The run folder (`runs/<scenario>-<time>`).
    agent_class : type or dict, optional
        A subclass of `Agent` for all agents, or one by party. The header names it; a resume needs it again.
    topology : networkx.Graph, sparse array or callable, optional
        Which agents hear which, for network scenarios. The folder keeps the graph as `topology.graphml`; a resume needs it again.
    backend : Backend, optional
        The model that answers the requests, in place of the scenario's `llm`.
    max_calls, max_tokens : int, optional
        The run stops cleanly after so many calls or tokens in this folder, over all calls of this function.
    max_cost : float, optional
        The run stops cleanly at about this cost, in US dollars.
    price : tuple of float, optional
        US dollars per million tokens in and out, then of cached tokens in, and the share of these prices in a batch (both
        optional). Some models have a price in llm/prices.toml.
    keep_going : bool
        Continue where almost no rating or reply can be read; otherwise the run stops after that survey or round.
    progress : bool
        Show a progress bar, on a terminal and in a notebook.
    metrics : sequence of str
        The paths of metrics of your own, for the report (`["./agreed.py"]`).
    **fields
        Any field of the scenario or of its environment by name: `llm="oracle"`, `repetitions=5`, `topic="racism"`, `seed=1`.

    Returns
    -------
    Run
        The finished run.

    Raises
    ------
    UserError
        A field, a model or the folder is wrong, or the run stopped early (a spent budget, unreadable replies). The folder keeps
        all replies.

    Examples
    --------
    >>> import parley
    >>> run = parley.run("two_way", topic="racism", repetitions=5, llm="oracle", out="runs/a")  # doctest: +SKIP
    >>> run.plot("attitudes")  # doctest: +SKIP
    """
    base = scenario_on(scenario, fields, topology)
    folder = Path(out) if out else Path("runs") / f"{base.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    limits = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost, "price": price, "prices": None}
    (budget,) = budgets_from_args(argparse.Namespace(**limits, keep_going=keep_going), base)
    task = RunSpec(base, folder, given_fields(base, fields, agent_class), budget, agent_class=agent_class)
    return run_and_report(task, backend, progress, metrics)


def run_and_report(task: RunSpec, backend: Backend | None, progress: bool, metrics: Sequence[str] = ()) -> Run:
    """Run a scenario, write its report, and return the run. Errors: UserError, also where the run stopped early."""
    if progress:
        with Progress(task.scenario) as bar:
            outcome = run_scenario(task, bar.calls, bar.step, backend)
    else:
        outcome = run_scenario(task, backend=backend)
    write_report(task.folder, more=metrics)
    if outcome.stopped:
        raise UserError(f"{outcome.stopped}; open what is finished with parley.load({str(task.folder)!r})")
    return Run(task.folder)


def given_fields(base: Scenario, fields: Iterable[str], agent_class: AgentClass) -> tuple[str, ...]:
    """Return the names of the fields that a call sets."""
    topology = ("graph", "size") if given_graph(base) else ()
    return (*fields, *topology, *(("agent_class",) if agent_class else ()))


def load(folder: Path | str) -> Run:
    """Open a run that was made before.

    Parameters
    ----------
    folder : str or Path
        A run folder, or a record file.

    Returns
    -------
    Run
        Its tables, metrics, figures and report.

    Raises
    ------
    UserError
        There is no record. The message names the class to use where the folder holds a bias card or a sweep.

    Examples
    --------
    >>> parley.load("runs/a").attitudes  # doctest: +SKIP
    """
    for file, name in (("card.json", "AuditCard"), ("sweep.json", "Sweep")):
        if (Path(folder) / file).exists():
            raise UserError(f"{folder} is not the folder of a single run: open it with parley.{name}({str(folder)!r})")
    return Run(folder)
