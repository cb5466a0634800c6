"""Table 1 of Taubenfeld et al. 2024: how far the Default agent is moved, and what that costs, by rank and method.

The rows are the untrained model, SFT at growing ranks, and DPO. Each is trained with every seed and debates with its adapter in
all seats. The columns are the Default's rating at the end of the debates by topic, capability by lm-evaluation-harness, and
held-out loss. Our ranks for pocket are an eighth of the paper's. The report shows the paper's figures in a table of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.agents.society import load_society
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import add_legend, new_figure
from parley.analysis.formatting import format_number
from parley.analysis.metrics._cells import DEFAULT
from parley.analysis.report import Report
from parley.analysis.studies.fine_tuned import measured, side
from parley.analysis.tables import Tables
from parley.llm.backends import split_spec
from parley.model.scenario import Scenario
from parley.training.capability.measure import Capability
from parley.training.tuning.pipeline import Pipeline
from parley.training.tuning.recipe import DPO, SFT, Recipe, seated_parties

RANKS = {"pocket": (2, 8, 16, 32), "hf": (16, 64, 128, 256)}
PREFERRED = {"pocket": 8, "hf": 8}
"""Rank of DPO and of the SFT before it: the paper's DPO row is r=8."""
LOSS = "held-out loss"
PAPER = (
    ("Mistral 7B", 83.6, 59.0, 8.4),
    ("SFT r=16", 81.8, 57.6, 5.1),
    ("SFT r=64", 81.2, 56.3, 4.3),
    ("SFT r=128", 79.7, 54.3, 2.5),
    ("SFT r=256", 73.8, 48.6, 1.9),
    ("DPO r=8", 81.4, 57.0, 0.4),
    ("Llama 2 7B, for comparison", 77.2, 45.3, "–"),
)
"""Their Table 1: HellaSwag, MMLU, the Default's final attitude on racism. Mistral 7B on a GPU: not run here."""
NOTE = (
    "Taubenfeld et al. 2024, Table 1: Mistral 7B, {party}, benchmarks of that size. These figures were not made here. "
    "Compare the order of the rows, not the numbers."
)
Measure = Callable[[str, str], Capability]
"""Capability of a model (folder or hub id) with an adapter's folder, or without one ("")."""


class AdapterCell(NamedTuple):
    """One row of the table for one seed; `method` is empty for the untrained model."""

    method: str
    r: int
    seed: int

    @property
    def title(self) -> str:
        return f"{self.method.upper()} r={self.r}" if self.method else "as it is"

    @property
    def name(self) -> str:
        """The folder of its debates."""
        return f"{self.method}-r{self.r}-seed{self.seed}" if self.method else "base"


def cells(ranks: Sequence[int], preferred: int, seeds: int) -> list[AdapterCell]:
    """Return the untrained model once, then with each seed SFT by rank, and DPO."""
    kinds = [(SFT, rank) for rank in sorted({*ranks, preferred})] + [(DPO, preferred)]
    return [AdapterCell("", 0, 0), *[AdapterCell(*kind, seed) for kind in kinds for seed in range(seeds)]]


def sweep(
    base: Scenario,
    spec: str,
    party: str,
    planned: Sequence[AdapterCell],
    pipelines: Sequence[Pipeline],
    measure: Measure,
    others: Sequence[str] = (),
) -> Generator[Scenario, Tables, pd.DataFrame]:
    """Train, yield the scenario of each cell, receive its tables; return one row per cell and measure.

    Columns: model, method, r, seed, what (a topic's slug, a task, `held-out loss`), value, error (standard error over rooms or
    items). `others`: further models (folders or hub ids) whose capability is measured, like the paper's Llama 2, without debates.
    """
    rows: list[tuple[Any, ...]] = []
    for cell in planned:
        pipeline = pipelines[cell.seed]
        adapter = pipeline.adapter(Recipe(party, cell.method, r=cell.r, seed=cell.seed)) if cell.method else None
        seats = tuple(f"{seat}:{adapter.name}" for seat in seated_parties(base)) if adapter else ()
        llm = f"{spec},adapters={adapter}" if adapter else spec
        tables = yield base.with_settings({"llm": llm, "adapters": seats})
        values = _attitudes(tables) + _capability(measure(pipeline.base.name, str(adapter or "")))
        rows += [(cell.title, *cell, *value) for value in values]
    for model in others:
        rows += [(model, "scored only", 0, 0, *value) for value in _capability(measure(model, ""))]
    return pd.DataFrame(rows, columns=["model", "method", "r", "seed", "what", "value", "error"])


def _attitudes(tables: Tables) -> list[tuple[str, float, float]]:
    """Return the Default's last rating by topic: the mean of the answer distributions if there are any."""
    values, rooms_by_cell = [], measured(tables)
    for topic in tables.topics:
        rated = rooms_by_cell.get((topic, DEFAULT, "last"), pd.Series(dtype=float))
        rooms = rooms_by_cell.get((topic, DEFAULT, "last expected"), rated).dropna()
        values.append((topic, float(rooms.mean()), float(rooms.std() / np.sqrt(len(rooms)))))
    return values


def _capability(result: Capability) -> list[tuple[str, float, float]]:
    return [*[(score.task, score.accuracy, score.error) for score in result.scores], (LOSS, result.loss, float("nan"))]


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds: a row per model in the order of the sweep, a column per measure, and the number of seeds."""
    means = rows.pivot_table("value", "model", "what", sort=False)
    return means.assign(seeds=rows.groupby("model", sort=False)["seed"].nunique())


def report(rows: pd.DataFrame, folder: Path, base: Scenario, spec: str, party: str) -> Path:
    """Write table1.md, the values of every seed (sweep) and the figure; return the path of table1.md."""
    means, topics = table(rows), base.subject.topic
    columns, us = [str(name) for name in means.columns if name != "seeds"], load_society()
    answered = f"{spec}, answers of {base.society.plural(party)}"
    page = Report(folder, "table1", "By rank and method")
    page.data(sweep=rows)
    page.add(
        f"{answered}, {base.repetitions} rooms a topic, {base.rounds} rounds, {base.surveys.probe}, all seats on the "
        "adapter. The Default's last rating (0 to 10; the arrow is the side of the party), capability, held-out loss "
        "(nats a token): means over training seeds, each seed in brackets."
    )
    page.add(disclaimers.NOTES.get(split_spec(spec)[0]))
    shown = [name for name in columns if name in topics]
    page.figure(_figure(means, shown, answered), "table1", "The Default's last rating")
    lines = [
        [str(model), *[_cell(rows, str(model), name) for name in columns], f"{means.loc[model, 'seeds']:g}"]
        for model in means.index
    ]
    page.table(lines, ["model", *[_heading(name, party) if name in topics else name for name in columns], "seeds"])
    page.section("The paper's", NOTE.format(party=us.label(us.debaters[0])))
    page.table([[*map(str, row)] for row in PAPER], ["model", "HellaSwag", "MMLU", "Default on racism"])
    return page.write()


def _figure(means: pd.DataFrame, topics: Sequence[str], caption: str) -> Figure:
    """Draw the Default's last rating by model, a line per topic."""
    debated = means.dropna(subset=topics, how="all")
    places = range(len(debated))
    with new_figure(4.6, 3.0, caption) as drawn:
        axis = drawn.subplots()
        for topic, marker in zip(topics, cycle("osD^vP*X"), strict=False):
            axis.plot(places, debated[topic], marker=marker, markersize=4, label=load_topic(topic).heading)
        axis.set_xticks(places, [str(model) for model in debated.index], rotation=30, ha="right")
        axis.set(ylim=(0, 10), ylabel="the Default's last rating (0–10)")
        add_legend(drawn, [axis], 2)
    return drawn


def _heading(topic: str, party: str) -> str:
    return f"{load_topic(topic).heading} {'↑' if side(topic, party) > 0 else '↓'}"


def _cell(rows: pd.DataFrame, model: str, what: str) -> str:
    """Return the mean over seeds with each seed in brackets: `5.10 (4.90, 5.30)`."""
    values = rows.loc[(rows["model"] == model) & (rows["what"] == what), "value"]
    digits = 2 if what != LOSS and values.max() > 1 else 3
    mean, *seeds = (format_number(float(value), digits) for value in (values.mean(), *values))
    return f"{mean} ({', '.join(seeds)})" if len(values) > 1 else mean
